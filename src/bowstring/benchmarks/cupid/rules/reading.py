"""Which rules a preference states, in whatever words: the mentions of each feature, and their polarity.

>>> read_rules("Use bullet points, keep it under 90 words, and never end with a question.")
('bullets', 'short', 'no-questions')
>>> read_rules("The user wants helpful answers.")
()

A text is cut into chunks at punctuation and conjunctions. Each chunk has a polarity: that of the negations in it, where
two cancel out ("don't leave out"), or else, if it is only a further object, that of the chunk before it ("avoid lists
and tables"). A mention of a feature in a positive chunk states one of its rules, in a negative chunk the other one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from bowstring.benchmarks.cupid.rules import rules
from bowstring.benchmarks.cupid.rules.mentions import MENTIONS

_LONGEST = 2000  # characters that are read

_QUOTES = str.maketrans({"’": "'", "‘": "'", "“": '"', "”": '"'})
# Contractions that are quoted as examples are not negations, nor are the limits of a number.
_SHORT_FORM = r"['\"(]?\b(?:it|don|isn|can|we|you|i|that|won|let|they|doesn)'(?:s|t|ll|re|ve|m|d)\b['\")]?"
_QUOTED = re.compile(
    rf"(?:\b(?:like|such as|e\.g\.,?|for example|as in|including)\s+){_SHORT_FORM}"
    rf"(?:\s*(?:,|and|or|/)\s*{_SHORT_FORM})*"
)
_LIMITS = re.compile(
    r"\b(?:no|not) (?:more|longer|fewer|less|later|shorter) than\b|"
    r"\b(?:may|must|should|do) not exceed\b"
    r"|\bmay exceed\b|\bnot (?:only|just)\b|\bno fewer\b|\bno less\b"
)
_LIMIT_WORDS = {
    "more": "atmost",
    "longer": "atmost",
    "exceed": "atmost",
    "fewer": "atleast",
    "less": "atleast",
    "shorter": "atleast",
}
# Phrases whose negation or comma says nothing about the polarity of a chunk.
_FIXED = (
    (
        re.compile(r"\bno sentences? (?:\w+ ){0,3}?(?:longer than|more than|over|above|exceed\w*|of over) "),
        "sentences atmost ",
    ),
    (re.compile(r"\b(?:spell|write|expand)\w*(?: out)?(?: all)? contractions\b"), "no contractions"),
    (re.compile(r"\b(?:without|with no|no) (?:line |paragraph )?breaks\b"), "unbroken"),
    (re.compile(r"\b(long|short|brief|simple|clear), (?=\w+ sentences?\b)"), r"\1 "),
)
_REASON = re.compile(r"\b(?:because|since|so that|so people|so they|as they|as it)\b.*")
_SENTENCES = re.compile(r"[.;:!?\n]+(?:\s|$)|[()]|\s[-–—]\s|\bbut\b|\bhowever\b|\byet\b|\bexcept\b")
_PIECES = re.compile(
    r"(?P<turn>,? (?:rather than|instead of|as opposed to|in place of|and not) )"
    r"|(?P<or>,? (?:or|nor) (?!more|fewer|less))|(?P<with>, with |,? with (?=no\b))|(?P<and>, (?:and|then) |,? and |, )"
)
# "Prefers A to B", but not "prefers the text to be A".
_NOT_COMPARED = (
    r"be|have|come|see|use|get|find|read|end|open|close|start|begin|finish|include|keep|avoid|stay|contain|ask"
)
_PREFERS = re.compile(rf"\b(?:prefer\w*|favou?r\w*)\b.*?\b(?:over|than|to(?! (?:{_NOT_COMPARED})\b))\b(?P<second>.*)")
_NEGATION = re.compile(
    r"\b(?:no|not|never|none|nothing|nobody|neither|without|avoid\w*|free of|free from|omit\w*|skip\w*|refrain\w*|"
    r"steer\w* clear|stay\w* away|dislike\w*|hate\w*|unwanted|unwelcome|out of place|off-putting|distracting|"
    r"unnecessary|missing|absent|annoy\w*|complain\w*|forget\w*|shy away|exclud\w*|ban\w*|forbid\w*|lack\w*|"
    r"leav\w+ (?:\w+ ){0,4}?out|left out|keep\w* (?:\w+ ){0,3}out|kept out|cut out|eliminat\w*|remov\w*|drop\w*|"
    r"minimi[sz]e\w*|against)\b|\b\w+n't\b|-free\b"
)
_ARTICLE = re.compile(r"\W*(?:at least|an?|one|two|three|some|several|plenty of)\b")
_MERE_NO = re.compile(r"\b(?:no|without|free of)\b")
_VERB = re.compile(
    r"^\W*(?:(?:to|it|they|then|that|which|also|always|only|the (?:user|text|reader|response|answer)s?|responses?|"
    r"answers?|texts?|drafts?) )*(?:must|should|shall|has to|have to|needs?|wants?|likes?|expects?|is|are|be|use|uses|"
    r"include\w*|give|gives|write|put|puts|place|places|start\w*|open\w*|begin\w*|end|ends|close\w*|finish\w*|keep|"
    r"keeps|stay|stays|have|has|contain\w*|state|states|name|names|cite|cites|say|says|mention\w*|add|adds|show|"
    r"shows|set|sets|ask|asks|address\w*|speak\w*|talk\w*|run|runs|refer\w*|point|points|warn|warns|divide\w*|"
    r"structure\w*|highlight\w*|list|number|tell|draw|explain\w*|measure|express\w*|mark|flag|hedge|greet|break|"
    r"consist\w*|fit|split|save|lead\w*|illustrate\w*|back|build\w*|provide\w*|present\w*|conclude\w*|wrap|feature\w*|"
    r"invite\w*|citing|using|including|giving|naming|ending|opening|starting|keeping|stating|adding|mentioning|"
    r"addressing|asking|writing|employ\w*|make|specif\w+|follow\w*|prefers?|go|do|let)\b"
)


@dataclass(frozen=True, slots=True)
class _Chunk:
    text: str
    negative: bool


# A rule that says more makes those superfluous that follow from it.
_IMPLIES = {"prose": ("no-bullets", "no-table")}


@lru_cache(maxsize=4096)
def read_rules(text: str) -> tuple[str, ...]:
    """The rules that a text states, in the order of the table; none if it states none that is known."""
    found: set[str] = set()
    for chunk in _chunks(text[:_LONGEST]):
        for one in MENTIONS:
            if one.is_in(chunk.text):
                rule = one.negative if chunk.negative else one.positive
                found |= {rule} if rule else set()
    for rule, implied in _IMPLIES.items():
        if rule in found:
            found -= set(implied)
    return tuple(rule for rule in rules() if rule in found)


def _chunks(text: str) -> list[_Chunk]:
    plain = " ".join(text.lower().translate(_QUOTES).split(" "))
    plain = _QUOTED.sub("", plain)
    for pattern, put in _FIXED:
        plain = pattern.sub(put, plain)
    plain = _LIMITS.sub(lambda found: next((w for k, w in _LIMIT_WORDS.items() if k in found[0]), ""), plain)
    found: list[_Chunk] = []
    for sentence in _SENTENCES.split(plain):
        negative = False
        preferred = _PREFERS.search(sentence)
        parts = [(sentence, False)]
        if preferred:
            parts = [(sentence[: preferred.start("second")], False), (preferred["second"], True)]
        for part, turned in parts:
            negative, before = turned, ""
            for joint, piece in _pieces(_REASON.sub("", part)):
                negations = len(_NEGATION.findall(piece))
                if joint == "turn":
                    negative = negations % 2 == 0
                elif negations:
                    negative = (negations % 2 == 1) != turned
                elif not turned and (joint == "with" or (joint != "or" and _begins_anew(piece, before))):
                    negative = False
                before = piece
                found.append(_Chunk(piece, negative))
    return found


def _begins_anew(piece: str, before: str) -> bool:
    """Whether a piece has a verb of its own, or an article after a mere 'no …': then the negation before it ended."""
    return bool(_VERB.search(piece) or (_ARTICLE.match(piece) and _MERE_NO.search(before)))


def _pieces(sentence: str) -> list[tuple[str, str]]:
    """The pieces of a sentence, each with how it is joined to the one before."""
    found: list[tuple[str, str]] = []
    start, joint = 0, ""
    for match in _PIECES.finditer(sentence):
        found.append((joint, sentence[start : match.start()]))
        start, joint = match.end(), match.lastgroup or ""
    return [*found, (joint, sentence[start:])]
