"""The lexicon of stance: words and phrases, in all their inflected forms, with what they say about a thing."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from bowstring.synthesis.banks import read_bank

# One letter per kind. Where a word has several kinds, the first in this order counts.
TRANSPARENT, EXCEPT, NEGATION = "T", "E", "N"
LIKE, DISLIKE, SWAP, AVOID, PLACE = "L", "D", "S", "A", "K"
PLEASE, DISPLEASE, GOOD, BAD, OTHERS, RECOMMEND, EQUAL = "P", "Q", "g", "b", "o", "R", "Y"
ENDURE, OPINE, SURELY = "U", "J", "y"  # always against; 'find X dull'; an adverb that affirms
_VERBS = {
    "like": LIKE,
    "dislike": DISLIKE,
    "equal": EQUAL,
    "endure": ENDURE,
    "opine": OPINE,
    "swap": SWAP,
    "avoid": AVOID,
    "attribute": PLACE,
    "please": PLEASE,
    "displease": DISPLEASE,
    "recommend": RECOMMEND,
}
_WORDS = {
    "transparent_negation": TRANSPARENT,
    "except": EXCEPT,
    "negation": NEGATION,
    "good": GOOD,
    "bad": BAD,
    "others": OTHERS,
    "surely": SURELY,
}
_ORDER = "TENUYSDALKPQyJgboR"
_DOUBLED = re.compile(r"^[^aeiou]*[aeiou][bdgklmnprt]$|(?:mit|fer|gret|bar|ban|op|cel|vet|pel|rol|tal)$")

Entry = tuple[tuple[str, ...], str, bool]  # the words after the first, the kind, whether a verb in its base form


@cache
def group(name: str) -> frozenset[str]:
    """Words with the same function in a clause."""
    return frozenset(read_bank(__package__, "words.yaml")["grammar"][name].split())


@cache
def lexicon() -> dict[str, list[Entry]]:
    """By first word, the longest phrases first."""
    raw = read_bank(__package__, "words.yaml")
    found: dict[tuple[str, ...], tuple[str, bool]] = {}

    def add(words: tuple[str, ...], kind: str, base: bool) -> None:
        known = found.get(words)
        if known is None or _ORDER.index(kind) < _ORDER.index(known[0]):
            found[words] = kind, base or (known is not None and known[1])
        elif base and not known[1]:
            found[words] = known[0], True

    for name, text in raw["words"].items():
        for phrase in _listed(text):
            add(tuple(phrase.split()), _WORDS[name], False)
    irregular = {
        verb: forms.split() for text in raw["verbs"].values() for verb, forms in re.findall(r"(\S+) \((.*?)\)", text)
    }
    for name, text in raw["verbs"].items():
        for phrase in _listed(text):
            first, *rest = re.sub(r" *\(.*?\)", "", phrase).split()
            for form in inflected(first, irregular.get(first, ())):
                add((form, *rest), _VERBS[name], form == first)
    entries: dict[str, list[Entry]] = {}
    for words, (kind, base) in found.items():
        entries.setdefault(words[0], []).append((words[1:], kind, base))
    for listed in entries.values():
        listed.sort(key=lambda entry: -len(entry[0]))
    return entries


def _listed(text: str) -> Iterable[str]:
    return (phrase.strip() for phrase in text.split(",") if phrase.strip())


def inflected(verb: str, irregular: Iterable[str] = ()) -> list[str]:
    """A verb's base form, third person, -ing form and past forms."""
    if verb in ("be", "can"):
        return [verb, "is", "are", "was", "were", "been", "being"] if verb == "be" else [verb, "could"]
    stem = verb[:-1] if verb.endswith("e") and not verb.endswith(("ee", "oe")) else verb
    if _DOUBLED.search(verb):
        stem = verb + verb[-1]
    if verb.endswith("y") and verb[-2] not in "aeiou":
        third, past = verb[:-1] + "ies", verb[:-1] + "ied"
    else:
        third = verb + ("es" if verb.endswith(("s", "x", "z", "ch", "sh", "o")) else "s")
        past = stem + "ed"
    ing = (verb[:-2] + "ying") if verb.endswith("ie") else stem + "ing"
    return [verb, third, ing, *(irregular or (past,))]
