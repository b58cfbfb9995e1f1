"""Export of a judge's transcripts of HiCUPID answers as rows of the `evaluation` config, to train judges."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.judging import question_of
from bowstring.benchmarks.hicupid.layout import JUDGEMENTS_CONFIG
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.people import failure_reason
from bowstring.records import Side


class HicupidJudgementExport:
    config = JUDGEMENTS_CONFIG
    row = Noun("judgement", "judgements")
    roles: tuple[str, ...] = ("judge",)

    def rows(self, record: Mapping[str, Any], left_out: Counter[str]) -> Iterator[Judgement]:
        if (failed := failure_reason(record)) is not None:
            left_out[failed] += 1
            return
        if "judgement" not in record:  # a --retrieval-only run
            left_out["never judged"] += 1
            return
        question = question_of(record)
        side: Side = record["answer_is"]
        transcripts = [(side, record["judgement"], record["verdict"])]
        if "swapped_judgement" in record:
            transcripts.append(("B" if side == "A" else "A", record["swapped_judgement"], record["swapped_verdict"]))
        for answer_is, judgement, verdict in transcripts:
            if verdict is None:
                left_out["unparsed"] += 1
            else:
                compared = None if question.type == "schedule" else answer_is
                yield Judgement(question, record["answer"], judgement, compared)

    def table(self, rows: Sequence[Judgement]) -> pa.Table:
        return evaluation_table(rows)
