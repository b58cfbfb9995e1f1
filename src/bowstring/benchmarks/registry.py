"""The available benchmarks: built-in ones, and others from the entry-point group `bowstring.benchmarks`.

[project.entry-points."bowstring.benchmarks"]
mine = "my_package:BENCHMARK"
"""

from __future__ import annotations

import difflib
import logging
import re
from functools import cache
from importlib import import_module
from importlib.metadata import EntryPoint, entry_points

from bowstring.benchmarks.interface import Benchmark
from bowstring.errors import UsageError
from bowstring.files.redaction import error_line

GROUP = "bowstring.benchmarks"
_log = logging.getLogger("bowstring")
_REQUIRED = ("name", "title", "about", "settings", "format")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_OURS = {
    "hicupid": "bowstring.benchmarks.hicupid.benchmark:HICUPID",
    "cupid": "bowstring.benchmarks.cupid.benchmark:CUPID",
}


def names() -> tuple[str, ...]:
    """The names of all benchmarks, built-in ones first, without importing them."""
    return (*_OURS, *_others())


@cache
def get(name: str) -> Benchmark:
    """The benchmark of this name; the UsageError for an unknown name suggests the closest one."""
    place = _OURS.get(name)
    if place is not None:
        module, _, attribute = place.partition(":")
        found: object = getattr(import_module(module), attribute)
    elif (other := _others().get(name)) is not None:
        if not _NAME.fullmatch(name):
            raise UsageError(f"the benchmark {name!r} has an unusable name; expected letters, digits, - and _")
        try:
            found = other.load()
        except (Exception, SystemExit) as error:  # importing a third-party package can fail in any way
            reason = error_line(error, with_type=True)
            raise UsageError(f"the benchmark {name} ({other.value}) cannot be loaded: {reason}") from error
    else:
        close = difflib.get_close_matches(name, names(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"expected {', '.join(names())}"
        raise UsageError(f"{name!r} is not a benchmark; {hint}")
    if not isinstance(found, Benchmark):
        raise UsageError(
            f"the benchmark {name} is {type(found).__name__}, not a bowstring.benchmarks.interface.Benchmark"
        )
    if lacking := [one for one in _REQUIRED if not hasattr(found, one)]:
        raise UsageError(f"the benchmark {name} lacks {', '.join(lacking)}")
    if found.name != name:
        raise UsageError(f"the benchmark {name} calls itself {found.name!r}; its entry point must have the same name")
    return found


def all_benchmarks() -> list[Benchmark]:
    """All benchmarks that can be loaded."""
    found = []
    for name in names():
        try:
            found.append(get(name))
        except UsageError:
            if name in _OURS:
                raise
    return found


def unloadable() -> list[str]:
    """Why each benchmark that cannot be loaded cannot be."""
    reasons = []
    for name in names():
        try:
            get(name)
        except UsageError as error:
            reasons.append(str(error))
    return reasons


def by_layout() -> list[Benchmark]:
    """Benchmarks in the order in which files are matched: third-party ones first, as built-in ones accept more
    files."""
    return sorted(all_benchmarks(), key=lambda benchmark: benchmark.name in _OURS)


@cache
def _others() -> dict[str, EntryPoint]:
    found = {point.name: point for point in sorted(entry_points(group=GROUP), key=lambda point: point.name)}
    for name in found.keys() & _OURS:
        _log.warning("The benchmark %s (%s) is ignored: Bowstring has one of this name.", name, found.pop(name).value)
    return found
