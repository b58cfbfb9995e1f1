"""Audits by the command, for tests to look into."""

import json

from tests.support.command import bowstring


def audit(run, *arguments):
    """The JSON output of the command, and its numbers by name."""
    ran = bowstring("audit", run, *arguments, "--json")
    assert ran.code == 0, ran.err
    found = json.loads(ran.out)
    assert found == json.loads((run / "audit.json").read_text(encoding="utf-8"))
    return found | {"by": {one["name"]: one for one in found["findings"]}}


def at(server, judge):
    return "--judge", server.model(judge), "--model", server.model("m")
