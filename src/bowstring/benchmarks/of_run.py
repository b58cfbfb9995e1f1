"""The benchmark and metrics of an existing run, from its files; the benchmark may not be installed."""

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
    """Open a finished run; its records are read with the codec of its benchmark."""
    return read_run(path, lambda configuration: installed_benchmark(str(configuration["benchmark"])).codec)


def benchmark_of(summary: Mapping[str, Any]) -> Benchmark:
    """The benchmark of a run or a sweep; a UsageError if it is not installed."""
    return installed_benchmark(str(summary["benchmark"]))


def installed_benchmark(name: str) -> Benchmark:
    """The benchmark of an existing run; it may be in a package that is not installed."""
    if name not in registry.names():
        raise UsageError(f"this is a run of the benchmark {name}, which is not installed; install its package")
    return registry.get(name)


def metrics_of(summary: Mapping[str, Any]) -> MetricSet:
    """The metrics of a run, or of a sweep, whose points have the same metrics."""
    config = summary["config"]
    settings = config["settings"] if "settings" in config else next(iter(summary["points"].values()))["settings"]
    return benchmark_of(summary).metrics({**config, "settings": settings})


def find_installed(name: object) -> Benchmark | None:
    """The benchmark of this name; None if it is missing or cannot be loaded."""
    try:
        return registry.get(name) if isinstance(name, str) and name in registry.names() else None
    except UsageError:
        return None


def find_metrics(name: object, configuration: Mapping[str, Any]) -> MetricSet:
    """The metrics of the benchmark of this name; generic ones if it is not installed. For lists of runs, whose files
    may be malformed."""
    benchmark = find_installed(name)
    try:
        return NO_METRICS if benchmark is None else benchmark.metrics(configuration)
    except Exception:  # third-party code on unknown settings: an error must not hide the other runs
        return NO_METRICS
