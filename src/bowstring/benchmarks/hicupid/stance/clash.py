"""Answers to requests for a time: whether one names the appointment that takes it, and whether one books it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache

from bowstring.benchmarks.hicupid.stance.names import stem
from bowstring.synthesis.banks import read_bank

_SENTENCE = re.compile(r"(?<=[.!?;])\s+")
_CLAUSE = re.compile(
    r"(?<=[.!?;:])\s+|\s+[–—-]+\s+|,\s+(?=(?:so|and|but|which|while|because|since|although|however|then)\b)|\s+(?=but\b)"
)
_WORD = re.compile(r"[^\W\d_]+")
_MATTERS: Mapping[str, str] = read_bank(__package__, "clash.yaml")
_COMMON = frozenset(stem(word) for word in _MATTERS["common"].split())


def _said(name: str) -> re.Pattern[str]:
    return re.compile(r"\b(?:" + re.sub(r" \| ", "|", _MATTERS[name]) + r")(?!\w)", re.IGNORECASE)


_GONE, _BESIDE, _CLASH = _said("gone"), _said("beside"), _said("clash")
_ADDED = re.compile(r"\b(?:in addition to|on top of|besides|as well as|along with|alongside)\b", re.IGNORECASE)
# What would have to happen to the appointment, and questions about it: it has not happened.
_SUPPOSED = re.compile(
    r"\b(?:if|unless|should i|shall i|could i|can i|may i|want me to|have to|need to|would mean|would you|do you want|"
    r"rather than)\b.*",
    re.IGNORECASE,
)
_BOOKED, _REFUSES, _NOT_REFUSED = _said("booked"), _said("refuses"), _said("not_refused")
_NUMBERS = {word: n for n, word in enumerate(_MATTERS["numbers"].split(), start=1)}
_TIME = re.compile(
    rf"""\b(?:
        (?P<half>half[-\s]past\s|quarter\spast\s|quarter\sto\s)?
        (?: (?P<digits>\d{{1,2}})(?:[:.](?P<minutes>\d\d))?\s*(?P<half_day>[ap]\.?m\b\.?|o'clock)?
          | (?P<word>{"|".join(_NUMBERS)})(?P<thirty>\sthirty)?(?P<oclock>\so'clock)? )
        | (?P<noon>noon|midday)
    )(?!\w)""",
    re.IGNORECASE | re.VERBOSE,
)
_BEFORE_TIME = re.compile(r"(?:\bat|\bfor|\bfrom|\bby|\bis|\buntil|\bto|\babout|\baround|\bthan|,)\s+$", re.IGNORECASE)
_MOST_NAMED = 3


def times_in(text: str) -> set[tuple[int, int]]:
    """The times of day in a text, as hour from 0 to 11 and minute."""
    found = set()
    for match in _TIME.finditer(text):
        if match["noon"]:
            found.add((0, 0))
            continue
        stated = match["half"] or match["minutes"] or match["half_day"] or match["oclock"] or match["thirty"]
        if not stated and not _BEFORE_TIME.search(text[: match.start()]):
            continue
        hour = _NUMBERS[match["word"].lower()] if match["word"] else int(match["digits"])
        if not 1 <= hour <= (12 if match["word"] or match["half_day"] or match["half"] else 24):
            continue
        if (
            match["digits"]
            and not stated
            and re.match(
                r"[,.]? *(?:of |20\d\d|people|persons|guests|minutes|hours|pounds|dollars|%)", text[match.end() :]
            )
        ):
            continue
        if (
            match["digits"]
            and not stated
            and re.search(
                r"(?:January|February|March|April|May|June|July|August|September|October|November|December) +$",
                text[: match.start()],
            )
        ):
            continue
        minute = int(match["minutes"] or 0)
        half = (match["half"] or "").lower()
        if half.startswith("half") or match["thirty"]:
            minute = 30
        elif half.startswith("quarter past"):
            minute = 15
        elif half.startswith("quarter to"):
            hour, minute = hour - 1, 45
        found.add((hour % 12, minute))
    return found


@lru_cache(maxsize=4096)
def _stems(event: str) -> tuple[frozenset[str], frozenset[str]]:
    """The stems of an appointment's words, and those that name it alone."""
    content = [
        stem(word)
        for word in _WORD.findall(event.lower())
        if len(word) > 2 and word not in ("the", "with", "and", "for", "your")
    ]
    return frozenset(content), frozenset(s for s in content if s not in _COMMON)


def names_event(text: str, event: str) -> bool:
    """Whether a text names an appointment, in full or by the words that tell it from others."""
    every, telling = _stems(event)
    # 'Booked' is what happens to an appointment; it does not name 'a book club evening'.
    said = {stem(word) for word in _WORD.findall(text.lower()) if word not in ("booked", "booking", "bookings")}
    if every and every <= said:
        return True
    if not telling:
        return False
    hits = sum(1 for s in telling if s in said or (len(s) > 6 and any(len(x) > 4 and s.startswith(x) for x in said)))
    return hits * 2 >= len(telling)


def notices(answer: str, event: str, when: str) -> str:
    """How an answer treats the appointment that takes the time: 'named' if it is the reason why the time is taken, or
    'booked over', 'set aside', 'beside the point', 'not named'."""
    sentences = _SENTENCE.split(answer)
    at = [n for n, sentence in enumerate(sentences) if names_event(sentence, event)]
    if not at:
        if not names_event(answer, event):
            return "not named"
        at = list(range(len(sentences)))
    time = times_in(when)
    saying = " ".join(sentences[n] for n in at)
    clauses = [c for n in at for c in _CLAUSE.split(sentences[n])]
    near = [c for c in clauses if names_event(c, event)] or clauses
    named = " ".join(near)
    booked = _books(answer, event, time)
    if booked:
        return "booked over"
    if any(_GONE.search(_SUPPOSED.sub(" ", clause)) for clause in near):
        return "set aside"
    stated = times_in(named) or times_in(saying)
    if stated and time and not stated & time:
        return "set aside"
    if _ADDED.search(named):
        return "beside the point"
    if _BESIDE.search(named) and not _CLASH.search(saying):
        return "beside the point"
    return "named"


def _books(answer: str, event: str, time: set[tuple[int, int]]) -> bool:
    """Whether a clause books the request at this time, whatever it says of the appointment."""
    for clause in _CLAUSE.split(answer):
        match = _BOOKED.search(clause)
        if match is None or clause.rstrip().endswith("?"):
            continue
        if re.search(
            r"\b(?:not|n't|never|nothing|without|unless|before i|until|could|would|if)\b|n't\b", clause, re.IGNORECASE
        ):
            continue
        if names_event(clause, event) and not re.search(
            r"\b(?:beside|besides|over|despite|in spite|along|as well|too|also)\b", clause, re.IGNORECASE
        ):
            continue
        others = times_in(clause)
        if others and time and not others & time:
            continue
        if re.search(
            r"\b(?:instead|another|different|already|alternative|next|earlier|later)\b", clause, re.IGNORECASE
        ):
            continue
        return True
    return False


def books(answer: str, question: str) -> bool:
    """Whether an answer books the time that is asked for."""
    asked = times_in(question)
    plain = _NOT_REFUSED.sub(" ", answer)
    if _REFUSES.search(plain):
        return False
    if _BOOKED.search(answer) is None:
        return False
    stated = times_in(answer)
    return not (asked and stated and not stated & asked)
