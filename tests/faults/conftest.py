"""Faults: short in `make test`, long in `make test-faults` (BOWSTRING_FAULTS=long). The tally stands at the end."""

import os

import pytest

LONG = os.environ.get("BOWSTRING_FAULTS") == "long"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A table of what was done and what it did, from all tests that tell, whichever process they ran in."""
    reports = [r for r in terminalreporter.stats.get("passed", []) if r.when == "call"]
    told = [
        (r.nodeid.rpartition("::")[2], tally) for r in reports for name, tally in r.user_properties if name == "tally"
    ]
    if not told:
        return
    terminalreporter.section("faults")
    for name, tally in sorted(told):
        terminalreporter.write_line(f"{name}: {tally}")
