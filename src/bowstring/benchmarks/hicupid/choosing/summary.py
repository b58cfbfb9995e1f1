"""The summary of a run of choices: its metrics, also by group, preferences for letters, and the floors of the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from bowstring.benchmarks.components import variance_of_metrics
from bowstring.benchmarks.hicupid import scores
from bowstring.benchmarks.hicupid.choosing.scores import (
    LETTER_SHARES,
    MEASURES,
    METRICS,
    by_options,
    chance_of,
    counts_of_choices,
)
from bowstring.metrics.measures import Measure, estimates_as_json, unscored_as_json
from bowstring.runs.runner import Record


def summarize(records: Sequence[Record], floors: Mapping[str, Any]) -> dict[str, Any]:
    shown = [r["shown"] for r in records if "shown" in r]
    by_letter = [r for r in records if r.get("by") == "letter"]
    groups = scores.grouped(records) | by_options(records)
    return {
        "n": len(records),
        "unparsed": sum("choice" in r and r["choice"] is None for r in records),
        "failed": sum("failure" in r for r in records),
        "truncated": sum(r.get("finish") == "length" for r in records),
        "refused": sum(r.get("finish") in ("refusal", "filter") for r in records),
        "shown": {
            name: sum(one[name] for one in shown) / len(shown) if shown else None for name in ("turns", "characters")
        },
        "splits": list(dict.fromkeys(str(record["split"]) for record in records)),
        "metrics": _metrics(records, MEASURES),
        "chance": chance_of(records),
        "chosen": counts_of_choices(records),
        "letters": _metrics(by_letter, LETTER_SHARES),
        "gold_at": _places_of_gold(records),
        "floors": dict(floors),
        "unscored": unscored_as_json(METRICS, _clustered(records)),
        "variance": variance_of_metrics(METRICS, records, scores.cluster_of),
        "groups": {
            axis: {group: _metrics(own, MEASURES) for group, own in members.items()} for axis, members in groups.items()
        },
    }


def _places_of_gold(records: Sequence[Record]) -> dict[str, int]:
    places = [str(r["gold_is"]) for r in records if "gold_is" in r]
    return {letter: places.count(letter) for letter in sorted(set(places))}


def _metrics(records: Sequence[Record], measures: Mapping[str, Measure]) -> dict[str, Any]:
    return estimates_as_json(measures, _clustered(records))


def _clustered(records: Sequence[Record]) -> list[tuple[str, Record]]:
    return [(scores.cluster_of(record), record) for record in records]
