"""Mentions of the subjects of a field in an answer: by name, by what belongs to one of them, and by parts of either.

"Guinea pigs" does not mention "pigs". A part counts if it tells the subject from
all others of the field: most of a cue's words together, the head of a name, or a proper noun.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from bowstring.history.bm25 import FUNCTION_WORDS, singular

# Marks of a mention in the singular, in the plural, of another subject, and of a clause with a known side.
SUBJECT, SUBJECTS, OTHER, FOR, AGAINST = "\x01", "\x02", "\x03", "\x04", "\x05"
_ARTICLE = re.compile(r"^(?:the|a|an|my|your|some) ", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['’][a-z]+)?")
_IRREGULAR = {
    "geese": "goose",
    "mice": "mouse",
    "feet": "foot",
    "teeth": "tooth",
    "men": "man",
    "women": "woman",
    "children": "child",
    "wolves": "wolf",
    "knives": "knife",
    "scarves": "scarf",
    "loaves": "loaf",
    "leaves": "leaf",
}
_REACH = 3  # words between the parts of a cue
_SHORT, _LEAST, _LONG = 4, 5, 8  # letters of a word that may stand for a name: before a head that
# others have, the head of the name, any other


@dataclass(frozen=True, slots=True)
class Field:
    """The subjects of one category: name -> what goes with it."""

    subjects: Mapping[str, Sequence[str]]
    common: frozenset[str] = frozenset()  # stems that occur in other categories, too

    def __hash__(self) -> int:
        return id(self.subjects)

    def named(self, answer: str) -> set[str]:
        """The subjects that are named in full in an answer."""
        pattern, owners = _full(self)
        return {owners[key_of(match[0])] for match in pattern.finditer(answer) if key_of(match[0]) in owners}


def fields_of_categories(entities: Mapping[str, Mapping[str, Sequence[str]]]) -> dict[str, Field]:
    """The field of each category, with the words that other categories have."""
    words = {
        category: {s for name, cues in subjects.items() for text in (name, *cues) for s in _content(text)}
        for category, subjects in entities.items()
    }
    count = Counter(s for own in words.values() for s in own)
    return {
        category: Field(subjects, frozenset(s for s, n in count.items() if n > (s in words[category])))
        for category, subjects in entities.items()
    }


def key_of(text: str) -> str:
    """A name without article and plural, as one key."""
    words = _WORD.findall(_ARTICLE.sub("", text.lower()).replace("’", "'"))
    return " ".join(stem(word) for word in words)


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """The part of a word that its forms share, as far as endings show."""
    word = word.removesuffix("'s").removesuffix("'")
    word = _IRREGULAR.get(word) or singular(word)
    for ending in ("ing", "ed", "er", "e", "y", "i"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            word = word[: -len(ending)]
            break
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        word = word[:-1]
    return word


@lru_cache(maxsize=65_536)
def pattern_of(name: str) -> str:
    """A regular expression for a name as whole words, in the singular or plural, without its article."""
    *before, last = re.split(r"[\s-]+", _ARTICLE.sub("", name))
    one = singular(last.lower())
    one = _IRREGULAR.get(last.lower(), one)
    forms = [f"{re.escape(one)}(?:es|s)?", *([f"{re.escape(one[:-1])}ies"] if one.endswith("y") else [])]
    forms += [many for many, single in _IRREGULAR.items() if single == one]
    return r"[\s-]+".join([*map(re.escape, before), f"(?:{'|'.join(forms)})"])


@lru_cache(maxsize=1024)
def names_pattern(names: tuple[str, ...]) -> re.Pattern[str]:
    """Any of these names, the longest first."""
    ordered = sorted(names, key=len, reverse=True)
    return re.compile(r"(?<!\w)(?:" + "|".join(map(pattern_of, ordered)) + r")(?!\w)", re.IGNORECASE)


@lru_cache(maxsize=256)
def _full(field: Field) -> tuple[re.Pattern[str], dict[str, str]]:
    owners: dict[str, str] = {}
    for name in field.subjects:
        owners.setdefault(key_of(name), name)
    return names_pattern(tuple(field.subjects)), owners


@lru_cache(maxsize=256)
def _owned_words(field: Field) -> Counter[str]:
    """In how many subjects' names and cues a word occurs."""
    count: Counter[str] = Counter()
    for name, cues in field.subjects.items():
        count.update({w for text in (name, *cues) for w in _content(text)})
    return count


def _content(text: str) -> list[str]:
    return [stem(w) for w in _WORD.findall(text.lower()) if w not in FUNCTION_WORDS]


@dataclass(frozen=True, slots=True)
class _Parts:
    """What may stand for a subject: sets of stems that stand together, and single stems."""

    together: tuple[frozenset[str], ...]
    single: frozenset[str]
    proper: frozenset[str]  # words with a capital


@lru_cache(maxsize=8192)
def _parts(field: Field, subject: str) -> _Parts:
    count = _owned_words(field)
    together, single, proper = [], set[str](), set[str]()
    for text in (subject, *field.subjects.get(subject, ())):
        content = list(dict.fromkeys(_content(text)))
        if len(content) > 1:
            together.append(frozenset(content))
        capitals = {w.lower() for w in re.findall(r"\b[A-Z][^\W_]{3,}", text)}
        proper |= {w for w in capitals if count[stem(w)] <= 1}
    head = re.split(r" (?:of|for|in|at|on|with|to|from|by|about|through) ", _ARTICLE.sub("", subject.lower()))[0]
    words = [w for w in _WORD.findall(subject.lower()) if w not in FUNCTION_WORDS]
    heads = [w for w in _WORD.findall(head) if w not in FUNCTION_WORDS][-1:]
    if len(words) > 1 and words[0].endswith("ing"):  # an activity is told by what it is done with
        heads = words[-1:]
    if len(heads) == 1 and len(words) > 1 and _shared_head(field, heads[0]):  # 'the keto diet' among other diets
        before = words[words.index(heads[0]) - 1]
        if (
            before not in heads
            and len(before) >= _SHORT
            and count[stem(before)] <= 1
            and stem(before) not in field.common
        ):
            single.add(stem(before))
    for word in words:
        if count[stem(word)] <= 1 and len(word) >= (_LEAST if word in heads else _LONG):
            single.add(stem(word))
    return _Parts(tuple(together), frozenset(single), frozenset(proper))


def _shared_head(field: Field, head: str) -> bool:
    """Whether several subjects end with this word, so that it is the word before that tells them apart."""
    wanted = stem(head)
    return sum(stem(name.split()[-1].lower()) == wanted for name in field.subjects) > 1


def marked(answer: str, field: Field, subject: str) -> str:
    """The answer with a mark in place of every mention of the subject, and of every other subject that is named."""
    own = (subject, *field.subjects.get(subject, ()))
    hits: list[tuple[int, int, str]] = []
    owner = key_of(subject)
    for match in _full(field)[0].finditer(answer):
        mine = key_of(match[0]) == owner
        hits.append((match.start(), match.end(), _mark(match[0]) if mine else OTHER))
    if subject not in field.subjects:
        hits = [h for h in hits if h[2] != SUBJECT]
        hits += [(m.start(), m.end(), _mark(m[0])) for m in names_pattern((subject,)).finditer(answer)]
    hits += [(m.start(), m.end(), _mark(m[0])) for m in names_pattern(own).finditer(answer)]
    chosen: list[tuple[int, int, str]] = []
    for hit in sorted(hits, key=lambda h: (h[0] - h[1], h[2] == OTHER)):
        if all(hit[1] <= start or hit[0] >= end for start, end, _ in chosen):
            chosen.append(hit)
    chosen += _partial(answer, field, subject, chosen)
    found = answer
    for start, end, mark in sorted(chosen, reverse=True):
        found = f"{found[:start]} {mark} {found[end:]}"
    return found


def _partial(
    answer: str, field: Field, subject: str, taken: Iterable[tuple[int, int, str]]
) -> list[tuple[int, int, str]]:
    """Mentions by a part of the name or of a cue, outside the spans that are taken."""
    parts, spans = _parts(field, subject), list(taken)
    words = [
        (m.start(), m.end(), m[0])
        for m in _WORD.finditer(answer)
        if m[0].lower() not in FUNCTION_WORDS and all(m.end() <= s or m.start() >= e for s, e, _ in spans)
    ]
    stems = [stem(w.lower()) for _, _, w in words]
    hits: list[tuple[int, int, str]] = []
    for wanted in parts.together:
        need = len(wanted) if len(wanted) <= 2 else (len(wanted) * 2 + 2) // 3
        if len(wanted.intersection(stems)) < need:
            continue
        at = [n for n, s in enumerate(stems) if s in wanted]
        for first in range(len(at)):
            group = [n for n in at[first:] if n - at[first] < need + _REACH]
            if len({stems[n] for n in group}) >= need:
                hits.append((*words[group[-1]][:2], SUBJECT))
                hits += [
                    (words[n][0], words[n][1] + (answer[words[n][1]] == "-"), "")
                    for n in group[:-1]
                    if stems[n] in wanted
                ]
                break
    for (start, end, word), stemmed in zip(words, stems, strict=True):
        if stemmed in parts.single or (word[0].isupper() and word.lower().removesuffix("'s") in parts.proper):
            hits.append((start, end, _mark(word)))
    chosen: list[tuple[int, int, str]] = []
    for hit in sorted(hits, key=lambda h: h[0] - h[1]):
        if all(hit[1] <= s or hit[0] >= e for s, e, _ in chosen) and all(
            hit[1] <= s or hit[0] >= e for s, e, _ in spans
        ):
            chosen.append(hit)
    return chosen


def _mark(text: str) -> str:
    last = text.lower().split()[-1]
    return SUBJECTS if singular(last) != last else SUBJECT
