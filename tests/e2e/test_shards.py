"""`--shard`, `store merge` and `--no-ask`: a run in four parts is the run of one process."""

import json
import shutil
from pathlib import Path

import pytest

import bowstring as package
from bowstring.benchmarks import registry
from bowstring.models.embedder import Embedder
from bowstring.models.local import LocalModel
from bowstring.runs.shards import number_of
from tests.e2e.test_eval import metrics, records
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.support.command import bowstring
from tests.support.embedding import write_contriever
from tests.support.server import Server
from tests.support.tiny import write_model

NAMES = ("1/4", "2/4", "3/4", "4/4")


class Parts:
    """The commands of one evaluation, whole or in parts, each part with a store of its own."""

    def __init__(self, server: Server, folder: Path, *more: str, benchmark: str = "hicupid"):
        self.folder, self.server = folder, server
        judge = ["--judge", server.model("judge")]
        self.command = ["eval", benchmark, "--model", server.model("m"), *judge, *more]

    def store(self, name):
        return self.folder / "stores" / name.replace("/", "-of-") / "responses.sqlite"

    def arguments(self, name, *more):
        return [*self.command, "--shard", name, "--store", str(self.store(name)), *more]

    def part(self, name, *more):
        return bowstring(*self.arguments(name, *more), cwd=self.folder)

    def all_parts(self, *more):
        for name in NAMES:
            ran = self.part(name, *more)
            assert ran.code == 0, ran.err

    def merge(self, names=NAMES):
        return bowstring("store", "merge", *(self.store(name) for name in names), cwd=self.folder)

    def merged(self, *more, env=None):
        """The run from the stored responses, without a key."""
        return bowstring(*self.command, "--no-ask", *more, cwd=self.folder, env=env)

    def whole(self, *more):
        """The run of one process, with a store of its own."""
        ran = bowstring(*self.command, "--out", self.folder / "whole" / "r", *more, cwd=self.folder)
        assert ran.code == 0, ran.err
        return self.folder / "whole" / "r"

    def folders(self):
        return sorted(path.parent for path in (self.folder / "runs").glob("*/run.json"))

    def run(self):
        (found,) = [path for path in self.folders() if "-shard-" not in path.name]
        return found

    def run_of(self, name):
        end = f"-shard-{name.replace('/', '-of-')}"
        (found,) = [path for path in self.folders() if path.name.endswith(end)]
        return found


@pytest.mark.parametrize(
    ("benchmark", "more"),
    [
        ("hicupid", ()),
        ("hicupid", ("--history", "summary", "--answers", "2", "--judgements", "2", "--temperature", "0.5")),
        ("hicupid", ("--users", "4", "--seed", "3", "--verdicts", "text")),
        ("hicupid", ("--limit", "23", "--history", "bm25/dialogue/1")),
        ("cupid", ("--matcher", "MATCHER", "--analyse", "--history", "summary")),
    ],
    ids=["plain", "repeats", "users", "limit", "personas"],
)
def test_four_shards_merged_are_the_run_of_one_process(benchmark, more, tmp_path):
    with Server(**({"answer": cupid_answer} if benchmark == "cupid" else {})) as server:
        more = [server.model("matcher") if word == "MATCHER" else word for word in more]
        parts = Parts(server, tmp_path, *more, benchmark=benchmark)
        parts.all_parts()
        in_parts = len(server.requests)
        assert parts.merge().code == 0
        merged = parts.merged()
        assert merged.code == 0, merged.err
        assert len(server.requests) == in_parts, "nothing was asked"
        whole = parts.whole()
    assert (parts.run() / "records.jsonl").read_bytes() == (whole / "records.jsonl").read_bytes()
    found, expected = metrics(parts.run()), metrics(whole)
    for one in (found, expected):
        del one["usage"], one["versions"]
    assert found == expected, "also notes, counts of what was cut, and what the scores are of"
    keys = [record["key"] for name in NAMES for record in records(parts.run_of(name))]
    assert sorted(keys) == sorted(record["key"] for record in records(whole)), "every record is in one part"
    cluster_of = registry.get(benchmark).cluster_of
    users = [set(map(cluster_of, records(parts.run_of(name)))) for name in NAMES]
    assert sum(map(len, users)) == len(set().union(*users)), "every user is in one part"


def test_a_hole_is_refused_with_the_command_that_fills_it(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path)
        parts.all_parts("--limit", "12")
        parts.merge()
        assert parts.merged("--limit", "12").code == 0
        before = {path.name: path.read_bytes() for path in parts.run().iterdir() if path.is_file()}
        parts.part("1/4")
        parts.merge()
        asked = len(server.requests)
        ran = parts.merged()
        assert len(server.requests) == asked
    whole = [
        item for split in ("test_1", "test_2") for item in package.load_hicupid("mini", splits=[split]).questions()
    ]
    lacking = list(dict.fromkeys(str(q.user_id) for q in whole[12:] if number_of(str(q.user_id), 4) != 1))
    n = sum(str(q.user_id) in lacking for q in whole[12:])
    assert ran.code == 1
    (line,) = ran.err.splitlines()[-1:]
    shards = sorted({number_of(user, 4) for user in lacking})
    assert f"{n} requests are not in runs/responses.sqlite (model {n})" in line
    assert f"of the users {', '.join(lacking[:5])}" in line
    assert f"with {', '.join(f'--shard {k}/4' for k in shards)} in place of --no-ask" in line
    assert {path.name: path.read_bytes() for path in parts.run().iterdir() if path.is_file()} == before


def test_a_missing_judgement_is_a_hole_too_and_no_run_is_written(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path)
        parts.all_parts()
        parts.merge()
        dropped = ["store", "drop", "--role", "judge", "--store", "runs/responses.sqlite"]
        assert bowstring(*dropped, cwd=tmp_path).code == 0
        ran = parts.merged()
        assert ran.code == 1
        assert "60 requests are not in runs/responses.sqlite (judge 60)" in ran.err
        assert all("-shard-" in path.name for path in parts.folders())
        of_part = parts.part("2/4", "--no-ask", "--store", "runs/responses.sqlite")
        assert of_part.code == 1
        assert "the same command without --no-ask asks for them" in of_part.err
        assert "--shard" not in of_part.err


def test_without_a_store_no_ask_says_how_to_make_one(tmp_path):
    with Server() as server:
        ran = Parts(server, tmp_path).merged()
    assert ran.code == 2
    assert "there is no store runs/responses.sqlite" in ran.err
    assert not (tmp_path / "runs" / "responses.sqlite").exists()


def test_no_ask_needs_no_key(tmp_path, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with Server() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        command = ["eval", "hicupid", "--model", "openai/gpt-4o-mini", "--judge", "openai/gpt-4o", "--limit", "4"]
        assert bowstring(*command, cwd=tmp_path, env={"OPENAI_API_KEY": "sk-1"}).code == 0
        asked = len(server.requests)
        assert "needs OPENAI_API_KEY" in bowstring(*command, cwd=tmp_path).err
        ran = bowstring(*command, "--no-ask", cwd=tmp_path)
        assert ran.code == 0, ran.err
        assert len(server.requests) == asked


def test_no_ask_loads_no_weights_and_needs_no_gpu(tmp_path, monkeypatch):
    write_model(tmp_path / "tiny", long=True)
    command = ["eval", "hicupid", "--model", "hf/tiny", "--history", "none", "--limit", "3", "--max-tokens", "4"]
    asked = bowstring(*command, cwd=tmp_path)
    assert asked.code == 0, asked.err
    before = next((tmp_path / "runs").glob("hicupid-*/records.jsonl")).read_bytes()

    def load(model):
        raise AssertionError("weights were loaded")

    monkeypatch.setattr(LocalModel, "_load", load)
    # Where it was asked there is no GPU, and here there is one.
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    ran = bowstring(*command, "--no-ask", cwd=tmp_path)
    assert ran.code == 0, ran.err
    (after,) = (tmp_path / "runs").glob("hicupid-*/records.jsonl")
    assert after.read_bytes() == before


def test_dense_search_embeds_nothing_again(tmp_path, monkeypatch):
    write_contriever(tmp_path / "contriever")
    with Server() as server:
        parts = Parts(server, tmp_path, "--history", "dense/utterance/2", "--retriever", "contriever")
        parts.all_parts()
        parts.merge()

        def embed(*texts, **kinds):
            raise AssertionError("a text was embedded again")

        monkeypatch.setattr(Embedder, "embed", embed)
        merged = parts.merged()
        assert merged.code == 0, merged.err


def test_a_sweep_in_parts(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path, "--history", "full", "--history", "gold", "--type", "schedule")
        parts.all_parts()
        parts.merge()
        asked = len(server.requests)
        ran = parts.merged("--json")
        assert ran.code == 0, ran.err
        assert len(server.requests) == asked
        other = parts.part("1/4", "--out", "s")
        assert other.code == 0, other.err
        wrong = parts.part("2/4", "--out", "s")
    sweeps = sorted(path.parent.name for path in (tmp_path / "runs").glob("*/sweep.json"))
    assert len(sweeps) == 5
    of_part = json.loads((tmp_path / "runs" / sweeps[1] / "sweep.json").read_text())
    assert of_part["shard"] == "1/4"
    assert {point["about"]["shard"] for point in of_part["points"].values()} == {"1/4"}
    assert "shard" not in json.loads(ran.out)
    assert {point["n"] for point in json.loads(ran.out)["points"].values()} == {12}
    assert wrong.code == 2
    assert "contains a sweep of another model, judge, data set or shard; choose another --out" in wrong.err


def test_a_part_says_that_it_is_one_wherever_it_is_shown(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path)
        ran = parts.part("2/4")
        parts.all_parts()
        whole = parts.whole()
    about = metrics(parts.run_of("2/4"))["about"]
    n, of = about["n"], about["of"]
    assert (about["shard"], about["whole"]) == ("2/4", False)
    assert json.loads((parts.run_of("2/4") / "run.json").read_text())["shard"] == "2/4"
    part = "This is a part: shard 2 of 4, by user."
    assert f"{n} of {of} questions, {about['clusters_n']} of {about['clusters_of']} users · shard 2/4" in " ".join(
        ran.out.split()
    )
    assert part in " ".join(ran.out.split())
    assert part in (parts.run_of("2/4") / "report.html").read_text(encoding="utf-8")
    compared = bowstring("compare", whole, parts.run_of("2/4"), cwd=tmp_path)
    assert compared.code == 0, compared.err
    assert part in " ".join(compared.out.split())
    assert f"compared on the {n} items that all runs have" in " ".join(compared.out.split())
    apart = bowstring("compare", parts.run_of("2/4"), parts.run_of("3/4"), cwd=tmp_path)
    assert apart.code == 2
    assert "have no item in common" in apart.err


def test_a_folder_holds_one_shard_or_the_whole(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path, "--out", "r")
        assert parts.part("1/4").code == 0
        wrong = parts.part("2/4")
        whole = parts.merged("--store", parts.store("1/4"))
        asked = len(server.requests)
        again = parts.part("1/4")
        assert again.code == 0
        assert len(server.requests) == asked
    assert (wrong.code, whole.code) == (2, 2)
    assert "r contains shard 1/4 of this run; choose another --out" in wrong.err
    assert "r contains shard 1/4 of this run; choose another --out" in whole.err


def test_more_shards_than_users(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path, "--users", "1")
        parts.all_parts()
        sizes = [metrics(parts.run_of(name))["n"] for name in NAMES]
        assert sorted(sizes)[:3] == [0, 0, 0]
        assert parts.merge().code == 0, "an empty part has a store, too"
        again = parts.merge()
        assert "0 responses were added" in again.out, "merged twice"
        merged = parts.merged()
        assert merged.code == 0, merged.err
    assert metrics(parts.run())["n"] == sum(sizes) == 10


def test_a_shard_with_other_settings_leaves_holes(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path)
        for name in NAMES:
            parts.part(name, *(["--seed", "1"] if name == "2/4" else []))
        parts.merge()
        ran = parts.merged()
        assert ran.code == 1
        assert "--shard 2/4 in place of --no-ask" in ran.err


def test_a_dry_run_shows_the_cost_of_a_shard(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path)
        plans = [json.loads(parts.part(name, "--dry-run", "--json").out) for name in NAMES]
        shown = parts.part("1/4", "--dry-run")
        whole = json.loads(bowstring(*parts.command, "--dry-run", "--json", cwd=tmp_path).out)
    assert sum(plan["items"] for plan in plans) == whole["items"] == 60
    assert sum(plan["roles"]["model"]["requests"] for plan in plans) == whole["roles"]["model"]["requests"]
    assert [plan["shard"] for plan in plans] == list(NAMES)
    assert f"Shard 1/4: {plans[0]['items']} items" in shown.out


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        (("--shard", "0/4"), "expected I/N with I from 1 to N"),
        (("--shard", "5/4"), "expected I/N with I from 1 to N"),
        (("--shard", "1/4", "--against", "embedded"), "--shard: a race cannot be divided"),
        (("--no-ask", "--against", "embedded"), "--no-ask: a race asks until"),
        (("--no-ask", "--fresh"), "--no-ask sends no request; leave out --fresh"),
        (("--no-ask", "--batch"), "--no-ask sends no request; leave out --batch"),
    ],
)
def test_what_does_not_go_together_is_refused(more, reason, tmp_path):
    with Server() as server:
        ran = bowstring(*Parts(server, tmp_path).command, *more, cwd=tmp_path)
        assert server.requests == []
    assert ran.code == 2
    assert reason in ran.err
    assert not (tmp_path / "runs").exists()


def test_an_audit_in_parts(tmp_path):
    with Server() as server:
        parts = Parts(server, tmp_path)
        run = parts.whole()

        def audit(*more):
            command = ["audit", run, "--checks", "gold,general,no-history", "--sample", "30"]
            return bowstring(*command, *more, cwd=tmp_path)

        for name in NAMES:
            shutil.copy(run.parent / "responses.sqlite", tmp_path / f"{name[0]}.sqlite")
            ran = audit("--shard", name, "--store", f"{name[0]}.sqlite")
            assert ran.code == 0, ran.err
            assert f"This is a part: shard {name[0]} of 4" in " ".join(ran.out.split())
        assert not (run / "audit.json").exists(), "a part is not the audit"
        bowstring("store", "merge", *(f"{name[0]}.sqlite" for name in NAMES[:3]), "--store", "all.sqlite", cwd=tmp_path)
        asked = len(server.requests)
        hole = audit("--no-ask", "--store", "all.sqlite")
        assert (hole.code, (run / "audit.json").exists()) == (1, False)
        assert "--shard 4/4 in place of --no-ask" in hole.err
        bowstring("store", "merge", "4.sqlite", "--store", "all.sqlite", cwd=tmp_path)
        assert audit("--no-ask", "--store", "all.sqlite").code == 0
        assert len(server.requests) == asked
        merged = json.loads((run / "audit.json").read_text())
        assert audit("--store", "new.sqlite").code == 0
        assert len(server.requests) > asked
        alone = json.loads((run / "audit.json").read_text())
    for one in (merged, alone):
        del one["usage"]
    assert merged == alone
