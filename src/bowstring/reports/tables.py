"""The numbers of a run or a sweep as tables, and tables as Markdown, CSV and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from bowstring.benchmarks.of_run import benchmark_of, metrics_of
from bowstring.benchmarks.standing import about_of, abouts_of_points
from bowstring.files.escaping import escape_csv, escape_latex, escape_markdown, one_line
from bowstring.metrics.measures import MetricSet
from bowstring.reports.missing import HEADS, any_missing, missing_cells, missing_scores, shown_metrics
from bowstring.reports.points import columns_of
from bowstring.runs.about import captions, columns, of_several
from bowstring.runs.cut_answers import cut_numbers


class Value(NamedTuple):
    """A formatted estimate."""

    value: str
    low: str
    high: str
    n: int
    clusters: int
    trusted: bool
    missing: int = 0  # items, or records of them, without a score
    as_worst: str = ""  # with the missing ones at the worst

    @property
    def lacking(self) -> str:
        return f" ({self.missing:,} missing, as worst {self.as_worst})" if self.missing else ""

    @property
    def interval(self) -> str:
        return f"[{self.low}, {self.high}]{'' if self.trusted else '*'}"


Cell = str | Value | None


# Items that scores do not show.
COUNTS = {"failed": "failed", "unparsed": "unparsed", "truncated": "cut at the token limit", "refused": "refused"}


@dataclass(frozen=True, slots=True)
class Table:
    """`captions` say what the numbers are of, `notes` are their caveats; both are part of every format for people."""

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    notes: Sequence[str] = ()
    clusters: str = "clusters"  # what they are: users, personas
    captions: Sequence[str] = ()
    of: Sequence[Mapping[str, str]] = ()  # of each row, what its numbers are of; further columns for programs


def notes_of(metrics: Mapping[str, Any]) -> list[str]:
    """The notes of a run, with counts of failed and other incomplete items."""
    lost = lost_items(metrics)
    if not lost:
        return [*metrics.get("notes", ())]
    n, items = metrics.get("records", metrics["n"]), metrics["n"]
    what = "items" if n == items else f"records of {items:,} items"
    return [*metrics.get("notes", ()), f"of {n:,} {what}: {', '.join(lost)}"]


def lost_items(metrics: Mapping[str, Any]) -> list[str]:
    """Counts of items that scores do not show; failures of the model and of its provider apart."""
    lost = {field: f"{n:,} {what}" for field, what in COUNTS.items() if (n := metrics.get(field, 0))}
    if "failed" in lost and (apart := metrics.get("failures")):
        provider, judge = (sum(apart.get(side, {}).values()) for side in ("provider", "judge"))
        model = metrics["failed"] - provider - judge
        sides = (("by the model", model), ("by the provider", provider), ("by the judge", judge))
        by = [f"{n:,} {who}" for who, n in sides if n > 0]
        lost["failed"] += f" ({', '.join(by)})" if by else ""
    if empty := metrics.get("failures", {}).get("model", {}).get("empty"):
        lost["empty"] = f"{empty:,} empty"
    return [*lost.values(), *(f"{number} cut at the token limit" for number in cut_numbers(metrics))]


def tables_of(metrics: Mapping[str, Any]) -> list[Table]:
    """All scores with their intervals, and every breakdown."""
    scored, metric_set = shown_metrics(metrics), metrics_of(metrics)
    rows: list[list[Cell]] = [[metric, _value(e, metric, metric_set)] for metric, e in scored.items()]
    heads = ["metric", "value"]
    if any_missing(scored):
        heads += HEADS
        rows = [
            [*row, *missing_cells(e, partial(metric_set.number, metric=metric))]
            for row, (metric, e) in zip(rows, scored.items(), strict=True)
        ]
    found = [Table("scores", heads, rows)]
    found += [_breakdown(axis, scored, groups, metric_set) for axis, groups in metrics["groups"].items()]
    clusters = benchmark_of(metrics).cluster.many
    about, notes = about_of(metrics), notes_of(metrics)
    return [
        replace(table, notes=notes, clusters=clusters, captions=captions(about), of=[columns(about)] * len(table.rows))
        for table in found
    ]


def sweep_tables(summary: Mapping[str, Any]) -> list[Table]:
    metric_set = metrics_of(summary)
    names = columns_of(summary["points"], metric_set)
    rows = []
    for name, point in summary["points"].items():
        tokens = point["context_tokens"]
        values: list[Cell] = [_value(point["metrics"].get(column), column, metric_set) for column in names]
        values = [unscored_text(point, c, metric_set) or v for c, v in zip(names, values, strict=True)]
        rows.append([name, "" if tokens is None else f"{tokens:.0f}", *values])
    lost = [f"{name}: {note}" for name, point in summary["points"].items() for note in notes_of(point)]
    notes = [*summary.get("notes", ()), *lost]
    abouts = abouts_of_points(summary)
    own = [columns(about) for about in abouts.values()]
    clusters, said = benchmark_of(summary).cluster.many, of_several(abouts).captions
    return [Table("sweep", ["history", "tokens", *names], rows, notes, clusters, said, own)]


def unscored_text(point: Mapping[str, Any], metric: str, metric_set: MetricSet) -> str:
    """What is known of a metric without a value; empty if it has one, or nothing is known."""
    missing = (point.get("unscored") or {}).get(metric)
    if missing is None:
        return ""
    low, high = (metric_set.number(end, metric) for end in missing["bounds"])
    return f"no score; {low} to {high} possible"


def _breakdown(
    axis: str, whole: Mapping[str, Any], groups: Mapping[str, Mapping[str, Any]], metric_set: MetricSet
) -> Table:
    columns = [name for name in whole if any(name in found for found in groups.values())]
    rows = [[group, *(_value(found.get(c), c, metric_set) for c in columns)] for group, found in groups.items()]
    return Table(f"by-{axis}", [axis, *columns], rows)


def _value(e: Mapping[str, Any] | None, metric: str, metric_set: MetricSet) -> Value | None:
    if e is None or e["value"] is None:
        return None
    value, low, high = (metric_set.number(e[k], metric) for k in ("value", "low", "high"))
    missing = missing_scores(e)[1]
    worst = metric_set.number(e["missing"]["as_worst"], metric) if missing else value
    return Value(value, low, high, e["n"], e["clusters"], e["trusted"], missing, worst)


def _text(cell: Cell) -> str:
    return f"{cell.value} {cell.interval} n {cell.n}{cell.lacking}" if isinstance(cell, Value) else (cell or "")


def to_markdown(table: Table) -> str:
    def line(cells: Sequence[Cell]) -> str:
        return "| " + " | ".join(_text(c) if isinstance(c, Value) else escape_markdown(c or "") for c in cells) + " |"

    rule = "|" + "|".join("---" if n == 0 else "---:" for n in range(len(table.columns))) + "|"
    return "\n".join([line(table.columns), rule, *map(line, table.rows), *under_markdown(_legend(table))]) + "\n"


def under_markdown(said: Sequence[str]) -> list[str]:
    """Sentences below a table, one paragraph each."""
    return [f"\n{escape_markdown(sentence)}" for sentence in said]


def _legend(table: Table) -> list[str]:
    few = any(isinstance(cell, Value) and not cell.trusted for row in table.rows for cell in row)
    star = [f"* fewer than 30 {table.clusters}: do not trust the interval."] if few else []
    return [*table.captions, *star, *as_sentences(table.notes)]


def as_sentences(notes: Sequence[str]) -> list[str]:
    return [f"Note: {note.rstrip('.')}." for note in notes]


def to_csv(table: Table) -> str:
    """A table for programs: an estimate takes eight columns, what it is of takes more, and notes are left out."""
    written = io.StringIO()
    writer = csv.writer(written, lineterminator="\n")
    wide = [any(isinstance(row[n], Value) for row in table.rows) for n in range(len(table.columns))]
    of = ("", " low", " high", " n", " clusters", " trusted", " missing", " as worst")
    heads = [[f"{c}{part}" for part in of] if w else [c] for c, w in zip(table.columns, wide, strict=True)]
    further = table.of or [{}] * len(table.rows)
    heads.append([*further[0]] if further else [])
    writer.writerow([escape_csv(head) for of_column in heads for head in of_column])
    for row, own in zip(table.rows, further, strict=True):
        cells = [_columns(cell) if w else [_text(cell)] for cell, w in zip(row, wide, strict=True)]
        cells.append([one_line(value) for value in own.values()])
        writer.writerow([escape_csv(cell) for of_column in cells for cell in of_column])
    return written.getvalue()


def _columns(cell: Cell) -> list[str]:
    if not isinstance(cell, Value):
        return [""] * 8
    *shown, worst = (text.replace(",", "") for text in (cell.value, cell.low, cell.high, cell.as_worst))
    return [*shown, str(cell.n), str(cell.clusters), str(cell.trusted).lower(), str(cell.missing), worst]


def to_latex(table: Table) -> str:
    """A table for the booktabs package."""

    def shown(cell: Cell) -> str:
        if isinstance(cell, Value):
            return f"{cell.value} {{\\scriptsize {cell.interval} $n$ {cell.n}{cell.lacking}}}"
        return escape_latex(cell or "")

    def line(cells: Sequence[Cell]) -> str:
        return " & ".join(map(shown, cells)) + r" \\"

    body = [line(table.columns), r"\midrule", *map(line, table.rows)]
    form = "l" + "r" * (len(table.columns) - 1)
    return (
        "\n".join(
            [
                f"\\begin{{tabular}}{{{form}}}",
                r"\toprule",
                *body,
                r"\bottomrule",
                r"\end{tabular}",
                *under_latex(_legend(table)),
            ]
        )
        + "\n"
    )


def under_latex(said: Sequence[str]) -> list[str]:
    """Sentences below a table, in small print."""
    if not said:
        return []
    return [
        r"\par\smallskip",
        r"{\footnotesize\raggedright",
        *(f"{escape_latex(sentence)}\\par" for sentence in said),
        "}",
    ]


FORMATS: dict[str, Callable[[Table], str]] = {"md": to_markdown, "csv": to_csv, "tex": to_latex}
