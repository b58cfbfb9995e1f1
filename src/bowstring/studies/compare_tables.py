"""A comparison as a table for papers: Markdown, LaTeX, or CSV with everything in it. One row per run."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.files.escaping import escape_csv, escape_latex, escape_markdown, one_line
from bowstring.reports.tables import as_sentences, under_latex, under_markdown
from bowstring.runs.about import columns
from bowstring.studies.compare_page import contradiction_notes

if TYPE_CHECKING:
    from bowstring.metrics.comparing import CorrectedDifference
    from bowstring.metrics.intervals import Estimate
    from bowstring.studies.compare import Comparison

Format = Literal["markdown", "csv", "latex"]
_LATEX_MARKS = {"": "", "▲": r"$^{\uparrow}$", "▼": r"$^{\downarrow}$"}


def write_table(compared: Comparison, form: Format) -> str:
    return {"markdown": _markdown, "csv": _csv, "latex": _latex}[form](compared)


def _columns(compared: Comparison) -> list[str]:
    """The metrics that papers print, without the secondary averages."""
    return [metric for metric in compared.metrics if metric not in compared.metric_set.secondary]


def _mark(compared: Comparison, metric: str, name: str) -> str:
    """▲ or ▼ if the run is significantly better or worse than the baseline."""
    found = compared.differences.get(metric, {}).get(name)
    if found is None or not found.significant:
        return ""
    return "▲" if (found.value > 0) == compared.metric_set.measures[metric].higher_is_better else "▼"


def _items(compared: Comparison) -> str:
    """How many items the values of the main metric are of."""
    scored = max((pair.n for pair in compared.pairs.values()), default=compared.items)
    of_all = f"{compared.items:,} items"
    return of_all if scored >= compared.items else f"{of_all}, {scored:,} with a {compared.metric} in all runs"


def missing_notes(compared: Comparison) -> list[str]:
    """The main metric of every run on all items, with missing scores at the worst; nothing if none is missing."""
    own, number = compared.metrics[compared.metric], compared.metric_set.number
    if not any(e.missing_items for e in own.values()):
        return []

    def told(name: str, e: Estimate) -> str:
        low, high = (number(end, compared.metric) for end in e.bounds)
        between = f"; {low} to {high} possible" if e.missing is not None and e.missing.bounds else ""
        return f"{name} {number(e.as_worst, compared.metric)} ({e.missing_items:,} missing{between})"

    said = ", ".join(told(name, e) for name, e in own.items())
    return [f"{compared.metric} on all items, with missing scores at the worst: {said}."]


def _legend(compared: Comparison) -> list[str]:
    clusters = installed_benchmark(compared.benchmark).cluster.many
    lines = [f"{_items(compared)}; 95% intervals, clustered by {clusters}."]
    lines += compared.about.captions
    lines += missing_notes(compared)
    marks = {_mark(compared, metric, name) for metric in _columns(compared) for name in compared.names} - {""}
    if marks:
        corrected = ", corrected for the number of runs (Holm)" if len(compared.runs) > 2 else ""
        meanings = " and ".join(f"{mark} {word}" for mark, word in (("▲", "better"), ("▼", "worse")) if mark in marks)
        lines.append(f"{meanings} than {compared.baseline}, p < 0.05 by a paired t-test{corrected}.")
    if any(not e.trusted for metric in _columns(compared) for e in compared.metrics[metric].values()):
        lines.append(f"* fewer than 30 {clusters}: do not trust the interval.")
    lines += [found.sentence for found in compared.correlations]
    return [*lines, *contradiction_notes(compared), *as_sentences(compared.notes)]


def _markdown(compared: Comparison) -> str:
    metrics, number = _columns(compared), compared.metric_set.number
    rows = [["run", *metrics], ["---", *("---:" for _ in metrics)]]
    for name in compared.names:
        cells = []
        for metric in metrics:
            e = compared.metrics[metric].get(name)
            few = "" if e is None or e.trusted else "\\*"
            mark = (sign := _mark(compared, metric, name)) and sign + few
            cells.append("–" if e is None else f"{number(e.value, metric)}{mark} {_interval(compared, e, metric)}{few}")
        rows.append([escape_markdown(name), *cells])
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([*lines, *under_markdown(_legend(compared))]) + "\n"


def _latex(compared: Comparison) -> str:
    """A booktabs table; the interval is below the value in small print."""
    metrics, number = _columns(compared), compared.metric_set.number
    lines = [
        "% \\usepackage{booktabs}",
        f"\\begin{{tabular}}{{l{'r' * len(metrics)}}}",
        "\\toprule",
        f"run & {' & '.join(map(escape_latex, metrics))} \\\\",
        "\\midrule",
    ]
    for name in compared.names:
        values, intervals = [], []
        for metric in metrics:
            e = compared.metrics[metric].get(name)
            few = "" if e is None or e.trusted else "*"
            mark = (sign := _LATEX_MARKS[_mark(compared, metric, name)]) and sign + few
            values.append("--" if e is None else f"{number(e.value, metric)}{mark}")
            intervals.append("" if e is None else f"{{\\scriptsize {_interval(compared, e, metric)}{few}}}")
        lines += [f"{escape_latex(name)} & {' & '.join(values)} \\\\", f" & {' & '.join(intervals)} \\\\"]
    return "\n".join([*lines, "\\bottomrule", "\\end{tabular}", *under_latex(_legend(compared))]) + "\n"


def _csv(compared: Comparison) -> str:
    """One row per run and metric, unrounded."""
    written = io.StringIO()
    rows = csv.writer(written, lineterminator="\n")
    of = ("value", "low", "high", "n", "clusters", "trusted", "missing_items", "as_worst")
    against = ("value", "low", "high", "p", "corrected", "n", "clusters", "left_out", "contested")
    further = columns(compared.runs[0].about)
    rows.writerow(["run", "metric", *of, "baseline", *(f"difference_{name}" for name in against), *further])
    for cells in _csv_rows(compared, of, against):
        rows.writerow([escape_csv(one_line(cell)) if isinstance(cell, str) else cell for cell in cells])
    return written.getvalue()


def _csv_rows(compared: Comparison, of: tuple[str, ...], against: tuple[str, ...]) -> Iterator[list[object]]:
    for run in compared.runs:
        further = columns(run.about).values()
        for metric, e, found in _estimates(compared, run.name):
            differences = ["" if found is None else getattr(found, field) for field in against]
            yield [run.name, metric, *(getattr(e, field) for field in of), compared.baseline, *differences, *further]


def _estimates(compared: Comparison, name: str) -> Iterator[tuple[str, Estimate, CorrectedDifference | None]]:
    """The metrics of a run, then those that were corrected with people's labels, with differences from the baseline."""
    for metric, own in compared.metrics.items():
        if name in own:
            yield metric, own[name], compared.differences.get(metric, {}).get(name)
    if (labels := compared.corrected) is not None:
        for metric, scores in labels.scores.items():
            if name in scores:
                difference = labels.differences.get(metric, {}).get(name)
                yield f"{metric} (corrected)", scores[name].estimate, difference


def _interval(compared: Comparison, e: Estimate, metric: str) -> str:
    number = compared.metric_set.number
    return f"[{number(e.low, metric)}, {number(e.high, metric)}]"
