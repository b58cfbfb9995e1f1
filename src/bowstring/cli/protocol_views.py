"""The terminal output of a run's scores by both protocols, and of the rules that make the difference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from bowstring.benchmarks.of_run import benchmark_of
from bowstring.cli.output import plain
from bowstring.metrics.measures import MetricSet

NO_VALUE = "no value"


def print_protocols(m: Mapping[str, Any], metric_set: MetricSet, to: Console) -> None:
    """Print the same answers as scored by both protocols, side by side, if the scores differ."""
    rules = m.get("differences", {}).get("rules", {})
    if not rules:
        return
    by = m["protocols"]
    names = dict.fromkeys(name for values in by.values() for name in values)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, head in enumerate(("", *(f"{one} (this run)" if one == m.get("protocol") else one for one in by))):
        table.add_column(plain(head), justify="right" if n else "left", no_wrap=True)
    for name in names:
        table.add_row(name, *(_value(m, protocol, name, metric_set) for protocol in by))
    item = benchmark_of(m).item
    to.print("\nThe same answers, scored by both protocols")
    if names:
        to.print(table)
    else:
        to.print(f"  {NO_VALUE} by either")
    to.print("The rules that make the difference", style="dim", markup=False)
    for rule, n in rules.items():
        to.print(f"- {plain(rule)} ({n:,} {item.one if n == 1 else item.many})", style="dim", markup=False)


def _value(m: Mapping[str, Any], protocol: str, name: str, metric_set: MetricSet) -> str:
    value = m["protocols"][protocol].get(name)
    if value is None:
        return NO_VALUE
    n = m.get("protocols_n", {}).get(protocol, {}).get(name)  # not in runs of an earlier version
    return metric_set.number(value, name) + (f" (n {n:,})" if n is not None else "")
