"""Fault tests: short in `make test`, long in `make test-faults` (BOWSTRING_FAULTS=long), with a summary at the end."""

import os
from collections import Counter

import pytest

from tests.web.conftest import asked

__all__ = ["asked"]
LONG = os.environ.get("BOWSTRING_FAULTS") == "long"
COLUMNS = ("requests", "faults", "retries", "processes", "kills", "committed", "lost", "asked twice")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Tables of what was done and what it did, from all tests that tell, whichever process they ran in."""
    reports = [r for r in terminalreporter.stats.get("passed", []) if r.when == "call"]
    told = [
        (r.nodeid.rpartition("::")[2].removeprefix("test_").replace("_", " "), tally)
        for r in reports
        for name, tally in r.user_properties
        if name == "tally"
    ]
    runs = sorted((name, tally) for name, tally in told if "requests" in tally)
    if not told:
        return
    terminalreporter.section("faults")
    write = terminalreporter.write_line
    if runs:
        write(f"| | {' | '.join(COLUMNS)} |")
        write(f"|{'---|' * (len(COLUMNS) + 1)}")
        for name, tally in [*runs, ("in all", _sum([tally for _, tally in runs]))]:
            shown = tally | {"faults": sum(tally["faults"].values())}
            write(f"| {name} | {' | '.join(f'{shown[c]:,}' for c in COLUMNS)} |")
        kinds = _sum([tally for _, tally in runs])["faults"]
        write("\n" + ", ".join(f"{n:,} {kind}" for kind, n in kinds.items()))
    others: dict[str, list[dict]] = {}
    for name, tally in sorted(told, key=lambda one: one[0]):
        if "requests" not in tally:
            others.setdefault(name.partition("[")[0], []).append(tally)
    for name, tallies in others.items():
        counts: Counter[str] = Counter()
        for tally in tallies:
            counts.update(tally)
        cases = f"{len(tallies)} case{'s' if len(tallies) > 1 else ''}"
        write(f"\n{name}, {cases}: " + ", ".join(f"{n:,} {what}" for what, n in counts.items()))


def _sum(tallies: list[dict]) -> dict:
    faults: Counter[str] = Counter()
    for tally in tallies:
        faults.update(tally["faults"])
    return {c: sum(t[c] for t in tallies) for c in COLUMNS if c != "faults"} | {"faults": dict(faults)}
