"""A shard that is killed and started again."""

import signal

from tests.e2e.test_shards import NAMES, Parts
from tests.support.processes import LIMIT, start, wait_for_requests
from tests.support.server import Server


def test_after_a_shard_was_killed_and_repeated_the_merged_run_is_that_of_one_process(tmp_path):
    with Server(delay=lambda: 0.1) as server:
        parts = Parts(server, tmp_path)
        process = start(*parts.arguments("2/4", "--concurrency", "2"), cwd=tmp_path)
        wait_for_requests(server, 8, process)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=LIMIT)
        server.delay = lambda: 0.0
        parts.all_parts()
        assert len(server.requests) <= 120 + 2 * 2, "only what was in flight was asked again"
        assert parts.merge(NAMES).code == 0
        asked = len(server.requests)
        merged = parts.merged()
        assert merged.code == 0, merged.err
        assert len(server.requests) == asked
        whole = parts.whole()
    assert (parts.run() / "records.jsonl").read_bytes() == (whole / "records.jsonl").read_bytes()
