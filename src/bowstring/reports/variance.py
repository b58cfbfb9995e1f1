"""Where the variance of a run's scores comes from, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bowstring.benchmarks.components import variance_in_words
from bowstring.benchmarks.of_run import benchmark_of


def variance_lines(metrics: Mapping[str, Any]) -> list[str]:
    """One line per metric; none for a run with too few users to tell, unless it was made to tell."""
    benchmark, repeats = benchmark_of(metrics), metrics.get("repeats")
    lines = []
    if repeats:
        said = f"Each item was answered {repeats['answers']} times and each answer judged {repeats['judgements']} times"
        lines.append(f"{said.replace('1 times', 'once')}; n counts items.")
    for metric, found in metrics.get("variance", {}).items():
        if metrics["metrics"][metric]["trusted"] or repeats:
            lines.append(variance_in_words(metric, found, benchmark.cluster, benchmark.item))
    return lines
