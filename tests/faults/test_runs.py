"""Whole evaluations and syntheses under faults: nothing committed is lost or asked twice, and the numbers are right.

    make test-faults

What is right is what the same command comes to when nothing goes wrong but the refusals, which are answers.
"""

import hashlib
import json
import random
import re
import resource
import shutil
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from bowstring.benchmarks.loading import load_cupid
from bowstring.errors import BowstringError
from bowstring.runs.folder import read_metrics, read_records, read_run
from bowstring.runs.store import Store
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.faults.conftest import LONG
from tests.faults.oracle import Trial, committed
from tests.faults.proxy import LASTING, Proxy
from tests.faults.test_store_damage import damage
from tests.support.processes import LIMIT
from tests.support.server import Server, digest_answer, random_delay
from tests.support.writer import Writer

SEEDS = range(2) if LONG else range(1)
# A server that says nothing for 30 s is given up before it speaks; in the short version both are shorter.
SILENCE, TIMEOUT = (30.0, "20") if LONG else (4.0, "2")


@dataclass(frozen=True)
class Command:
    """A command, and the part of its outcome that must not depend on faults."""

    words: tuple[str, ...]
    answer: Callable[[], Callable[..., str]]
    outcome: Callable[[Path], object]

    def arguments(self, proxy: Proxy, out: Path, *more: str) -> list[str]:
        roles = ["--model", proxy.model("m"), "--judge", proxy.model("judge")]
        return [*self.words, *roles, "--out", str(out), "--timeout", TIMEOUT, "--attempts", "3", *more]


def of_run(out: Path) -> object:
    found = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    assert found["complete"]
    numbers = {name: value for name, value in found.items() if name not in ("usage", "notes")}
    assert json.loads((out / "run.json").read_text())["status"] == "complete"
    return (out / "records.jsonl").read_bytes(), numbers


def of_set(out: Path) -> object:
    instances = load_cupid(str(out)).instances
    assert not any("I cannot help" in json.dumps(repr(i)) for i in instances), "a refusal is no part of a set"
    # Every trial has its own port.
    files = [
        re.sub(r"(http://127\.0\.0\.1):\d+", r"\1", (out / name).read_text()) for name in ("made.json", "quality.json")
    ]
    return repr(instances), *map(json.loads, files)


def own_answer(messages, body) -> str:
    """A different answer for every request."""
    mark = hashlib.sha256(json.dumps(messages).encode()).hexdigest()[:8] if body["model"] == "m" else ""
    return f"{cupid_answer(messages, body)} {mark}".strip()


SERVED = ("--served-as", "m", "--served-as", "judge=judge")  # the same models at every port
COMMANDS = {
    "eval hicupid": Command(("eval", "hicupid", *SERVED), lambda: digest_answer, of_run),
    "eval cupid": Command(("eval", "cupid", *SERVED), lambda: own_answer, of_run),
    "synth cupid": Command(("synth", "cupid", "--personas", "3" if LONG else "2"), lambda: Writer().answer, of_set),
}
seeded = pytest.mark.parametrize("seed", SEEDS)


@pytest.fixture(scope="module")
def right(tmp_path_factory) -> Callable[[str, int], object]:
    """The outcome of a command without faults, except refusals."""

    @cache
    def outcome(name: str, seed: int) -> object:
        command, out = COMMANDS[name], tmp_path_factory.mktemp("right") / "r"
        with Server(command.answer()) as server, Proxy(server, seed=seed, lasting_only=True) as proxy:
            Trial(proxy, out.parent / "responses.sqlite").until_done(command.arguments(proxy, out))
        return command.outcome(out)

    return outcome


@pytest.fixture
def faulty(right, tmp_path):
    """A command behind a proxy, and its folder; at the end its outcome is compared with the expected one."""

    @contextmanager
    def under_faults(name: str, seed: int = 0, share: float = 0.3) -> Iterator[tuple[Command, Trial, Path]]:
        command, out = COMMANDS[name], tmp_path / "runs" / "r"
        with (
            Server(command.answer(), delay=random_delay(0.01, 0.05, seed)) as server,
            Proxy(server, seed=seed, silence=SILENCE, share=share) as proxy,
        ):
            yield command, Trial(proxy, out.parent / "responses.sqlite"), out
        assert command.outcome(out) == right(name, seed)

    return under_faults


@seeded
@pytest.mark.parametrize("name", COMMANDS if LONG else ["eval hicupid", "synth cupid"])
def test_three_requests_in_ten_meet_a_fault(name, seed, faulty, record_property):
    with faulty(name, seed) as (command, trial, out):
        trial.until_done(command.arguments(trial.proxy, out))
        record_property("tally", tally := trial.check())
    assert sum(tally["faults"].values()) > 0.15 * tally["requests"]
    assert len(tally["faults"]) > 5, "most kinds have come"


@seeded
@pytest.mark.parametrize("name", COMMANDS if LONG else ["eval hicupid", "synth cupid"])
def test_killed_again_and_again_until_it_is_done(name, seed, faulty, record_property):
    rng = random.Random(seed)
    with faulty(name, seed, share=0.15) as (command, trial, out):
        arguments = command.arguments(trial.proxy, out, "--concurrency", "4")
        while True:
            process = trial.start(arguments)
            until = len(trial.proxy.events) + rng.randint(0, 25 if LONG else 50)
            while process.poll() is None and len(trial.proxy.events) <= until:
                time.sleep(0.002)
            time.sleep(rng.uniform(0, 0.05))
            if process.poll() is None:
                process.kill()
                trial.kills += 1
            process.communicate(timeout=LIMIT)
            if process.returncode == 0:
                break
            assert trial.kills < 200, "it does not get on"
        record_property("tally", trial.check())
    assert trial.kills > 0


@seeded
@pytest.mark.parametrize("name", COMMANDS if LONG else ["eval hicupid"])
def test_two_processes_start_on_one_run(name, seed, faulty, record_property):
    with faulty(name, seed, share=0.1) as (command, trial, out):
        arguments = command.arguments(trial.proxy, out)
        both = [trial.start(arguments) for _ in range(2)]
        ended = [(p.communicate(timeout=LIMIT)[1], p.returncode) for p in both]
        # The second says so and stops; or it came when the first had ended, and found all there.
        refused = [err for err, code in ended if code and "is in use: process" in err]
        assert all(code in (0, 1) for _, code in ended), ended
        assert len(refused) < 2
        assert all("wait for it, or choose another --out" in err for err in refused)
        trial.until_done(arguments)
        record_property("tally", trial.check())


@pytest.mark.skipif(not LONG, reason="in make test-faults")
def test_two_runs_on_one_store_at_a_time(faulty, record_property):
    with faulty("eval hicupid") as (command, trial, out):
        both = [trial.start(command.arguments(trial.proxy, out.with_name(name))) for name in ("r", "s")]
        assert all(p.communicate(timeout=LIMIT) and p.returncode in (0, 1) for p in both)
        for name in ("r", "s"):
            trial.until_done(command.arguments(trial.proxy, out.with_name(name)))
        record_property("tally", trial.check())
        assert command.outcome(out) == command.outcome(out.with_name("s"))


def limited(size: int) -> dict[str, Callable[[], None]]:
    """Limit the file size: SQLite and Python get the same errors as from a full disk."""
    return {"preexec_fn": lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))}


@pytest.mark.parametrize("name", COMMANDS if LONG else ["eval hicupid"])
def test_no_file_can_grow(name, faulty, record_property):
    with faulty(name, share=0.05) as (command, trial, out):
        arguments = command.arguments(trial.proxy, out)
        codes = [trial.run(arguments, **limited(kib << 10))[0] for kib in ((1, 40, 80, 120, 160) if LONG else (100,))]
        assert any(codes), "the limits were too wide to prove anything"
        trial.until_done(arguments)
        record_property("tally", trial.check())


UNSHARED = ("unshare", "--mount", "--map-root-user")
SMALL_DISK = """
set -e
mkdir -p "$1" && mount -t tmpfs -o size="$2" tmpfs "$1"
shift 2
"$@" 2> err && code=0 || code=$?
echo $code > code
mount -o remount,size=200m tmpfs "$(cat where)"
cp -r "$(cat where)"/. saved
"""


def needs_mounts() -> None:
    if not shutil.which("unshare") or subprocess.run([*UNSHARED, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system lets nobody but root mount a small disk")


@pytest.mark.parametrize("kib", (60, 200, 400, 700) if LONG else (200,))
def test_the_disk_is_full(kib, faulty, tmp_path, record_property):
    needs_mounts()
    with faulty("eval hicupid", share=0.05) as (command, trial, out):
        trial.proxy.process += 1
        trial.processes += 1
        (tmp_path / "where").write_text(str(out.parent))
        program = [Path(sys.executable).with_name("bowstring"), *command.arguments(trial.proxy, out)]
        subprocess.run(
            [*UNSHARED, "sh", "-c", SMALL_DISK, "sh", out.parent, f"{kib}k", *program],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
        said = (tmp_path / "err").read_text()
        assert (tmp_path / "code").read_text() == "1\n", said
        assert "Traceback" not in said
        assert "cannot be written" in said or "cannot be used as a store: database or disk is full" in said, said
        shutil.copytree(tmp_path / "saved", out.parent, dirs_exist_ok=True)
        before = committed(trial.store)
        trial.until_done(command.arguments(trial.proxy, out))
        assert before.items() <= committed(trial.store).items()
        record_property("tally", trial.check())


ONLY_TO_READ = """
set -e
mount --bind "$1" "$1" && mount -o remount,bind,ro "$1"
shift
exec "$@"
"""


def test_a_plan_is_made_where_nothing_can_be_written(faulty, tmp_path):
    """A closed store works on a read-only disk; for a store with a log, the error says what to do."""
    needs_mounts()
    with faulty("eval hicupid", share=0) as (command, trial, out):
        trial.until_done(command.arguments(trial.proxy, out))
        program = Path(sys.executable).with_name("bowstring")

        def plan() -> subprocess.CompletedProcess[str]:
            words = [program, *command.arguments(trial.proxy, out, "--dry-run", "--json")]
            mounted = [*UNSHARED, "sh", "-c", ONLY_TO_READ, "sh", out.parent, *words]
            return subprocess.run(mounted, cwd=tmp_path, capture_output=True, text=True, check=False)

        done = plan()
        assert done.returncode == 0, done.stderr
        roles = json.loads(done.stdout)["roles"].values()
        assert all(role["stored"] and not role["requests"] for role in roles), done.stdout

        log = trial.store.with_name(f"{trial.store.name}-wal")
        store = Store(trial.store)
        store._writer.execute("UPDATE written SET n = n")
        store._writer.commit()
        logged = log.read_bytes()
        store.close_now()
        log.write_bytes(logged)
        done = plan()
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.endswith(f"from a read-only folder: copy the store together with {log.name}\n"), done.stderr


JUMPING = """
    import random, time
    _real, _rng, _off = time.time, random.Random({seed}), [0.0]

    def _jumping():
        if _rng.random() < 0.1:
            _off[0] = _rng.choice((-30 * 365 * 86400, -3600, 0, 3600, 86400, 10 * 365 * 86400))
        return _real() + _off[0]

    time.time = _jumping
"""


@pytest.mark.parametrize("name", COMMANDS if LONG else ["eval hicupid"])
def test_the_clock_jumps(name, faulty, tmp_path, record_property):
    """The clock jumps by years at every tenth reading; a pause must not become years long."""
    (tmp_path / "sitecustomize.py").write_text(textwrap.dedent(JUMPING.format(seed=6)))
    path = ":".join([str(tmp_path), *[p for p in sys.path if p]])
    with faulty(name, share=0.3 if LONG else 0.15) as (command, trial, out):
        trial.until_done(command.arguments(trial.proxy, out), env={"PYTHONPATH": path})
        record_property("tally", trial.check())


@pytest.mark.parametrize("seed", range(12) if LONG else range(1))
def test_the_store_is_damaged_between_two_runs(seed, faulty, record_property):
    """One line, exit code 1; then the same command asks for what is missing, and for nothing else."""
    rng = random.Random(seed)
    with faulty("eval hicupid", share=0.05) as (command, trial, out):
        arguments = command.arguments(trial.proxy, out, "--concurrency", "4")
        process = trial.start(arguments)
        while process.poll() is None and len(trial.proxy.events) < 70:
            time.sleep(0.005)
        process.kill()
        process.communicate()
        trial.kills += 1
        before = committed(trial.store)
        damage(trial.store, rng)
        code, said = trial.run(arguments, look=False)
        if "was damaged" in said:
            assert code == 1
            assert "responses were saved; the damaged file was kept as responses.sqlite.damaged-1" in said
            # The log may hold a whole response of a transaction that the kill cut short: it is saved, too.
            answered = {e.asked for e in trial.proxy.events if e.fault in ("answered", *LASTING)}
            for asked, what in committed(trial.store).items():
                assert before.get(asked, what) == what, "nothing is changed"
                assert asked in answered, "nothing is invented"
            trial.after_damage()
        else:
            now = {e.asked for e in trial.proxy.events if e.process == trial.proxy.process}
            assert not now & before.keys(), "no harm was done, and nothing is asked again"
        trial.until_done(arguments)
        record_property("tally", trial.check())


def test_files_of_a_run_are_damaged(faulty, record_property):
    """Readers report the damage or read the original content; the same command rewrites the files without requests."""
    tally = {"files damaged": 0, "refused": 0, "harmless": 0, "read wrong": 0}
    with faulty("eval hicupid", share=0.05) as (command, trial, out):
        arguments = command.arguments(trial.proxy, out)
        trial.until_done(arguments)
        whole = {name: (out / name).read_bytes() for name in ("run.json", "metrics.json", "records.jsonl")}

        def read() -> object:
            return read_run(out).configuration, read_metrics(out), list(read_records(out))

        right = read()
        for seed in range(2000 if LONG else 200):
            rng = random.Random(seed)
            name = rng.choice(list(whole))
            content = bytearray(whole[name])
            if rng.random() < 0.3:
                del content[rng.randrange(len(content)) :]
            else:
                content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            (out / name).write_bytes(content)
            tally["files damaged"] += 1
            try:
                found = read()
            except BowstringError:
                tally["refused"] += 1
            else:
                tally["harmless" if found == right else "read wrong"] += 1
            if seed < (20 if LONG else 2):
                asked = len(trial.proxy.events)
                trial.until_done(arguments)
                assert len(trial.proxy.events) == asked, "all answers are in the store"
                assert read()[2] == right[2]
            for each, content in whole.items():
                (out / each).write_bytes(content)
        record_property("tally", tally)
    assert tally["read wrong"] == 0
    assert tally["refused"] > 0.9 * tally["files damaged"]
