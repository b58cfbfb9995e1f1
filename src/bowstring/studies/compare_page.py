"""The page of a comparison: ranking, pairwise differences, metrics, groups, and the items that differ most."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks.of_run import installed_benchmark
from bowstring.errors import UsageError
from bowstring.files.escaping import escape_control_characters
from bowstring.files.writing import save_file
from bowstring.metrics.correction import LEAST
from bowstring.reports.page import environment

if TYPE_CHECKING:
    from bowstring.metrics.comparing import CorrectedDifference
    from bowstring.studies.compare import Comparison, Power

_MOST = 1_000_000  # clusters; larger numbers are not printed


def save_page(compared: Comparison, path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm") or path.is_dir():
        raise UsageError(f"--out {path}: expected a file for the page, such as compare.html")
    save_file(path, write_compare_page(compared))


def write_compare_page(compared: Comparison) -> str:
    """One self-contained HTML file. All texts are escaped, so data and answers cannot run as code."""
    made = environment(compared.metric_set)
    made.filters |= {"signed": partial(signed, compared), "p_value": p_value, "visible": escape_control_characters}
    template = made.from_string((files("bowstring.reports") / "compare.html").read_text(encoding="utf-8"))
    low, high = _scale(compared)
    return template.render(
        c=compared,
        title=(benchmark := installed_benchmark(compared.benchmark)).title,
        clusters=benchmark.cluster.many,
        of_items=benchmark.item.many,
        one=_in_common(compared),
        low=low,
        high=high,
        at=lambda value: round(100 * (value - low) / (high - low), 2),
        ranks_note=ranks_note(compared),
        power=power_notes(compared),
        lengths=length_notes(compared),
        contradictions=contradiction_notes(compared),
        too_few_labels=too_few_labels_notes(compared),
        direction=compared.metric_set.direction_note(compared.metrics),
        missing=any(e.missing_items for e in compared.metrics[compared.metric].values()),
        untrusted=any(not e.trusted for own in compared.metrics.values() for e in own.values()),
    )


def _scale(compared: Comparison) -> tuple[float, float]:
    """The range of the bars: that of the intervals, with a margin."""
    own = compared.metrics[compared.metric].values()
    low, high = min(e.low for e in own), max(e.high for e in own)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _in_common(compared: Comparison) -> dict[str, Any]:
    """The parts of a configuration that all runs share, besides what their scores are of."""
    shared = [
        {
            "model": run.configuration["model"],
            "history": run.configuration["settings"].get("history"),
        }
        for run in compared.runs
    ]
    return {name: value for name, value in shared[0].items() if value and all(one[name] == value for one in shared)}


def cluster_word(compared: Comparison, n: int = 2) -> str:
    word = installed_benchmark(compared.benchmark).cluster
    return word.one if n == 1 else word.many


def signed(compared: Comparison, value: float, metric: str = "") -> str:
    """A difference with its sign; without one if it rounds to zero."""
    text = compared.metric_set.number(abs(value), metric)
    return text if not text.strip("0.,") else f"{'+' if value > 0 else '-'}{text}"


def p_value(p: float) -> str:
    return "<0.0001" if p < 0.0001 else f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def ranks_note(compared: Comparison) -> str:
    """The ranking in one line, with the ranks that are possible for each run."""
    few = "*" if any(not e.trusted for e in compared.metrics[compared.metric].values()) else ""
    places = [
        f"{rank.place}{few} {name}" + ("" if rank.best == rank.worst else f" (possible: {rank.best} to {rank.worst})")
        for name, rank in compared.ranks.items()
    ]
    pairs = len(compared.pairs)
    corrected = f", corrected for {pairs} pairs" if pairs > 1 else ""
    ruled_out = f"A rank is ruled out by a paired difference with p < 0.05{corrected}."
    return f"Ranking by {compared.metric}: {'; '.join(places)}. {ruled_out}"


def power_notes(compared: Comparison) -> list[str]:
    """What each comparison with the baseline can detect, and what --detect would take; one sentence per run."""
    notes = []
    for name, found in compared.differences[compared.metric].items():
        power = compared.power.get(name)
        takes = f"{_data_needed(compared, power)}; " if power is not None and power.clusters is not None else ""
        here = _detectable(compared, found)
        notes.append(f"{name}: {here}." if found.detectable is None else f"{name}: with 80% power, {takes}{here}.")
    return notes


def length_notes(compared: Comparison) -> list[str]:
    """The score of each run at equal answer length, and its difference from the baseline; one sentence per run."""
    if compared.length is None:
        return []
    notes = []
    for name in compared.names:
        own = compared.length.controlled.runs[name]
        judged = compared.length.scores[name].value
        if own.rate is None:
            notes.append(f"{name}: no score at equal length: {own.why}.")
            continue
        e, why = own.rate, f" ({own.why})" if own.why else ""
        edge = ", extrapolated: almost no pair has that order of lengths" if own.edge else ""
        trust = "" if e.trusted else "*"
        at_equal = f"{e.value:.1f} [{e.low:.1f}, {e.high:.1f}]{trust} at equal length{why}{edge}"
        difference = _length_difference(compared, name)
        notes.append(f"{name}: {at_equal}; {judged:.1f} as judged{difference}.")
    return notes


def _length_difference(compared: Comparison, name: str) -> str:
    found = compared.length and compared.length.controlled.differences.get(name)
    if not found:
        return ""
    between = f"{found.low:+.1f} to {found.high:+.1f}{'' if found.trusted else '*'}"
    return f"; {found.value:+.1f} ({between}, p {p_value(found.p)}) from {compared.baseline} at equal length"


def contradiction_notes(compared: Comparison) -> list[str]:
    """Where the judge and people's labels lead to different conclusions; one sentence per difference."""
    if compared.corrected is None:
        return []
    notes = []
    for one in compared.corrected.contradictions:
        judge, labels = (
            f"{signed(compared, d.value, one.metric)}, p {p_value(d.corrected)}" for d in (one.judge, one.labels)
        )
        between = f"{one.metric}, {one.run} − {compared.baseline}"
        notes.append(f"{between}: {one.what} (judge {judge}; corrected {labels}).")
    return notes


def too_few_labels_notes(compared: Comparison) -> list[str]:
    """Which metrics are not corrected, and which runs lack labels for them."""
    if compared.corrected is None:
        return []
    metrics: dict[tuple[str, ...], list[str]] = {}
    for metric, runs in compared.corrected.too_few.items():
        metrics.setdefault(tuple(runs), []).append(metric)
    return [
        f"{', '.join(own)}: not corrected for {' and '.join(runs)}: fewer than {LEAST} labels for a part of the score."
        for runs, own in metrics.items()
    ]


def _detectable(compared: Comparison, found: CorrectedDifference) -> str:
    """What the available clusters can detect."""
    if found.detectable is None:
        here = f"{found.clusters:,} {cluster_word(compared, found.clusters)}"
        corrected = (
            f" for p < 0.05 after Holm correction for {found.comparisons:,} comparisons"
            if found.comparisons > 1
            else ""
        )
        if found.clusters >= found.least_clusters:
            return f"{here} are too few to say which difference can be detected"
        return f"with {here} no difference can be detected; at least {found.least_clusters} are needed{corrected}"
    least = compared.metric_set.number(found.detectable, compared.metric)
    return (
        f"the {found.clusters:,} {cluster_word(compared, found.clusters)} here can detect a difference of "
        f"{least} or more"
    )


def _data_needed(compared: Comparison, power: Power) -> str:
    apart = compared.metric_set.number(power.apart, compared.metric)
    clusters = power.clusters or 0
    if clusters > _MOST:
        return f"detecting a difference of {apart} needs more than {_MOST:,} {cluster_word(compared)}"
    return (
        f"detecting a difference of {apart} needs about {clusters:,} {cluster_word(compared)} ({power.items:,} items)"
    )
