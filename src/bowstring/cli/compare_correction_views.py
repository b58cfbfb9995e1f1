"""The terminal output of `bowstring compare --labels`: scores and differences corrected with people's labels."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from bowstring.cli.output import counted, plain
from bowstring.metrics.comparing import CorrectedDifference
from bowstring.metrics.intervals import Estimate
from bowstring.studies.compare import Comparison
from bowstring.studies.compare_page import cluster_word, contradiction_notes, p_value, signed, too_few_labels_notes
from bowstring.studies.corrected_comparison import CorrectedComparison


def print_corrected_comparison(compared: Comparison, to: Console) -> None:
    found = compared.corrected
    if found is None:
        return
    to.print("\nCorrected with people's labels\n", style="bold", markup=False)
    if found.scores:
        to.print(_scores(compared, found))
    for name in compared.names:
        if any(name in own for own in found.differences.values()):
            heading = f"\n{plain(name)} − {plain(compared.baseline)} (difference), by the judge and corrected\n"
            to.print(heading, style="bold", markup=False)
            to.print(_differences(compared, found, name))
    for note in too_few_labels_notes(compared):
        to.print(plain(note), style="dim", markup=False)
    to.print(plain(_legend(compared, found)), style="dim", markup=False)
    for note in contradiction_notes(compared):
        to.print(f"! {plain(note)}", style="yellow", markup=False)


def _table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 1), collapse_padding=True, header_style="dim")
    for n, name in enumerate(columns):
        table.add_column(Text(plain(name)), justify="right" if n else "left", overflow="fold")
    return table


def _scores(compared: Comparison, found: CorrectedComparison) -> Table:
    table = _table("", *compared.names)
    for metric, own in found.scores.items():
        cells = [_value(compared, own[name].estimate, metric) if name in own else "–" for name in compared.names]
        table.add_row(metric, *cells)
    table.add_row("labelled items", *(f"{found.labelled[name]:,}" for name in compared.names), style="dim")
    return table


def _value(compared: Comparison, e: Estimate, metric: str) -> str:
    value, low, high = (compared.metric_set.number(one, metric) for one in (e.value, e.low, e.high))
    return f"{value} [{low}, {high}]{'' if e.trusted else '*'}"


def _differences(compared: Comparison, found: CorrectedComparison, name: str) -> Table:
    several = len(compared.runs) > 2
    table = _table("", "by the judge", "corrected", "95% interval", "p", *(["Holm"] if several else []), "labels")
    for metric, own in found.differences.items():
        if (d := own.get(name)) is None:
            continue
        judge = compared.differences.get(metric, {}).get(name)
        holm = [p_value(d.corrected)] if several else []
        cells = [signed(compared, d.value, metric), _interval(compared, d, metric), p_value(d.p), *holm, f"{d.n:,}"]
        by_judge = "–" if judge is None else signed(compared, judge.value, metric)
        table.add_row(metric, by_judge, *cells, style="bold" if d.significant else "")
    return table


def _interval(compared: Comparison, d: CorrectedDifference, metric: str) -> str:
    return f"{signed(compared, d.low, metric)} to {signed(compared, d.high, metric)}{'' if d.trusted else '*'}"


def _legend(compared: Comparison, found: CorrectedComparison) -> str:
    lost = "".join(f"; {counted(n, 'label')} {reason}" for reason, n in found.labels.left_out.items())
    unread = "" if not _unread(found) else " Items without a verdict are included."
    few = any(not one.estimate.trusted for own in found.scores.values() for one in own.values())
    untrusted = f" * labels of fewer than 30 {cluster_word(compared)}: do not trust the interval." if few else ""
    return (
        f"{counted(len(found.labels.scores), 'item')} labelled by {counted(found.labels.raters, 'rater')}{lost}. "
        f"labels: of the run with fewer.{unread} Unbiased if the labelled items of each run are a random sample."
        f"{untrusted}"
    )


def _unread(found: CorrectedComparison) -> bool:
    return any(one.unread for own in found.scores.values() for one in own.values())
