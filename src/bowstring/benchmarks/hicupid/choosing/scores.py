"""Metrics of choices: accuracy, which wrong option was chosen, subject and side apart, and how letters are preferred.

accuracy.total is the mean of a set with 25 persona, 5 profile and 10 schedule questions per user: 40 in all, each of
the same weight. Chance is 20 with five options; a perfect model has 100.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.benchmarks.hicupid.choosing.options import (
    CELLS,
    GOLD,
    IN_WORDS,
    LETTERS,
    RIGHT_SUBJECT,
    has_cells,
    outcome_of,
)
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES
from bowstring.metrics.clusters import Means
from bowstring.metrics.measures import Family, Measure, MetricSet, Parts, mean

Record = Mapping[str, Any]
WEIGHTS = {"persona": 25, "profile": 5, "schedule": 10}
ACCURACIES = ("accuracy.total", *(f"accuracy.{kind}" for kind in QUESTION_TYPES))
_WRONG = tuple(name for name in IN_WORDS if name != "right")


def is_choice(record: Record) -> bool:
    """Return whether a record is of `--task choose`."""
    return "options" in record


def chosen_kind(record: Record) -> str | None:
    """Return the kind of the chosen option; None if there is no choice."""
    choice = record.get("choice")
    return None if choice is None else str(record["options"][LETTERS.index(choice)]["kind"])


def chosen_outcome(record: Record) -> str | None:
    """Return what the choice says, such as wrong_side; None if there is no choice."""
    kind = chosen_kind(record)
    return None if kind is None else outcome_of(kind)


def kinds_of(record: Record) -> list[str]:
    return [one["kind"] for one in record["options"]]


def _by_type(field: str, record: Record) -> Parts:
    value = record.get(field)
    return {} if value is None else {record["type"]: (value,)}


def _without_choice(record: Record) -> bool:
    return "failure" in record or ("choice" in record and record["choice"] is None)


def _lacks_by_type(record: Record) -> dict[str, int]:
    return {record["type"]: int(_without_choice(record))}


def _persona_of(record: Record) -> str | None:
    persona = record.get("persona")
    return None if persona is None else "/".join(str(persona[name]) for name in ("category", "relation", "entity"))


def _total(means: Means) -> npt.NDArray[np.float64]:
    weighted = [weight * means[kind] for kind, weight in WEIGHTS.items()]
    total: npt.NDArray[np.float64] = 100 * np.sum(weighted, axis=0) / sum(WEIGHTS.values())
    return total


def _of_type(kind: str, means: Means) -> npt.NDArray[np.float64]:
    return 100 * means[kind]


def _accuracy(field: str, name: str) -> dict[str, Measure]:
    of = partial(_by_type, field)
    common: dict[str, Any] = {"lacks": _lacks_by_type, "group_of": _persona_of}
    return {f"{name}.total": Measure(QUESTION_TYPES, of, _total, **common)} | {
        f"{name}.{kind}": Measure((kind,), of, partial(_of_type, kind), **common) for kind in QUESTION_TYPES
    }


def among_cells(record: Record) -> str | None:
    """Return the kind that was preferred among the four cells of subject and side: by likelihood the most probable of
    them, by letter the chosen one if it is one of them."""
    if "choice" not in record or not has_cells(kinds_of(record), record["type"]):
        return None
    if "log_probabilities" not in record:
        kind = chosen_kind(record)
        return kind if kind in CELLS else None
    return _most_probable(record, CELLS)


def _most_probable(record: Record, kinds: Sequence[str]) -> str:
    per_token = [p / n for p, n in zip(record["log_probabilities"], record["tokens"], strict=True)]
    there = [(value, kind) for value, kind in zip(per_token, kinds_of(record), strict=True) if kind in kinds]
    return max(there, key=lambda one: one[0])[1]


def _subject(record: Record) -> float | None:
    kind = among_cells(record)
    return None if kind is None else float(kind in RIGHT_SUBJECT)


def _side(record: Record) -> float | None:
    kind = among_cells(record)
    return float(kind == GOLD) if kind in RIGHT_SUBJECT else None


def _chose(outcome: str, record: Record) -> float | None:
    """1 if the choice is of this outcome, else 0; None if the question offers none, or there is no choice."""
    chosen = chosen_outcome(record)
    offered = chosen is not None and any(outcome_of(kind) == outcome for kind in kinds_of(record))
    return float(chosen == outcome) if offered else None


def _rate(outcome: str) -> Measure:
    def lacks(record: Record) -> bool:
        return _without_choice(record) and any(outcome_of(kind) == outcome for kind in _kinds_if_any(record))

    return replace(mean(partial(_chose, outcome), 100, lacks=lacks), higher_is_better=False, group_of=_persona_of)


def _kinds_if_any(record: Record) -> list[str]:
    return kinds_of(record) if is_choice(record) else []


def _letter(letter: str, record: Record) -> float | None:
    """1 if this letter was chosen, else 0; None without a choice, or if no option has it."""
    if record.get("choice") is None or len(record["options"]) <= LETTERS.index(letter):
        return None
    return float(record["choice"] == letter)


def _never(record: Record) -> bool:  # noqa: ARG001
    return False


MEASURES: Mapping[str, Measure] = {
    **_accuracy("score", "accuracy"),
    "subject": mean(_subject, 100, lacks=_never),
    "side": mean(_side, 100, lacks=_never),
    **{f"chose.{outcome}": _rate(outcome) for outcome in _WRONG},
    **_accuracy("score_by_sum", "by_sum"),
}

METRICS = MetricSet(
    MEASURES,
    leading=ACCURACIES,
    headline=ACCURACIES,
    families={"accuracy": Family("Accuracy"), "chose": Family("Wrong options chosen")},
    columns=(*ACCURACIES, "subject", "side", *(f"chose.{outcome}" for outcome in _WRONG)),
    of_group=(ACCURACIES, ("subject",), ("side",)),
    secondary=frozenset(name for name in MEASURES if name.startswith("by_sum.")),
    axes_without_figure=frozenset({"type"}),
)

LETTER_SHARES: Mapping[str, Measure] = {letter: mean(partial(_letter, letter), 100, lacks=_never) for letter in LETTERS}


def counts_of_choices(records: Sequence[Record]) -> dict[str, dict[str, int]]:
    """Return how often each outcome was chosen, by question type."""
    found: dict[str, dict[str, int]] = {}
    for kind in QUESTION_TYPES:
        chosen = Counter(outcome for r in records if r["type"] == kind and (outcome := chosen_outcome(r)) is not None)
        if chosen:
            found[kind] = {name: chosen[name] for name in IN_WORDS if chosen[name]}
    return found


def chance_of(records: Sequence[Record]) -> float | None:
    """Return the accuracy, in percent, of a random choice among the options of these records, each of equal weight."""
    shares = [1 / len(record["options"]) for record in records if is_choice(record)]
    return 100 * sum(shares) / len(shares) if shares else None


def by_options(records: Sequence[Record]) -> dict[str, dict[str, list[Any]]]:
    """Return the records by place of gold, and schedule questions with and without a clash, where there are both."""
    places: dict[str, list[Any]] = {}
    clashes: dict[str, list[Any]] = {}
    for record in filter(is_choice, records):
        places.setdefault(f"gold is {record['gold_is']}", []).append(record)
        if record["type"] == "schedule" and (clash := _clash(record)) is not None:
            clashes.setdefault(clash, []).append(record)
    found = {"place of gold": dict(sorted(places.items())), "calendar": dict(sorted(clashes.items()))}
    return {axis: members for axis, members in found.items() if len(members) > 1}


def _clash(record: Record) -> str | None:
    """Return whether the time that is asked for is taken: only then an option books over it."""
    kinds = kinds_of(record)
    return "clash" if "books_over" in kinds else "no clash" if "unrelated" in kinds else None
