"""A killed synthesis resumes."""

import random

import pytest

from tests.e2e.test_synth import cupid, hicupid
from tests.support.command import bowstring
from tests.support.processes import start, wait_for_requests
from tests.support.server import Server, random_delay
from tests.support.writer import Writer


def kill_and_go_on(args: list[str], server: Server, moments: int) -> None:
    rng = random.Random(5)
    for _ in range(moments):
        before = len(server.requests)
        process = start(*args)
        wait_for_requests(server, before + rng.randint(3, 25), process)
        process.kill()
        process.communicate()


@pytest.mark.parametrize("pipeline", [cupid, hicupid])
def test_a_killed_synthesis_goes_on_and_ends_with_the_same_bytes(tmp_path, pipeline):
    with Server(Writer().answer, delay=random_delay(0.0, 0.02)) as server:
        args = pipeline(server, tmp_path / "a" / "s")
        kill_and_go_on(args, server, 4)
        assert bowstring(*args).code == 0
        asked = len(server.requests)
        assert bowstring(*pipeline(server, tmp_path / "b" / "s")).code == 0
        whole = len(server.requests) - asked
    assert asked < whole + 4 * 17, "at most what was in flight is asked again"
    for path in sorted((tmp_path / "a" / "s").rglob("*.parquet")):
        assert path.read_bytes() == (tmp_path / "b" / "s" / path.relative_to(tmp_path / "a" / "s")).read_bytes()
