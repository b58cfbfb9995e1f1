"""The benchmark and the metrics of a run, from its metrics.json or sweep.json; the benchmark may not be installed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Benchmark
from bowstring.errors import UsageError
from bowstring.metrics.measures import NO_METRICS, MetricSet
from bowstring.runs.folder import EndedRun, read_run


def open_run(path: Path) -> EndedRun:
    """A run that has ended, whose records are read as its benchmark writes them."""
    return read_run(path, lambda configuration: installed_benchmark(str(configuration["benchmark"])).codec)


def benchmark_of(summary: Mapping[str, Any]) -> Benchmark:
    """The benchmark of a run or a sweep; a UsageError if it is not installed."""
    return installed_benchmark(str(summary["benchmark"]))


def installed_benchmark(name: str) -> Benchmark:
    """The benchmark of this name, for a run that is already there: its benchmark may be somebody else's package."""
    if name not in registry.names():
        raise UsageError(
            f"this is a run of the benchmark {name}, which is not installed here; install the package that has it"
        )
    return registry.get(name)


def metrics_of(summary: Mapping[str, Any]) -> MetricSet:
    """The metrics of a run or a sweep, whose points are scored alike."""
    config = summary["config"]
    settings = config["settings"] if "settings" in config else next(iter(summary["points"].values()))["settings"]
    return benchmark_of(summary).metrics(settings)


def find_installed(name: object) -> Benchmark | None:
    """The benchmark of this name; None where there is none, or it cannot be loaded."""
    try:
        return registry.get(name) if isinstance(name, str) and name in registry.names() else None
    except UsageError:
        return None


def find_metrics(name: object, settings: Mapping[str, Any]) -> MetricSet:
    """The metrics of the benchmark of this name; of one that is not installed nothing is known. For lists of runs,
    whose files may hold anything."""
    benchmark = find_installed(name)
    try:
        return NO_METRICS if benchmark is None else benchmark.metrics(settings)
    except Exception:  # somebody else's code on somebody else's settings: the list shows the other runs all the same
        return NO_METRICS
