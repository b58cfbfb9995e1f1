"""Export of a matcher's labels of CUPID checklists as rows of a `coverage` table, to train matchers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from bowstring.benchmarks.cupid.coverage import LABEL_OF, coverage_table
from bowstring.benchmarks.cupid.layout import COVERAGE_CONFIG
from bowstring.benchmarks.cupid.types import COVERAGE_SIDES, Coverage
from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.people import failure_reason


class CupidJudgementExport:
    config = COVERAGE_CONFIG
    row = Noun("labelled checklist", "labelled checklists")
    roles: tuple[str, ...] = ("matcher", "judge")  # without a matcher, the judge does the matching

    def rows(self, record: Mapping[str, Any], left_out: Counter[str]) -> Iterator[Coverage]:
        inference = record.get("inference")
        if inference is None:
            left_out["without inference"] += 1
            return
        if (failed := failure_reason(inference)) is not None:
            left_out[failed] += 1
            return
        if "unparsed" in inference:
            left_out[f"unparsed ({inference['unparsed']})"] += 1
            return
        # The items of each side are matched with the preference of the other side.
        held = {
            "precision": (record["preference"], inference["checklist"]),
            "recall": (inference["preference"], record["checklist"]),
        }
        for side in COVERAGE_SIDES:
            preference, checklist = held[side]
            yield Coverage(
                persona_id=record["persona"],
                instance_type=record["type"],
                side=side,
                preference=preference,
                checklist=tuple(checklist),
                labels=tuple(LABEL_OF[score] for score in inference[side]),
                transcript=inference.get("transcripts", {}).get(side),
            )

    def table(self, rows: Sequence[Coverage]) -> pa.Table:
        return coverage_table(rows)
