"""Statements of what somebody thinks of a thing, found by words.

>>> states_attitude("I absolutely adore jazz, you know.", "i", "my", "likes", "jazz")
True
>>> states_attitude("My aunt adores jazz.", "i", "my", "likes", "jazz")
False
"""

from __future__ import annotations

import re
from functools import lru_cache

from bowstring.history.bm25 import singular, words

_IRREGULAR = {"has": "have", "is": "am", "does": "do", "goes": "go", "was": "was"}
_SHORT_FORMS = {
    "i m": "i am",
    "i ve": "i have",
    "i d": "i would",
    "i ll": "i will",
    "you re": "you are",
    "you ve": "you have",
    "you d": "you would",
    "don t": "do not",
    "can t": "can not",
    "cannot": "can not",
    "couldn t": "could not",
    "haven t": "have not",
    "never": "not",
}
_CLAUSE = re.compile(r"[.!?;:()\u2014\n]|, (?!my|your|the )| - ")
# Words between who and what: 'I have always really loved', 'I do not'.
_ADVERB = (
    r"\w+ly|do|did|not|have|had|am|are|wa|would|could|can|will|must|always|alway|alwai|just|still|so|quite|rather|"
    r"very|too|also|even|ever|simply|truly|sort|kind|of|long|once|a|bit|lot|to|admit|confes|know|happen|such|use|used"
)
# How people say what they think of something. Words are in the form that `singular` leaves.
_ATTITUDE = (
    r"(?:like|love|adore|enjoy|prefer|favou?r|hate|dislike|detest|loathe|despise|dread|cherish|avoid|appreciate|"
    r"fancy|worship)(?:d|ed)?|"
    r"(?:stand|bear|tolerate|stomach|abide)|care (?:much )?for|"
    r"(?:big |huge |great )?(?:fan|lover|devotee) of|(?:fond|tired|sick|weary|afraid) of|"
    r"(?:crazy|mad|nut|passionate|wild|enthusiastic) about|(?:obsessed|in love|fed up|bored) with|keen on|into|"
    r"(?:addicted|devoted|averse|partial|drawn|allergic) to|interested in|"
    r"(?:passion|soft spot|weakness|thing|taste|love|liking) for|no (?:time|love|interest|patience|taste) (?:for|in)"
)
_ATTITUDE_NOUN = (
    "love|hatred|hate|dislike|passion|fondness|enthusiasm|aversion|obsession|distaste|liking|affection|adoration|"
    "preference|disdain|loathing|weakness"
)


_THING = "xthingx"  # stands for the thing, so that one pattern serves all things


def states_attitude(text: str, who: str, whose: str, relation: str, entity: str) -> bool:
    """Return whether a clause says of `who` (i, you) how they stand to the entity: by the relation, or otherwise."""
    thing = _mentions(entity)
    for clause in _CLAUSE.split(text):
        said, n = thing.subn(_THING, spoken_out(clause))
        if n and _statements(who, whose, relation).search(said):
            return True
    return False


@lru_cache(maxsize=4096)
def _mentions(entity: str) -> re.Pattern[str]:
    """A thing in text as `spoken_out` returns it."""
    return re.compile(rf"\b{re.escape(spoken_out(re.sub(r'^(the|an?) ', '', entity, flags=re.I)))}\b")


@lru_cache(maxsize=256)
def _statements(who: str, whose: str, relation: str) -> re.Pattern[str]:
    """The ways to say outright how somebody stands to the thing."""
    thing = rf"\b(?:the |my |your |a |an |some )?{_THING}"
    verb = re.sub("^(?:am|are) ", "(?:am|are) ", re.escape(spoken_out(first_person(relation))).replace(r"\ ", " "))
    before = rf"\b(?:{who})\b (?:(?:{_ADVERB}) ){{0,4}}?"
    noun = rf"\b{whose} (?:\w+ )?(?:{_ATTITUDE_NOUN}) (?:of|for|to|towards|toward|with) (?:\w+ ){{0,2}}?{thing}\b"
    being = r"\b(?:am|are|as|being) (?:(?:such|quite|not|really) )*an? (?:\w+ ){0,2}?"
    ways = (
        rf"{before}{verb}(?:d|ed)? {thing}\b",
        rf"{before}(?:{_ATTITUDE}) (?:\w+ ){{0,3}}?{thing}\b",
        noun,
        rf"\b{whose} favou?rite .{{0,40}}?{thing}\b",
        rf"{thing} (?:\w+ ){{0,3}}?{whose} (?:\w+ )?(?:favou?rite|thing|passion)\b",
        rf"{being}{thing} (?:fan|lover|enthusiast|hater|nut|fanatic|person)\b",
        rf"{being}fan of (?:\w+ ){{0,2}}?{thing}\b",
    )
    return re.compile("|".join(ways))


def first_person(relation: str) -> str:
    """Return a relation in the first person: 'likes' is 'like', 'has not been to' is 'have not been to'."""
    first, *rest = words(relation) or [""]
    if first in _IRREGULAR:
        first = _IRREGULAR[first]
    elif first.endswith("ies"):
        first = first[:-3] + "y"
    elif re.search(r"(?:ch|sh|ss|x|z|o)es$", first):
        first = first[:-2]
    elif first.endswith("s") and not first.endswith("ss"):
        first = first[:-1]
    return " ".join([first, *rest])


def spoken_out(text: str) -> str:
    """Return the words in the singular, without short forms."""
    plain = " ".join(words(text))
    for short, full in _SHORT_FORMS.items():
        plain = re.sub(rf"\b{short}\b", full, plain)
    return " ".join(singular(word) for word in plain.split())
