"""Ids and names that look like paths, and links in folders: nothing is written outside the named folders.

Every command that writes is run on sets and runs with such names. The whole tree around its folders is listed before
and after; whatever is new lies in the folder that was named.
"""

import contextlib
import hashlib
import io
import json
import shutil
from contextlib import redirect_stderr, redirect_stdout
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import bowstring as package
from bowstring.benchmarks.baselines import gold_answers, gold_preferences
from bowstring.benchmarks.cupid.data import to_row
from bowstring.benchmarks.export import export
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.cli import main
from bowstring.errors import BowstringError
from bowstring.web.annotating.opening import open_study
from tests.support.command import Ran
from tests.support.run_files import without_sums
from tests.support.server import Server
from tests.support.writer import Writer

ODD = {
    "up": "../../x",
    "inside": "a/b",
    "absolute": "/tmp/x",
    "long": "x" * 5000,
    "device": "CON",
    "device with suffix": "nul.txt",
    "empty": "",
    "newline": "a\nb",
    "nul": "a\x00b",
    "dots": "a...",
    "two dots": "..",
    "backslashes": "..\\..\\x",
    "option": "--help",
    "half": "\ud800",
    "stream": "a:b",
}
WRITTEN = [name for name in ODD.values() if name != "\ud800"]  # which no file holds
odd = pytest.mark.parametrize("name", ODD.values(), ids=ODD)


def tree(root: Path) -> dict[str, str]:
    """Every file below a folder, with a hash of its content."""
    return {
        str(p.relative_to(root)): hashlib.sha256(p.read_bytes()).hexdigest() for p in root.rglob("*") if p.is_file()
    }


def here(*arguments: str | Path, cwd: Path = Path()) -> Ran:
    """A command in this process: there are hundreds of them."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(cwd), redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as ended:
        main(list(map(str, arguments)))
    return Ran(int(ended.value.code or 0), out.getvalue(), err.getvalue())


class Around:
    """A working folder for commands, deep enough that ../../ stays inside the watched folder."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.inside = root / "a" / "b" / "work"
        self.inside.mkdir(parents=True)

    def run(self, *arguments: str | Path, writes: tuple[str, ...] = (), code: tuple[int, ...] = (0, 1, 2)) -> Ran:
        """Run a command, and check that all new files are inside what it `writes`."""
        before = tree(self.root)
        ran = here(*arguments, cwd=self.inside)
        assert "Traceback" not in ran.err, ran.err
        assert ran.code in code, ran.err
        allowed = tuple(f"a/b/work/{place}" for place in writes)
        after = tree(self.root)
        new = [path for path, found in after.items() if before.get(path) != found]
        assert [path for path in new if not path.startswith(allowed)] == []
        assert set(before) <= set(after), "nothing is gone"
        assert all(len(part.encode()) < 200 for path in new for part in Path(path).parts)
        return ran


@pytest.fixture
def around(tmp_path) -> Around:
    return Around(tmp_path)


def cupid_set(folder: Path) -> None:
    """Three instances of a persona for each of the names; those that are blank are refused when they are read."""
    folder.mkdir()
    for n, name in enumerate(filter(str.strip, WRITTEN)):
        for instance in load_cupid("mini").instances[:3]:
            row = to_row(instance) | {"persona_id": name}
            (folder / f"{n}-{instance.type}.json").write_bytes(json.dumps(row).encode())


def hicupid_set(folder: Path) -> None:
    """The mini set, in which what users are and like, which are groups in reports, is called so."""
    export(load_hicupid("mini"), folder)
    names = cycle(filter(str.strip, WRITTEN))
    for path in (folder / "qa").glob("*.parquet"):
        table = pq.read_table(path)
        columns = {c: table[c].to_pylist() for c in table.column_names}
        for column in ("category", "entity", "relation", "age", "occupation", "event"):
            if column in columns:
                columns[column] = [value and next(names) for value in columns[column]]
        pq.write_table(pa.table(columns, schema=table.schema), path)


def test_personas(around):
    cupid_set(around.inside / "set")
    assert around.run("data", "validate", "set").code == 0
    asked = ("--model", "python:json:dumps", "--judge", "builtin")
    assert around.run("eval", "cupid", "--data", "set", *asked, "--out", "runs/r", writes=("runs/",)).code in (0, 1)
    around.run("data", "export", "set", "out", "--format", "json", writes=("out/",), code=(0,))
    again = load_cupid(str(around.inside / "out"))
    assert set(again.persona_ids) == set(filter(str.strip, WRITTEN))
    around.run("report", "runs/r", "--figures", "svg", "--tables", "csv", writes=("runs/r/",), code=(0,))
    around.run("data", "export-judgements", "runs/r", "--out", "judged", writes=("judged/",))
    around.run("audit", "runs/r", "--json", writes=("runs/",))


def test_what_hicupids_users_are_and_like(around):
    hicupid_set(around.inside / "set")
    gold = ("--model", "python:json:dumps", "--judge", "builtin")
    for out in ("runs/r", "runs/s"):
        seed = ("--seed", str("rs".index(out[-1])))
        ran = around.run("eval", "hicupid", "--data", "set", *gold, *seed, "--out", out, writes=("runs/",))
        assert ran.code == 0, ran.err
    around.run("data", "export", "set", "out", writes=("out/",), code=(0,))
    tables = ("--tables", "csv", "--tables", "md")
    around.run("report", "runs/r", "--figures", "svg", *tables, writes=("runs/r/",), code=(0,))
    around.run("compare", "runs/r", "runs/s", "--out", "compare.html", writes=("compare.html",), code=(0,))
    around.run("data", "export-judgements", "runs/r", "--out", "judged", writes=("judged/",), code=(0, 2))


@odd
def test_names_of_models(around, name):
    """In the default name of a run or a set, and of the files beside it."""
    with Server() as server:
        given = f"openai/{name}@{server.url}"
        asked = ("--model", given, "--limit", "1")
        around.run("eval", "hicupid", *asked, writes=("runs/",))
        around.run("eval", "hicupid", *asked, "--history", "none", "--history", "gold", writes=("runs/",))
        server.answer = Writer().answer
        around.run("synth", "cupid", "--model", given, "--personas", "1", writes=("sets/",))


@odd
def test_names_of_annotators_and_criteria(around, name):
    gold = gold_answers(load_hicupid("mini").questions())
    package.evaluate("hicupid", model=gold, out=around.inside / "runs" / "r", limit=4)
    before = tree(around.root)
    try:
        open_study([around.inside / "runs" / "r"], annotators=f"{name},ben", criteria=name).close()
    except BowstringError:
        assert name in ("", "a\x00b", "\ud800")
        return
    new = set(tree(around.root)) - set(before)
    assert all(path.startswith("a/b/work/runs/annotations.sqlite") for path in new)
    around.run("annotate", "export", "runs", "--out", "people.jsonl", writes=("people.jsonl", "runs/annotations"))


@odd
def test_groups_of_a_run_that_is_somebody_elses(around, name):
    """Axes of metrics.json are names of tables."""
    instances = load_cupid("mini").instances
    out = around.inside / "runs" / "r"
    package.evaluate("cupid", model=gold_preferences(instances), out=out, limit=3, task="inference")
    without_sums(out)
    found = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    found["groups"] = {name: next(iter(found["groups"].values()))}
    (out / "metrics.json").write_bytes(json.dumps(found).encode())
    (out / "tables" / "by-..").mkdir(parents=True)  # where a path would find its way
    tables = ("--tables", "csv", "--tables", "md", "--tables", "tex")
    around.run("report", "runs/r", "--figures", "svg", *tables, writes=("runs/r/",))
    assert {p.parent.name for p in out.rglob("*.csv")} <= {"tables"}


@pytest.fixture
def outside(tmp_path) -> Path:
    """A folder that no command may touch, although links point to it."""
    folder = tmp_path / "outside"
    folder.mkdir()
    for name in ("file", "report.html"):
        (folder / name).write_text("precious")
    return folder


def linked(*links: Path, to: Path) -> None:
    for link in links:
        link.parent.mkdir(parents=True, exist_ok=True)
        link.unlink(missing_ok=True)
        link.symlink_to(to)


def assert_untouched(outside: Path) -> None:
    assert {p.name: p.read_text() for p in outside.iterdir()} == {"file": "precious", "report.html": "precious"}


def test_links_in_a_runs_folder_are_not_written_through(around, outside):
    gold = gold_answers(load_hicupid("mini").questions())
    run = around.inside / "runs" / "r"
    package.evaluate("hicupid", model=gold, out=run, limit=4)
    names = ("report.html", ".report.html.draft", "audit.json", ".audit.json.draft", "tables/scores.csv")
    linked(*(run / name for name in (*names, "figures/score.svg", "tables/.scores.csv.draft")), to=outside / "file")
    assert here("audit", run, "--judge", "builtin", "--checks", "length").code == 0
    assert here("report", run, "--figures", "svg", "--tables", "csv").code == 0
    assert not (run / "report.html").is_symlink()
    assert not (run / "tables" / "scores.csv").is_symlink()
    assert_untouched(outside)


@pytest.mark.parametrize("name", ["figures", "tables", "audit"])
def test_folders_that_are_links_are_not_written_into(around, outside, name):
    gold = gold_answers(load_hicupid("mini").questions())
    run = around.inside / "runs" / "r"
    package.evaluate("hicupid", model=gold, out=run, limit=4)
    linked(run / name, to=outside)
    if name == "audit":
        ran = here("audit", run, "--judge", "builtin", "--checks", "length")
    else:
        ran = here("report", run, "--figures", "svg", "--tables", "csv")
    assert ran.code == 2
    assert f"{name} is a symbolic link" in ran.err
    assert_untouched(outside)


def test_links_in_the_place_of_a_runs_own_files(around, outside):
    """A run that resumes in a folder: its lock, its drafts and its files."""
    out = around.inside / "runs" / "r"
    asked = ("eval", "hicupid", "--model", "python:json:dumps", "--limit", "2", "--out", out)
    linked(*(out / name for name in ("records.jsonl", ".records.jsonl.draft", ".run.json.draft")), to=outside / "file")
    assert here(*asked).code in (0, 1)
    assert (out / "records.jsonl").is_file()
    assert not (out / "records.jsonl").is_symlink()
    linked(out / ".lock", to=outside / "file")
    ran = here(*asked)
    assert ran.code == 2
    assert ".lock is a symbolic link" in ran.err
    assert_untouched(outside)


def test_links_where_sets_and_prompts_are_written(around, outside):
    work = around.inside
    linked(work / "set" / "qa", to=outside)
    ran = here("data", "export", "mini/hicupid", work / "set", "--overwrite")
    assert ran.code == 2
    linked(work / "cupid" / "x.json", to=outside / "file")
    assert here("data", "export", "mini/cupid", work / "cupid", "--overwrite").code == 0
    linked(work / "judged.parquet", to=outside / "new")
    package.evaluate("hicupid", model=lambda messages: "x", out=work / "runs" / "r", limit=3)
    assert here("data", "export-judgements", work / "runs" / "r", "--out", work / "judged.parquet").code == 2
    checkout = work / "checkout" / "prompts" / "evaluation"
    checkout.mkdir(parents=True)
    template = json.dumps({"user_prompt": "{interaction_log} {curr_request}"})
    (checkout / "preference_inferrer.yaml").write_text(template)
    linked(work / "prompts" / "cupid" / "evaluation" / "preference_inferrer.yaml", to=outside / "file")
    imported = ("prompts", "import", "cupid", work / "checkout", "--out", work / "prompts")
    assert here(*imported).code == 0
    shutil.rmtree(work / "prompts" / "cupid" / "evaluation")
    linked(work / "prompts" / "cupid" / "evaluation", to=outside)
    assert here(*imported).code == 2
    assert_untouched(outside)


def test_links_in_the_place_of_stores_and_studies(around, outside):
    runs = around.inside / "runs"
    linked(runs / "responses.sqlite.seal", to=outside / "file")
    asked = ("eval", "hicupid", "--model", "python:json:dumps", "--limit", "2", "--out", runs / "r")
    ran = here(*asked)
    assert ran.code == 1
    assert "cannot be used as a store" in ran.err
    (runs / "responses.sqlite.seal").unlink()
    assert here(*asked).code == 0
    linked(runs / "annotations.sqlite", to=outside / "new")
    assert here("annotate", runs / "r", "--port", "0").code == 2
    assert_untouched(outside)


def test_prompts_that_are_links_to_elsewhere_are_not_sent(around, tmp_path):
    """Prompts are sent to a server, so no file from elsewhere on the disk may become one."""
    secret = tmp_path / "secret.yaml"
    secret.write_text("system_prompt: the secret of this disk\n")
    linked(around.inside / "prompts" / "hicupid" / "ask.yaml", to=secret)
    with Server() as server:
        asked = ("--model", server.model("m"), "--limit", "1", "--out", around.inside / "r")
        ran = here("eval", "hicupid", *asked, "--prompts", around.inside / "prompts")
        assert ran.code == 2
        assert "ask.yaml is a link that leads out of" in ran.err
        assert server.requests == []
    checkout = around.inside / "checkout" / "prompts" / "evaluation"
    linked(checkout / "preference_inferrer.yaml", to=secret)
    ran = here("prompts", "import", "cupid", around.inside / "checkout", "--out", around.inside / "out")
    assert ran.code == 2
    assert "leads out of" in ran.err
    inside = around.inside / "prompts" / "hicupid"
    (inside / "mine.yaml").write_text("system_prompt: Answer.\n")
    linked(inside / "ask.yaml", to=inside / "mine.yaml")
    with Server() as server:
        asked = ("--model", server.model("m"), "--limit", "1", "--out", around.inside / "r")
        assert here("eval", "hicupid", *asked, "--prompts", around.inside / "prompts").code == 0
