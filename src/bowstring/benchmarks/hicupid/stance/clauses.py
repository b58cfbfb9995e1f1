"""An answer as clauses of tagged tokens. A clause ends at punctuation and before a conjunction."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bowstring.benchmarks.hicupid.stance import words
from bowstring.benchmarks.hicupid.stance.names import AGAINST, FOR, OTHER, SUBJECT, SUBJECTS

MENTION, RIVAL, YOU, SELF, PRONOUN, PLAIN = "X", "O", "u", "i", "r", " "
_CONTRACTIONS = (
    (re.compile(r"[’‘`]"), "'"),
    (re.compile(r"\b(is|are|was|were|do|does|did|would|could|should|has|have|had)nt\b"), r"\1 not"),
    (re.compile(r"\bcant\b"), "can not"),
    (re.compile(r"\bwont\b"), "will not"),
    (re.compile(r"\bur\b"), "your"),
    (re.compile(r"\bu\b"), "you"),
    (re.compile(r"\byoure\b"), "you are"),
    (re.compile(r"\b(you|i|we|they)ve\b"), r"\1 have"),
    (re.compile(r"\bcannot\b"), "can not"),
    (re.compile(r"\bcan't\b"), "can not"),
    (re.compile(r"\bwon't\b"), "will not"),
    (re.compile(r"\bain't\b"), "is not"),
    (re.compile(r"n't\b"), " not"),
    (re.compile(r"\blet's\b"), "let us"),
    (re.compile(r"\b(it|that|there|here|what|who|he|she)'s\b"), r"\1 is"),
    (
        re.compile(r"'(d|ll|re|ve|m)\b"),
        lambda m: {"d": " would", "ll": " will", "re": " are", "ve": " have", "m": " am"}[m[1]],
    ),
    (re.compile(rf"(?<=[{SUBJECT}{SUBJECTS}{OTHER}] )'s\b"), ""),
)
_MARKS = frozenset((SUBJECT, SUBJECTS, FOR, AGAINST, OTHER))
_TOKEN = re.compile(
    rf"[{SUBJECT}{SUBJECTS}{OTHER}{FOR}{AGAINST}]|[^\W\d_]+(?:['-][^\W\d_]+)*|\d[\d:.,]*\d|\d|[.!?;:,()]|--|[—–]|\s-\s"
)
_STRONG = frozenset(".!?;:()—–") | {"--", "-"}
_END = frozenset(".!?")
_PLURAL = frozenset(("them", "those", "these", "they", "ones"))
_PRONOUNS = _PLURAL | {"it", "that", "this", "one", "there"}
AUXILIARIES = words.group("auxiliaries")
_YOU, _SELF, _DETERMINERS = words.group("you"), words.group("self"), words.group("determiners")
_BEGINS, _JOINS, _AFTER_AND = words.group("begins"), words.group("joins"), words.group("begins_after_and")
_ANY = words.group("any")  # before 'but', they make it 'except'
_BEFORE_INTO = words.group("before_into")
_AFTER_PRONOUN = words.group("after_pronoun")
_BEFORE_VERB = words.group("before_verb")
_ARTICLES = frozenset(("the", "a", "an", "my", "your", "this", "his", "her", "their"))
_SMALL = words.group("before_imperative")


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    kind: str
    base: bool = False  # a verb in its base form
    plural: bool = False


@dataclass(slots=True)
class Clause:
    tokens: list[Token]
    lead: str  # the conjunction before it, or ''
    sentence: int
    end: str = ""  # the punctuation after it
    fronted: bool = False  # whether it is the first of its sentence

    def mentions(self) -> list[int]:
        return [n for n, token in enumerate(self.tokens) if token.kind == MENTION]

    def has(self, *kinds: str) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    def says(self, *texts: str) -> bool:
        return any(token.text in texts for token in self.tokens)

    def imperative(self) -> bool:
        """Whether the clause begins with a verb in the base form."""
        for token in self.tokens[:4]:
            if token.base or token.text in ("do", "let", "please"):
                return True
            if token.text not in _SMALL:
                return False
        return False


def clauses_of(marked: str) -> list[Clause]:
    """The clauses of an answer in which mentions are marked."""
    text = marked.lower()
    for pattern, plain in _CONTRACTIONS:
        text = pattern.sub(plain, text)
    raw = [t.strip() for t in _TOKEN.findall(text)]
    return [clause for clause in _split(_tagged(raw)) if not _is_tag(clause)]


def _is_tag(clause: Clause) -> bool:
    """Whether a clause only asks for agreement: 'isn't it?', 'right?'."""
    texts = [t.text for t in clause.tokens]
    if clause.end != "?" or len(texts) > 4:
        return False
    rest = {"you", "it", "they", "i", "we", "that", "there", "not"}
    return texts in (["right"], ["no"]) or (texts[0] in AUXILIARIES and len(texts) > 1 and set(texts[1:]) <= rest)


def _excepts(tokens: list[Token], n: int) -> bool:
    """Whether the 'but' at `n` is one of 'anything but' and 'any city but'."""
    return (
        tokens[n - 1].text != "," and any(t.text in _ANY for t in tokens[max(n - 2, 0) : n]) and not tokens[n - 1].base
    )


def _tagged(raw: list[str]) -> list[Token]:
    known = words.lexicon()
    tokens: list[Token] = []
    at = 0
    while at < len(raw):
        word = raw[at]
        if word in _MARKS:
            tokens.append(Token(word, RIVAL if word == OTHER else MENTION, plural=word == SUBJECTS))
            at += 1
            continue
        entry = next((e for e in known.get(word, ()) if raw[at + 1 : at + 1 + len(e[0])] == list(e[0])), None)
        if entry is not None and _as_tagged(raw, at, entry):
            tokens.append(Token(" ".join((word, *entry[0])), entry[1], entry[2]))
            at += 1 + len(entry[0])
            continue
        tokens.append(Token(word, _kind(raw, at), plural=word in _PLURAL))
        at += 1
    for n, token in enumerate(tokens):
        if token.text in ("miss", "missed", "missing") and n and _longs(tokens, n):
            tokens[n] = Token(token.text, words.LIKE)  # 'you miss X', 'what is missing is X'
        if token.text == "but" and token.kind == PLAIN and n and _excepts(tokens, n):
            tokens[n] = Token("but", words.EXCEPT)
    return tokens


def _longs(tokens: list[Token], n: int) -> bool:
    if tokens[n].text.split()[0] == "missing":
        return n + 1 < len(tokens) and tokens[n + 1].text in ("is", "from", "a", "some", "in", "here")
    after = " ".join(t.text for t in tokens[n + 1 : n + 3])
    if after.startswith(("in ", "on ", "out ")) or (after.startswith("at ") and after != "at all"):
        return False
    before = [
        t for t in tokens[max(n - 4, 0) : n] if t.text not in ("not", "really", "badly", "never") and t.kind != PLAIN
    ]
    have = any(t.text in ("have", "has", "had") for t in tokens[max(n - 3, 0) : n])
    you = any(t.kind == YOU for t in tokens[max(n - 4, 0) : n])
    return you and (have or (bool(before) and before[-1].kind == YOU))


def _as_tagged(raw: list[str], at: int, entry: words.Entry) -> bool:
    """Whether a word is used as the lexicon has it: 'like' as a verb, and no verb right after an article."""
    word, before = raw[at], raw[at - 1] if at else ""
    if entry[0]:
        return True
    if word == "like":
        return (
            before in _YOU or before in _SELF or before in {"to", "not", "would", "do", "really", "who", "they", "all"}
        )
    if before in _ARTICLES and entry[1] in "RKSAPQJU":
        return False
    if word == "given":
        return before in AUXILIARIES or before in _YOU
    if word == "into":
        return before in AUXILIARIES | _YOU | _BEFORE_INTO
    return not (word == "back" and before not in AUXILIARIES | _YOU | {"", "and", "who"})


def _kind(raw: list[str], at: int) -> str:
    word = raw[at]
    if word in _YOU:
        return YOU
    if word in _SELF:
        return SELF
    if word in _PRONOUNS:
        after = raw[at + 1] if at + 1 < len(raw) else "."
        if (
            word not in _DETERMINERS
            or after in _STRONG
            or after == ","
            or after in AUXILIARIES
            or after in _JOINS | _BEGINS
        ):
            return PRONOUN
        if after in _AFTER_PRONOUN or (at and raw[at - 1] == "of"):
            return PRONOUN
        if any(not entry[0] and entry[1] in "PQ" for entry in words.lexicon().get(after, ())):
            return PRONOUN  # 'since those delight you'
    return PLAIN


def _split(tokens: list[Token]) -> list[Clause]:
    clauses = [Clause([], "", 0, fronted=True)]
    sentence = 0
    for n, token in enumerate(tokens):
        current = clauses[-1]
        if token.text in _STRONG or token.text == ",":
            current.end = current.end or token.text
            if token.text in _END:
                sentence += 1
            clauses.append(Clause([], "", sentence, fronted=token.text in _END))
            continue
        if _begins_clause(tokens, n):
            if current.tokens:
                clauses.append(Clause([], token.text, sentence))
            else:
                current.lead = token.text
            clauses[-1].tokens.append(token)
            continue
        current.tokens.append(token)
    return [clause for clause in clauses if clause.tokens]


def _begins_clause(tokens: list[Token], n: int) -> bool:
    word = tokens[n].text
    before = tokens[n - 1].text if n else ","
    after = tokens[n + 1] if n + 1 < len(tokens) else None
    if after is None:
        return False
    if word in _BEGINS:
        return not (word == "so" and before != "," and after.kind not in (YOU, SELF, PRONOUN)) and before not in (
            "even",
            "as",
        )
    if word == "as":
        if any(t.text in ("as", "so") for t in tokens[max(n - 6, 0) : n - 1]) and not any(
            t.text in _STRONG or t.text == "," for t in tokens[max(n - 6, 0) : n]
        ):
            return False  # 'as dull as you find it'
        return before in (",", ".", "?", "!", ";", ":") or after.text in (
            "you",
            "your",
            "it",
            "i",
            "they",
            "somebody",
            "someone",
        )
    if word == "but":
        return tokens[n].kind == PLAIN and not _excepts(tokens, n)
    if word in _JOINS or word == "that":
        if word == "that":
            return n > 0 and tokens[n - 1].kind == MENTION and after.text not in _STRONG and after.text != ","
        return (
            before in (",", ".", ";")
            or after.text in _AFTER_AND
            or after.base
            or after.kind in (YOU, SELF)
            or after.text in AUXILIARIES
        )
    return False
