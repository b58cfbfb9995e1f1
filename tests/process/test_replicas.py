"""Two servers of one model, one of them killed and started again on its port while a run is asking."""

import json
from collections import Counter

from tests.e2e.test_eval import records
from tests.support.command import bowstring
from tests.support.processes import LIMIT, start
from tests.support.replicas import ReplicaProcess, model_of
from tests.support.sets import write_hicupid

CONCURRENCY = 4


def test_a_killed_server_hands_its_trunks_over_and_gets_them_back(tmp_path):
    folder = tmp_path / "r"
    # So many users that each server has enough, whatever its port is.
    data = write_hicupid(tmp_path / "set", users=60, dimensions=2, turns=2, schedules=1, profile_questions=1)
    command = ["eval", "hicupid", "--judge", "builtin", "--served-as", "m", "--concurrency", str(CONCURRENCY)]
    command += ["--data", str(data), "--answers", "5", "--temperature", "0.5"]
    servers = [ReplicaProcess(tmp_path / name, wait=0.15) for name in "ab"]
    killed, other = servers
    try:
        process = start(*command, "--model", model_of(servers), "--out", folder)
        killed.wait_for(CONCURRENCY * 3)
        killed.kill()
        before, at_kill = len(killed.asked()), len(other.asked())
        other.wait_for(at_kill + CONCURRENCY * 3)
        killed.start()
        killed.wait_for(before + 1)
        _, err = process.communicate(timeout=LIMIT)
        assert process.returncode == 0, err
        asked = Counter([*killed.asked(), *other.asked()])
    finally:
        for server in servers:
            server.kill()

    found = records(folder)
    items = len(found)
    assert items > 60
    assert not any(record.get("failure") for record in found)
    assert sum(asked.values()) - items <= CONCURRENCY, "only what was in flight is asked again"
    usage = json.loads((folder / "metrics.json").read_text())["usage"]["model"]
    assert usage["requests"] == items
    of_killed, of_other = (usage["servers"][server.url] for server in servers)
    assert of_killed["requests"] + of_other["requests"] == items
    assert (of_killed["outages"], of_other["outages"]) == (1, 0)
    assert f"{killed.url} is back." in err
    assert len(killed.asked()) > before, "its trunks returned to it"

    # The answers do not depend on where they came from: one server alone gives the same, and all is in the store.
    ran = bowstring(*command, "--model", model_of(servers[::-1]), "--out", folder)
    assert ran.code == 0, ran.err
    assert records(folder) == found
