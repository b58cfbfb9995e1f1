"""Conversion between tables of a matcher's labels and records. The layout is ours: CUPID publishes no such labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from bowstring.benchmarks.cupid.types import COVERAGE_LABELS, COVERAGE_SIDES, INSTANCE_TYPES, Coverage
from bowstring.datasets.problems import Problem, join_choices, quote_value
from bowstring.datasets.tables import Column, Rows, check_column_choice
from bowstring.judging.structured import LABELS
from bowstring.records import fields_of

LABEL_OF = {LABELS[label.lower()]: label for label in COVERAGE_LABELS}  # score -> label
COLUMNS = (
    Column("persona_id", "text"),
    Column("instance_type", "text"),
    Column("side", "text"),
    Column("preference", "text"),
    Column("checklist", "list of texts"),
    Column("labels", "list of texts"),
    Column("transcript", "text", may_be_null=True, may_be_absent=True),
)
SCHEMA = pa.schema(
    [(c.name, pa.list_(pa.string()) if c.kind == "list of texts" else pa.string()) for c in COLUMNS],
)


def check_coverage(rows: Rows) -> Iterator[Problem]:
    """Check types, sides and labels, and that every checklist item has a label."""
    yield from check_column_choice(rows, "instance_type", INSTANCE_TYPES)
    yield from check_column_choice(rows, "side", COVERAGE_SIDES)
    if not rows.has("checklist", "labels"):
        return
    if not len(rows):
        yield Problem(rows.files[0], None, None, "has no rows; expected one labelled checklist per row")
    columns = (rows.table[name].to_pylist() for name in ("checklist", "labels"))
    for row, (items, labels) in enumerate(zip(*columns, strict=True)):
        if items is None or labels is None:
            continue  # already reported when the columns were read
        for label in labels:
            if label is not None and label not in COVERAGE_LABELS:
                yield rows.problem(
                    row, "labels", f"holds {quote_value(label)}; expected {join_choices(COVERAGE_LABELS)}"
                )
        if len(items) != len(labels):
            message = f"holds {len(labels)}; expected one for each of the {len(items)} items of the checklist"
            yield rows.problem(row, "labels", message)


def to_coverage(table: pa.Table) -> tuple[Coverage, ...]:
    """The records of a table that passed the checks."""
    rows = table.select(SCHEMA.names).to_pylist()
    return tuple(
        Coverage(**row | {"checklist": tuple(row["checklist"]), "labels": tuple(row["labels"])}) for row in rows
    )


def coverage_table(coverage: Iterable[Coverage]) -> pa.Table:
    return pa.Table.from_pylist([fields_of(c) for c in coverage], schema=SCHEMA)
