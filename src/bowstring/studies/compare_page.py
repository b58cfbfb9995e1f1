"""The page of a comparison: who leads and how surely, every pair, every metric, the groups, and the items to read."""

from __future__ import annotations

from functools import partial
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks.of_run import installed
from bowstring.errors import UsageError
from bowstring.files.escaping import escape_control_characters
from bowstring.files.writing import make_parent
from bowstring.reports.page import environment

if TYPE_CHECKING:
    from bowstring.metrics.comparing import CorrectedDifference
    from bowstring.studies.compare import Comparison, Power

_MOST = 1_000_000  # users beyond this: nobody will ask so many


def save_page(compared: Comparison, path: Path) -> None:
    if path.suffix.lower() not in (".html", ".htm") or path.is_dir():
        raise UsageError(f"--out {path}: expected a file for the page, such as compare.html")
    make_parent(path)
    path.write_text(write_compare_page(compared), encoding="utf-8", errors="replace", newline="\n")


def write_compare_page(compared: Comparison) -> str:
    """One self-contained HTML file. Every text in it is escaped: data and answers are shown, never obeyed."""
    made = environment(compared.metric_set)
    made.filters |= {"signed": partial(signed, compared), "p_value": p_value, "visible": escape_control_characters}
    template = made.from_string((files("bowstring.reports") / "compare.html").read_text(encoding="utf-8"))
    low, high = _scale(compared)
    return template.render(
        c=compared,
        title=(benchmark := installed(compared.benchmark)).title,
        clusters=benchmark.cluster.many,
        of_items=benchmark.item.many,
        one=_in_common(compared),
        low=low,
        high=high,
        at=lambda value: round(100 * (value - low) / (high - low), 2),
        ranks_note=ranks_note(compared),
        power=power_notes(compared),
        untrusted=any(not e.trusted for own in compared.metrics.values() for e in own.values()),
    )


def _scale(compared: Comparison) -> tuple[float, float]:
    """From where to where the bars go: as far as the intervals do."""
    own = compared.metrics[compared.metric].values()
    low, high = min(e.low for e in own), max(e.high for e in own)
    margin = 0.05 * (high - low) or 0.5
    return low - margin, high + margin


def _in_common(compared: Comparison) -> dict[str, Any]:
    """The parts of a configuration that all runs share."""
    told = [
        {
            "model": run.configuration["model"],
            "judge": run.configuration["judge"],
            "history": run.configuration["settings"].get("history"),
            "data": run.configuration["data"]["name"],
        }
        for run in compared.runs
    ]
    return {name: value for name, value in told[0].items() if value and all(t[name] == value for t in told)}


def cluster_word(compared: Comparison, n: int = 2) -> str:
    word = installed(compared.benchmark).cluster
    return word.one if n == 1 else word.many


def signed(compared: Comparison, value: float, metric: str = "") -> str:
    """A difference, with its sign; one that rounds to nothing has none."""
    text = compared.metric_set.number(abs(value), metric)
    return text if not text.strip("0.,") else f"{'+' if value > 0 else '-'}{text}"


def p_value(p: float) -> str:
    return f"{p:.4f}" if p < 0.01 else f"{p:.2f}"


def ranks_note(compared: Comparison) -> str:
    """Who stands where, and which other places are open."""
    places = [
        f"{rank.place} {name}" + ("" if rank.best == rank.worst else f" (could be {rank.best} to {rank.worst})")
        for name, rank in compared.ranks.items()
    ]
    pairs = len(compared.pairs)
    corrected = f", corrected for {pairs} pairs" if pairs > 1 else ""
    ruled_out = f"A place is ruled out by a paired difference with p < 0.05{corrected}."
    return f"By {compared.metric}: {'; '.join(places)}. {ruled_out}"


def power_notes(compared: Comparison) -> list[str]:
    """What it takes to tell each run from the baseline, in sentences."""
    notes = []
    for name, told in compared.power.items():
        found = compared.differences[compared.metric][name]
        takes = "; ".join(_takes(compared, power) for power in told if power.clusters is not None)
        here = _suffice(compared, found)
        if takes:
            notes.append(f"{name}: to show, four times out of five, {takes}; {here}.")
        elif found.detectable is None:
            notes.append(f"{name}: {here}.")
        else:
            notes.append(f"{name}: no power to tell of, for nothing varies between {cluster_word(compared)} here.")
    return notes


def _suffice(compared: Comparison, found: CorrectedDifference) -> str:
    """What the users or personas at hand can show, if anything."""
    if found.detectable is None:
        here = f"{found.clusters:,} {cluster_word(compared, found.clusters)}"
        corrected = f" for p < 0.05 after Holm over {found.comparisons:,} runs" if found.comparisons > 1 else ""
        return f"with {here} no difference can be shown: at least {found.least_clusters} are needed{corrected}"
    least = compared.metric_set.number(found.detectable, compared.metric)
    return f"the {found.clusters:,} here suffice for {least} and more"


def _takes(compared: Comparison, power: Power) -> str:
    apart = compared.metric_set.number(power.apart, compared.metric)
    clusters = power.clusters or 0
    if clusters > _MOST:
        return f"a difference of {apart} takes more than {_MOST:,} {cluster_word(compared)}"
    return f"a difference of {apart} takes about {clusters:,} {cluster_word(compared)} ({power.items:,} items)"
