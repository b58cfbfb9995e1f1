"""Drafts about a matter that meet some rules and violate others, and are random in everything else.

The rules that are asked for fix some features of a text, and all other features are random: what else holds of a draft
says nothing about the preference. Every draft is checked by the checks of the rules before it is returned.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from bowstring.benchmarks.cupid.banks import drafts, matters
from bowstring.benchmarks.cupid.rules import met, opposite
from bowstring.synthesis.banks import fill

State = Literal["yes", "no", "neither"]
_MARKED = 0.4  # probability that a feature which is not asked for is there
_MARKED_SHORT = 0.15  # in a short text
_TRIES = 200
_BODIES = {"prose": 0.45, "bullets": 0.2, "numbered": 0.2, "table": 0.15}
# Rules by the feature's state; the state "neither" exists only for some.
_ADDED = {  # features that are sentences of their own, by the list of their sentences
    "example": "example",
    "risk": "risk",
    "source": "source",
    "comparison": "comparison",
    "deadline": "deadline",
    "exclamation": "exclamation",
    "first-person": "first_person",
    "second-person": "second_person",
    "contractions": "contractions",
    "jargon": "jargon",
    "hedging": "hedging",
}


class Unwritable(ValueError):
    """No draft meets these rules and violates those."""


@dataclass(frozen=True, slots=True)
class _Form:
    """What a draft is to be like."""

    body: str  # prose, bullets, numbered, table
    paragraphs: State  # yes: one; no: at least four
    headings: bool
    bold: bool
    words: int  # at least about so many
    short: bool
    sentences: State  # yes: all short; no: one long
    conclusion: State  # yes: first; no: last
    question: State  # yes: at the end; no: none
    figures: State  # yes: three; no: none
    units: State  # yes: metric; no: imperial
    greeting: bool
    added: tuple[str, ...]


def write_draft(matter: int, rng: random.Random, *, meets: Collection[str] = (), violates: Collection[str] = ()) -> str:
    """Return a draft about a matter; raise Unwritable if the rules exclude each other."""
    for _ in range(_TRIES):
        form = _form(set(meets), set(violates), rng)
        if form is None:
            continue
        text = _Writer(matters()[matter], form, rng).text()
        if len(met(text, meets)) == len(meets) and not met(text, violates):
            return text
    raise Unwritable(f"no draft meets {sorted(meets)} and violates {sorted(violates)}")


def _form(meets: set[str], violates: set[str], rng: random.Random) -> _Form | None:
    """A random form in which these rules hold, or may hold, and those do not."""

    def state(rule: str, *, neither: bool = False, marked: float | None = None) -> State:
        """The state of the feature of which this rule is the first."""
        other = opposite(rule)
        if rule in meets or other in meets:
            return "yes" if rule in meets else "no"
        if rule in violates:
            return rng.choice(("no", "neither")) if neither else "no"
        if other in violates:
            return rng.choice(("yes", "neither")) if neither else "yes"
        if rng.random() < (usual if marked is None else marked):
            return "yes"
        return rng.choice(("no", "neither")) if neither else "no"

    usual = _MARKED
    length = _length(meets, violates, rng)
    if length == "short":
        usual = _MARKED_SHORT
    body = _body(meets, violates, rng)
    if body is None:
        return None
    paragraphs = state("one-paragraph", neither=True, marked=0.2)
    if body != "prose" and paragraphs == "yes":
        if "one-paragraph" in meets or "many-paragraphs" in violates:
            return None
        paragraphs = "neither"
    headings = state("headings") == "yes"
    if headings and paragraphs == "yes":
        if "headings" in meets or "no-headings" in violates:
            return None
        headings = False
    return _Form(
        body=body,
        paragraphs=paragraphs,
        headings=headings,
        bold=state("bold") == "yes",
        words={"short": rng.randint(40, 60), "middle": rng.randint(100, 140), "long": rng.randint(165, 260)}[length],
        short=length == "short",
        sentences=state("short-sentences", neither=True),
        conclusion=state("conclusion-first", neither=True),
        question=state("end-question", neither=True),
        figures=state("figures"),
        units=state("metric", neither=True, marked=0.25),
        greeting=state("greeting") == "yes",
        added=tuple(name for name in _ADDED if state(name) == "yes"),
    )


def _length(meets: set[str], violates: set[str], rng: random.Random) -> str:
    if "short" in meets or "long" in meets:
        return "short" if "short" in meets else "long"
    choices = {"short": 0.1, "middle": 0.35, "long": 0.55}
    for rule in ("short", "long"):
        if rule in violates:
            del choices[rule]
    return rng.choices(list(choices), list(choices.values()))[0]


def _body(meets: set[str], violates: set[str], rng: random.Random) -> str | None:
    allowed = dict(_BODIES)
    for rule in sorted(meets):
        if rule in allowed:
            allowed = {rule: allowed[rule]}
        elif rule == "one-paragraph":
            allowed = {"prose": 1.0}
        elif rule in ("no-bullets", "no-table"):
            allowed.pop(opposite(rule), None)
    for rule in sorted(violates):
        if rule in ("no-bullets", "no-table"):
            allowed = {opposite(rule): 1.0} if opposite(rule) in allowed else {}
        else:
            allowed.pop(rule, None)
    return rng.choices(list(allowed), list(allowed.values()))[0] if allowed else None


class _Writer:
    def __init__(self, matter: dict[str, Any], form: _Form, rng: random.Random) -> None:
        self.matter, self.form, self.rng = matter, form, rng
        self.brief = form.sentences == "yes"  # no sentence may be long
        self.slots = _slots(matter)
        # A point for each key word comes first: every draft names what it is about, and has something to emphasize.
        points = rng.sample(matter["points"], len(matter["points"]))
        named = [next(p for p in points if _key_pattern(key).search(p)) for key in matter["keys"]]
        self.points = list(dict.fromkeys([*rng.sample(named, len(named)), *points]))

    def text(self) -> str:
        form, rng = self.form, self.rng
        first = self._conclusion() if form.conclusion == "yes" else self._line("openings")
        last = [] if form.conclusion != "no" else [self._conclusion()]
        if form.question == "yes":
            last.append(self._line("question"))
        elif not last or rng.random() < 0.5:
            last.append(self._line("closings"))
        extras = [line for name in form.added for line in self._added(name)]
        if form.figures == "yes":
            extras.append(self.matter["figures"])
        if form.units != "neither":
            extras.append(self.matter["metric" if form.units == "yes" else "imperial"])
        if form.question == "neither":
            extras.append(self._line("question"))
        listed = [] if form.body == "prose" else self._listed()
        taken = _count([first, *last, *extras, *listed])
        more = self._more(form.words - taken)
        middle = rng.sample([*extras, *more], len(extras) + len(more))
        return self._laid_out(first, middle, last, listed)

    def _laid_out(self, first: str, middle: list[str], last: list[str], listed: list[str]) -> str:
        form, rng = self.form, self.rng
        if form.body == "prose":
            running = [first, *middle, *last]
            blocks = _split(running, self._paragraphs(len(running)), rng)
        else:
            cut = rng.randint(0, len(middle))
            parts = 2 if form.paragraphs == "no" else 1
            before, after = [first, *middle[:cut]], [*middle[cut:], *last]
            block = "\n".join(listed)
            blocks = [*_split(before, parts, rng), block, *_split(after, parts, rng)]
        if form.bold:
            blocks = [self._emphasized(block) for block in blocks]
        if form.headings:
            blocks = self._titled(blocks)
        if form.greeting:
            greeting = rng.choice(drafts()["greetings"])
            if form.paragraphs == "yes":
                blocks[0] = f"{greeting}\n{blocks[0]}"
            else:
                blocks = [greeting, *blocks]
        return "\n\n".join(blocks)

    def _paragraphs(self, n: int) -> int:
        if self.form.paragraphs == "yes":
            return 1
        return self.rng.randint(4, 5) if self.form.paragraphs == "no" else min(n, self.rng.randint(2, 3))

    def _conclusion(self) -> str:
        return self._line("conclusion_short" if self.brief else "conclusion")

    def _added(self, name: str) -> list[str]:
        """The sentences that bring in a feature."""
        if name == "source" and self.brief:
            finding = self.matter["finding"]
            return [f"{finding[0].upper()}{finding[1:]}. {self._line('source_short')}"]
        lines = [self._line(_ADDED[name])]
        if name == "example" and self.brief:
            lines[0] = re.sub(r"(?:,? and (?!\w+ \w+$)| because | between ).*", ".", lines[0])
        if name == "jargon":
            return self._two("jargon")
        return self._two(_ADDED[name]) if name in ("first-person", "hedging") and self.rng.random() < 0.5 else lines

    def _two(self, name: str) -> list[str]:
        return [self._filled(line) for line in self.rng.sample(drafts()[name], 2)]

    def _listed(self) -> list[str]:
        """The lines of a list or a table; the points in it are used up."""
        if self.form.body == "table":
            columns = self.rng.choice(drafts()["columns"])
            rows = self.rng.sample(self.matter["rows"], len(self.matter["rows"]))
            return [f"| {' | '.join(columns)} |", "| --- | --- |", *(f"| {' | '.join(row)} |" for row in rows)]
        n = 3 if self.form.short else self.rng.randint(3, 6)
        taken, self.points = self.points[:n], self.points[n:]
        if self.form.body == "numbered":
            return [f"{number}. {point}" for number, point in enumerate(taken, 1)]
        return [f"- {point}" for point in taken]

    def _more(self, words: int) -> list[str]:
        """Points, and then general sentences, of about so many words in all."""
        found: list[str] = []
        spare = [*self.points, *self.rng.sample(drafts()["fillers"], len(drafts()["fillers"]))]
        joined = {"yes": 1, "neither": 2, "no": 4}[self.form.sentences]
        if joined > 1:
            found.append(self._joined(spare[:joined]))
            spare = spare[joined:]
        while spare and (_count(found) < words or len(found) < 2):
            found.append(spare.pop(0))
        least = 4 if self.form.paragraphs == "no" else 0
        while spare and len(found) < least:
            found.append(spare.pop(0))
        return found

    def _joined(self, sentences: Sequence[str]) -> str:
        joint = self.rng.choice(drafts()["joints"])
        first, *others = (sentence.rstrip(".") for sentence in sentences)
        *inner, final = [first, *(one[0].lower() + one[1:] for one in others)]
        return f"{', '.join(inner)}{joint}{final}."

    def _emphasized(self, block: str) -> str:
        for key in self.matter["keys"]:
            block = _key_pattern(key).sub(lambda found: f"**{found[0]}**", block, count=1)
        return block

    def _titled(self, blocks: list[str]) -> list[str]:
        """The blocks under headings; a short text is divided into two parts at least."""
        titles = self.rng.choice(drafts()["titles"])[: max(2, len(blocks))]
        if len(blocks) < len(titles):
            return [block for title in titles[:1] for block in (f"## {title}", *blocks)] + [f"## {titles[-1]}"]
        places = [0, *sorted(self.rng.sample(range(1, len(blocks)), len(titles) - 1))]
        found: list[str] = []
        for n, block in enumerate(blocks):
            if n in places:
                found.append(f"## {titles[places.index(n)]}")
            found.append(block)
        return found

    def _line(self, name: str) -> str:
        return self._filled(self.rng.choice(drafts()[name]))

    def _filled(self, line: str) -> str:
        return fill(line, self.slots | {"date": self.rng.choice(drafts()["dates"])})


def _slots(matter: dict[str, Any]) -> dict[str, str]:
    slots = {name: value for name, value in matter.items() if isinstance(value, str)}
    slots["matter"] = matter["name"]
    slots["step_low"] = matter["step"]
    slots["question_low"] = matter["question"][0].lower() + matter["question"][1:]
    return slots


def _key_pattern(key: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w*]){re.escape(key)}(?![\w*])", re.IGNORECASE)


def _count(lines: Iterable[str]) -> int:
    return sum(len(line.split()) for line in lines)


def _split(sentences: Sequence[str], parts: int, rng: random.Random) -> list[str]:
    """The sentences as paragraphs, cut at random places."""
    parts = min(parts, len(sentences))
    places = [0, *sorted(rng.sample(range(1, len(sentences)), parts - 1)), len(sentences)]
    return [" ".join(sentences[start:end]) for start, end in pairwise(places)]
