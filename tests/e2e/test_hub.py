"""Data sets from a hub: fetched once, only what is needed, pinned, and usable offline afterwards."""

import json
import os
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.export import export
from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from tests.support.command import bowstring
from tests.support.hub import COMMIT, OLDER, Hub, files_below
from tests.support.server import Server


@pytest.fixture
def hub(hicupid_folder, tmp_path):
    hicupid = files_below(hicupid_folder)
    # As the hub stores it: shards, a card, and a large part that nobody asked for.
    hicupid["qa/test_1-00000-of-00001.parquet"] = hicupid.pop("qa/test_1.parquet")
    hicupid |= {"README.md": b"# card", "evaluation/train.parquet": b"x" * 1000}
    export(load_cupid("mini"), tmp_path / "c", users=2)
    export(load_cupid("mini"), tmp_path / "c1", users=1)
    cupid = {"data/test-00000-of-00001.parquet": (tmp_path / "c" / "test.parquet").read_bytes()}
    older = {"test.parquet": (tmp_path / "c1" / "test.parquet").read_bytes()}
    repositories = {"someone/HiCUPID": hicupid, "someone/CUPID": cupid, "someone/images": {"cat.png": b"meow"}}
    with Hub(repositories, {"someone/CUPID": older}) as server:
        yield server


def personas(ran) -> int:
    return json.loads(ran.out)["personas"]


def test_a_hub_id_is_fetched_once_and_then_works_without_the_hub(hub, tmp_path):
    env = hub.env(tmp_path / "home")
    first = bowstring("data", "info", "someone/HiCUPID", "--json", env=env)
    assert first.code == 0, first.err
    assert json.loads(first.out)["questions"]["test_1"]["persona"] == 18
    assert sorted(hub.sent) == [
        "dialogue/test.parquet",
        "dialogue/train.parquet",
        "qa/test_1-00000-of-00001.parquet",
        "qa/test_2.parquet",
    ], "the judge transcripts stay on the hub"
    second = bowstring("data", "info", "someone/HiCUPID", "--json", env=env)
    assert second.out == first.out
    assert len(hub.sent) == 4, "the second time comes from the cache"
    for offline in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
        away = bowstring("data", "info", "someone/HiCUPID", "--json", env=env | offline)
        assert away.code == 0, away.err
        assert away.out == first.out


def test_only_the_files_of_the_asked_splits_are_fetched(hub, tmp_path):
    env = hub.env(tmp_path / "home")
    ran = bowstring("data", "export", "someone/HiCUPID", tmp_path / "out", "--split", "test_2", env=env)
    assert ran.code == 0, ran.err
    assert sorted(hub.sent) == ["dialogue/test.parquet", "qa/test_2.parquet"]
    offline = env | {"HF_HUB_OFFLINE": "1"}
    for arguments in (("export", "someone/HiCUPID", tmp_path / "o2", "--split", "test_1"), ("info", "someone/HiCUPID")):
        missing = bowstring("data", *arguments, env=offline)
        assert missing.code == 1, "a part of a set is not taken for the whole"
        assert missing.err.endswith("is not in the cache, and the hub cannot be reached\n")
    again = bowstring("data", "export", "someone/HiCUPID", tmp_path / "o3", "--split", "test_2", env=offline)
    assert again.code == 0, again.err
    assert again.err.count("The hub was not reached") == 1
    with Server() as server:
        asked = ["eval", "hicupid", "--model", server.model("m"), "--judge", "builtin", "--limit", "1"]
        ran = bowstring(*asked, "--data", "someone/HiCUPID", "--split", "test_2", "--out", tmp_path / "r", env=offline)
    assert ran.code == 0, ran.err
    assert ran.err.count("The hub was not reached") == 1


def test_a_set_with_training_data_alone_has_the_split_train_everywhere(tmp_path):
    assert bowstring("data", "export", "mini/cupid", tmp_path / "set").code == 0
    train = {"data/train-00000-of-00001.parquet": (tmp_path / "set" / "test.parquet").read_bytes()}
    with Hub({"someone/CUPID": train}) as hub, Server() as server:
        env = hub.env(tmp_path / "home")
        described = bowstring("data", "info", "someone/CUPID", "--tokenizer", "none", env=env)
        asked = ["eval", "cupid", "--model", server.model("m"), "--judge", "builtin", "--limit", "1"]
        ran = bowstring(*asked, "--data", "someone/CUPID", "--out", tmp_path / "r", env=env)
    assert "split train" in ran.out
    (row,) = [line for line in described.out.splitlines() if line.split()[-1:] == ["12"]]
    assert row.split()[0] == "train"


def test_judge_transcripts_are_fetched_without_the_rest_of_their_set(hicupid_folder, tmp_path):
    question = load_hicupid("mini").questions()[0]
    (hicupid_folder / "evaluation").mkdir()
    pq.write_table(
        evaluation_table([Judgement(question, "Plums.", "Better Response: B", "A")]),
        hicupid_folder / "evaluation" / "train-00000-of-00001.parquet",
    )
    code = (
        "from bowstring.benchmarks.hicupid.reading import load_judgements;"
        " print(load_judgements('someone/HiCUPID')[0].answer_is)"
    )
    with Hub({"someone/HiCUPID": files_below(hicupid_folder)}) as hub:
        env = os.environ | hub.env(tmp_path / "home")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=env, check=True)
    assert done.stdout == "A\n"
    assert hub.sent == ["evaluation/train-00000-of-00001.parquet"]


def test_a_fetch_that_breaks_off_leaves_nothing_that_looks_whole(hub, tmp_path):
    env = hub.env(tmp_path / "home")
    hub.broken = {"qa/test_2.parquet"}
    for arguments in (("info", "someone/HiCUPID"), ("pull", "someone/HiCUPID", "--to", tmp_path / "here")):
        broken = bowstring("data", *arguments, env=env)
        assert broken.code == 1
        assert "someone/HiCUPID could not be fetched from the hub" in broken.err
    offline = bowstring("data", "info", "someone/HiCUPID", env=env | {"HF_HUB_OFFLINE": "1"})
    assert offline.code == 1
    assert not (tmp_path / "here").exists()
    hub.broken = set()
    assert bowstring("data", "info", "someone/HiCUPID", env=env).code == 0
    assert bowstring("data", "pull", "someone/HiCUPID", "--to", tmp_path / "here", env=env).code == 0
    assert bowstring("data", "validate", tmp_path / "here").code == 0
    full = bowstring("data", "pull", "someone/HiCUPID", "--to", tmp_path / "here", env=env)
    assert full.code == 2
    assert "is not an empty folder; choose another for --to" in full.err


def test_a_server_that_is_no_hub_is_said_in_one_line(tmp_path):
    class Portal(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"<html>Please log in to the hotel network</html>")

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Portal)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"HF_ENDPOINT": f"http://127.0.0.1:{server.server_address[1]}", "HF_HOME": str(tmp_path)}
    ran = bowstring("data", "info", "someone/CUPID", env=env)
    server.shutdown()
    server.server_close()
    assert ran.code == 1
    assert ran.err.startswith("someone/CUPID is not in the cache and the hub cannot be reached: ")
    assert len(ran.err.splitlines()) == 1


def test_a_revision_pins_what_is_read(hub, tmp_path):
    env = hub.env(tmp_path / "home")
    assert personas(bowstring("data", "info", "someone/CUPID", "--json", env=env)) == 2
    for revision in ("v0", OLDER):
        assert personas(bowstring("data", "info", "someone/CUPID", "--json", "--revision", revision, env=env)) == 1
    gone = bowstring("data", "info", "someone/CUPID", "--revision", "v7", env=env)
    assert gone.code == 2
    assert gone.err == "someone/CUPID on the hub has no revision 'v7'\n"
    offline = bowstring(
        "data", "info", "someone/CUPID", "--json", "--revision", "v0", env=env | {"HF_HUB_OFFLINE": "1"}
    )
    assert personas(offline) == 1


def test_pull_says_what_came_and_what_to_do_next(hub, tmp_path):
    env = hub.env(tmp_path / "home")
    ran = bowstring("data", "pull", "someone/CUPID", env=env)
    assert ran.out == f"someone/CUPID at commit {COMMIT}: test\nnext: bowstring data info someone/CUPID\n"
    into = bowstring("data", "pull", "someone/CUPID", "--to", tmp_path / "here", env=env)
    assert into.code == 0, into.err
    assert personas(bowstring("data", "info", tmp_path / "here", "--json")) == 2


@pytest.mark.parametrize(
    ("name", "code", "message"),
    [
        ("someone/nothing", 2, "someone/nothing is neither an existing file or folder nor a data set on the hub"),
        ("someone/images", 2, "someone/images on the hub contains no data set in a known layout"),
    ],
)
def test_what_is_not_there_is_said_in_one_line(hub, tmp_path, name, code, message):
    ran = bowstring("data", "info", name, env=hub.env(tmp_path / "home"))
    assert ran.code == code
    assert ran.err.startswith(message)
    assert len(ran.err.splitlines()) == 1


def test_an_unreachable_hub_and_an_empty_cache_are_said_in_one_line(tmp_path):
    env = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HOME": str(tmp_path)}
    ran = bowstring("data", "info", "someone/CUPID", env=env)
    assert ran.code == 1
    assert ran.err.startswith("someone/CUPID is not in the cache and the hub cannot be reached: ")
    assert len(ran.err.splitlines()) == 1
