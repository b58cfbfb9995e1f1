"""Rates of the checks of a synthetic set: how often a reader was right, with n, interval and chance.

first   what was written first, before anything was repaired or dropped: how good the author is
kept    what is in the set, by a reading that decided nothing: how good the set is
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate, estimate

PHASES = {"first": "as first written", "kept": "in the set"}
_STRICT = 1.5  # times the 95% interval: about 99.7%


@dataclass(frozen=True, slots=True)
class Check:
    """A check by its name, and what a good set has: what is meant can be read, or is not found, or chance decides."""

    name: str
    wanted: Literal["high", "chance", "any"] = "high"


class _Entry(NamedTuple):
    cluster: str
    right: bool | None
    chance: float


@dataclass(frozen=True, slots=True)
class Ability:
    """How well a reader reads known texts. It is able if the interval is above the middle of chance and 100%."""

    kind: str
    right: Estimate
    chance: float  # percent
    unreadable: int

    @classmethod
    def of(cls, kind: str, results: Sequence[bool | None], chance: float) -> Ability:
        scores = [Score(str(n), 100.0 * (right is True)) for n, right in enumerate(results)]
        return cls(kind, _estimate(scores), 100 * chance, sum(right is None for right in results))

    @property
    def needed(self) -> float:
        return (100 + self.chance) / 2

    @property
    def able(self) -> bool:
        return self.right.low > self.needed

    def as_json(self) -> dict[str, Any]:
        return {
            "able": self.able,
            **_brief(self.right),
            "chance": self.chance,
            "needed": self.needed,
            "unreadable": self.unreadable,
        }


@dataclass(slots=True)
class Rates:
    reader: str | None = None
    abilities: dict[str, Ability] = field(default_factory=dict)
    _checks: dict[str, Check] = field(default_factory=dict)
    # A part of several users is read once and counted once.
    _entries: dict[tuple[str, str], dict[str, _Entry]] = field(default_factory=dict)

    def add(self, check: Check, phase: str, key: str, cluster: str, right: bool | None, chance: float) -> None:
        self._checks[check.name] = check
        self._entries.setdefault((check.name, phase), {})[key] = _Entry(cluster, right, chance)

    def rows(self) -> list[dict[str, Any]]:
        """A row per check and phase, in a fixed order."""
        order = list(PHASES)
        return [
            _row(self._checks[name], phase, [entry for _, entry in sorted(self._entries[name, phase].items())])
            for name, phase in sorted(self._entries, key=lambda k: (k[0], order.index(k[1])))
        ]

    def as_json(self) -> dict[str, Any]:
        abilities = {kind: self.abilities[kind].as_json() for kind in sorted(self.abilities)}
        return {"reader": self.reader, "known_texts": abilities, "rates": self.rows()}

    def lines(self) -> list[str]:
        """The reader's abilities and what is not as it should be, as sentences."""
        said = [self._ability(self.abilities[kind]) for kind in sorted(self.abilities)]
        for row in self.rows():
            if row["problem"]:
                said.append(f"problem: {row['check']}, {PHASES[row['phase']]}: {_percent(row)}: {row['problem']}")
        return said

    def _ability(self, of: Ability) -> str:
        measured = f"{_percent(of.as_json())} of known texts right"
        if of.able:
            return f"reader, {of.kind}: {measured}"
        return (
            f"reader {self.reader} cannot be trusted with this: {of.kind}: {measured}, and the interval must be above "
            f"{of.needed:.1f}. Nothing was checked or dropped by it"
        )

    def markdown(self) -> str:
        """For the dataset card: who read, how well, and what was found."""
        if self.reader is None:
            return "No model read the set: only words were checked."
        parts = [
            f"{self.reader} read the set: it chose what is true among options in a random order, of which one is "
            "right. It was tried on known texts first, and decided nothing where it failed.",
            _table(
                ["known texts", "right (95% interval)", "n", "chance", "decides"],
                [
                    [a.kind, _interval(a.as_json()), str(a.right.n), f"{a.chance:.0f}%", "yes" if a.able else "no"]
                    for _, a in sorted(self.abilities.items())
                ],
            ),
        ]
        if rows := self.rows():
            parts.append(
                "Readings of the set: of what was written first, and of what is in the set, by readings that decided "
                "nothing."
            )
            parts.append(
                _table(
                    ["check", "of", "right (95% interval)", "n", "chance", "wanted", ""],
                    [
                        [
                            row["check"],
                            PHASES[row["phase"]],
                            _interval(row),
                            str(row["n"]),
                            "" if row["chance"] is None else f"{row['chance']:.0f}%",
                            row["wanted"],
                            row["problem"],
                        ]
                        for row in rows
                    ],
                )
            )
        return "\n\n".join(parts)


def _row(check: Check, phase: str, entries: Sequence[_Entry]) -> dict[str, Any]:
    found = _estimate([Score(entry.cluster, 100.0 * (entry.right is True)) for entry in entries])
    chance = 100 * sum(entry.chance for entry in entries) / len(entries)
    problem = ""
    # Many rows are compared with chance: one that is above it by accident should be rare.
    if check.wanted == "chance" and found.value - _STRICT * (found.value - found.low) > chance:
        problem = "above chance"
    elif check.wanted == "high" and found.high < (100 + chance) / 2:
        problem = "at chance or near it" if found.low <= chance else "low"
    return {
        "check": check.name,
        "phase": phase,
        **_brief(found),
        "chance": chance or None,
        "wanted": check.wanted,
        "unreadable": sum(entry.right is None for entry in entries),
        "problem": problem,
    }


def _estimate(scores: Sequence[Score]) -> Estimate:
    found = estimate({"x": scores}, lambda means: means["x"], ends=(0.0, 100.0))
    assert found is not None, "there are scores"
    return found


def _brief(found: Estimate) -> dict[str, Any]:
    return {
        "value": round(found.value, 2),
        "low": round(found.low, 2),
        "high": round(found.high, 2),
        "n": found.n,
        "clusters": found.clusters,
    }


def _interval(row: dict[str, Any]) -> str:
    return f"{row['value']:.1f}% [{row['low']:.1f}, {row['high']:.1f}]"


def _percent(row: dict[str, Any]) -> str:
    chance = "" if row["chance"] is None else f", chance {row['chance']:.0f}%"
    return f"{_interval(row)} (n {row['n']}{chance})"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])
