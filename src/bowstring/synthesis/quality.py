"""What can be wrong with text that a model wrote for a data set: found by rule, named, and counted.

Each check returns a flaw, the name that it is counted under with what was seen, or None. They look at words and not at
meaning, so they are strict where words tell, and silent where they do not.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bowstring.datasets.personal import find_in
from bowstring.history.bm25 import stems, words

_SAME = 0.8  # of the words of two texts, from which on a reader could not tell them apart
_LEAKED = 0.6  # of the words of a preference, in a request that should not mention it
_QUOTED = 0.8  # of the words of a checklist item, in a message that should only hint at it


class Flaw(NamedTuple):
    kind: str
    seen: str


def leaks_preference(request: str, preference: str, allowed: str = "") -> Flaw | None:
    """Whether a request tells the preference; words of the context (`allowed`) are its own to use."""
    wanted = set(stems(preference)) - set(stems(allowed))
    share = len(wanted & set(stems(request))) / len(wanted) if wanted else 0.0
    return Flaw("the request leaks the preference", request[:120]) if share >= _LEAKED and len(wanted) > 2 else None


def quotes_checklist(message: str, checklist: Iterable[str]) -> Flaw | None:
    """Whether feedback states an item instead of hinting at it."""
    said = set(stems(message))
    for item in checklist:
        wanted = set(stems(item)) - {"respo", "answe", "messa", "text"}
        if len(wanted) > 2 and len(wanted & said) / len(wanted) >= _QUOTED:
            return Flaw("the feedback states the checklist", message[:120])
    return None


def states_persona(messages: Iterable[str], relation: str, entity: str) -> Flaw | None:
    """Whether somebody says the persona word for word, or as 'I like …' would."""
    base = words(relation)
    verbs = {" ".join(base), *(" ".join([re.sub(r"(?:es|s)$", "", w), *base[1:]]) for w in base[:1])}
    for message in messages:
        said = " ".join(words(message))
        if any(f"{verb} {' '.join(words(entity))}" in said for verb in verbs):
            return Flaw("the dialogue states the persona", message[:120])
    return None


def gives_away(question: str, entity: str) -> Flaw | None:
    """Whether a question names what its answer should come from."""
    wanted = set(stems(entity))
    named = wanted and wanted <= set(stems(question))
    return Flaw("the question gives its answer away", question[:120]) if named else None


def repeats(question: str, others: Iterable[str]) -> Flaw | None:
    """Whether a question is nearly one that was asked before."""
    own = set(stems(question))
    for other in others:
        if _alike(own, set(stems(other))) >= _SAME:
            return Flaw("the question repeats another", question[:120])
    return None


def indistinct(personalized: str, general: str) -> Flaw | None:
    """Whether a reader could not tell the personalized answer from the general one."""
    same = _alike(set(stems(personalized)), set(stems(general))) >= _SAME
    return Flaw("the personalized answer reads like the general one", personalized[:120]) if same else None


def personal(texts: Iterable[str]) -> Flaw | None:
    """Whether there is text that looks like real personal information."""
    for text in texts:
        for kind, found in find_in(text):
            return Flaw("personal information", f"{kind}: {found[:60]}")
    return None


def first_flaw(*flaws: Flaw | None) -> Flaw | None:
    return next((flaw for flaw in flaws if flaw is not None), None)


def _alike(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


@dataclass(slots=True)
class Quality:
    """What was found while a set was made."""

    made: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)  # answers that could not be read, by what was asked for
    repaired: Counter[str] = field(default_factory=Counter)
    flaws: Counter[str] = field(default_factory=Counter)
    dropped: list[dict[str, str]] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        counts = {name: dict(sorted(getattr(self, name).items())) for name in ("made", "invalid", "repaired", "flaws")}
        dropped = sorted(self.dropped, key=lambda d: (d["what"], d["key"]))
        return counts | {"dropped": dropped, "dropped_by_reason": dict(Counter(d["reason"] for d in dropped))}

    def lines(self) -> Sequence[str]:
        """The report in sentences."""
        said = [f"made: {_listed(self.made)}"]
        if self.invalid:
            said.append(f"could not be read, and were asked for again: {_listed(self.invalid)}")
        if self.repaired:
            said.append(f"repaired by the model itself: {_listed(self.repaired)}")
        said.append(f"flaws found: {_listed(self.flaws)}" if self.flaws else "no flaws were found")
        if self.dropped:
            reasons = Counter(f"{d['what']}: {d['reason']}" for d in self.dropped)
            said.append(f"dropped: {_listed(reasons)}")
        return said


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "nothing"
