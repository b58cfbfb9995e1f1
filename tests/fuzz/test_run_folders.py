"""Untrusted run folders: any content is read correctly or rejected with a one-line error."""

import json
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bowstring
from bowstring.benchmarks.of_run import open_run
from bowstring.runs.catalogue import Catalogue
from bowstring.runs.folder import read_metrics
from bowstring.studies.audit import prepare_audit
from bowstring.studies.compare import compare
from bowstring.studies.compare_page import write_compare_page
from bowstring.studies.judgements import export_judgements
from bowstring.studies.ratings import collect_ratings
from bowstring.studies.report import make_report
from bowstring.web.annotating.opening import open_study
from bowstring.web.listing import Listing, ListQuery
from tests.e2e.test_eval_cupid import answer as cupid_answer
from tests.support.anything import NO_DOCUMENTS, as_bytes, damaged, said_or_read
from tests.support.run_files import without_sums
from tests.support.server import Server, digest_answer
from tests.support.viewer import Viewer

some = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
PROGRESS = {"done": 1, "total": 3, "seconds": 1.0, "seconds_left": 2.0, "usage": {"model": {"requests": 1}}}
FILES = ["run.json", "metrics.json", "records.jsonl"]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> Path:
    """A run of each benchmark, another beside it, and a sweep; without the checksums that would detect every change."""
    folder = tmp_path_factory.mktemp("made")
    for benchmark, answer in (("hicupid", digest_answer), ("cupid", cupid_answer)):
        with Server(answer) as server:
            for name in ("one", "two"):
                asked = {"model": server.model(name), "judge": server.model("judge"), "limit": 3}
                more = {"both_orders": True} if benchmark == "hicupid" else {"analyse": True}
                bowstring.evaluate(benchmark, **asked, **more, out=folder / benchmark / name)
                without_sums(folder / benchmark / name)
            if benchmark == "hicupid":
                histories = {"history": ["none", "gold"]}
                bowstring.sweep(benchmark, **asked, **histories, out=folder / benchmark / "sweep")
    audited = bowstring.audit(folder / "hicupid" / "one", judge="builtin", checks=["length", "gold", "general"])
    assert audited
    return folder


@pytest.fixture
def runs(made, tmp_path) -> Path:
    shutil.copytree(made, tmp_path / "made")
    return tmp_path / "made"


# Whatever is made of a run, with another beside it, into a folder.
READERS = {
    "records": lambda run, beside, out: [*open_run(run).records()],
    "metrics": lambda run, beside, out: read_metrics(run),
    "report": lambda run, beside, out: make_report(run).write(out, figures=[], as_tables=["csv", "md", "tex"]),
    "compare": lambda run, beside, out: write_compare_page(compare([run, beside])),
    "agree": lambda run, beside, out: collect_ratings([str(run)]),
    "judgements": lambda run, beside, out: export_judgements([run], out / "judgements"),
    "audit": lambda run, beside, out: prepare_audit(run, judge="builtin", with_keys=False),
    "annotate": lambda run, beside, out: open_study([run], db=out / "study.sqlite").close(),
    "listing": lambda run, beside, out: Listing(Catalogue(run.parent)).listed(ListQuery()),
}


def changed(path: Path, draw) -> bytes:
    if draw(st.integers(0, 5)) == 0:
        return draw(NO_DOCUMENTS)
    before = path.read_text(encoding="utf-8")
    if path.suffix == ".jsonl":
        rows = [json.loads(line) for line in before.splitlines()]
        n = draw(st.integers(0, len(rows) - 1))
        rows[n] = damaged(rows[n], draw)
        return b"".join(as_bytes(row) + b"\n" for row in rows)
    return as_bytes(damaged(json.loads(before), draw))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("benchmark", ["hicupid", "cupid"])
@some
@given(data=st.data())
def test_a_run(runs, tmp_path, benchmark, name, data):
    folder = runs / benchmark / "one"
    before = (folder / name).read_bytes()
    content, read = changed(folder / name, data.draw), READERS[data.draw(st.sampled_from(sorted(READERS)))]
    out = Path(tempfile.mkdtemp(dir=tmp_path))
    (folder / name).write_bytes(content)
    try:
        said_or_read(lambda: read(folder, runs / benchmark / "two", out), folder)
    finally:
        (folder / name).write_bytes(before)


@some
@given(data=st.data())
def test_a_sweep(runs, tmp_path, data):
    folder = runs / "hicupid" / "sweep"
    before = (folder / "sweep.json").read_bytes()
    content = changed(folder / "sweep.json", data.draw)
    read = READERS[data.draw(st.sampled_from(["report", "agree", "judgements", "listing"]))]
    (folder / "sweep.json").write_bytes(content)
    try:
        said_or_read(lambda: read(folder, None, Path(tempfile.mkdtemp(dir=tmp_path))), folder)
    finally:
        (folder / "sweep.json").write_bytes(before)


@some
@given(data=st.data())
def test_an_audit(runs, tmp_path, data):
    folder = runs / "hicupid" / "one"
    before = (folder / "audit.json").read_bytes()
    content = changed(folder / "audit.json", data.draw)
    (folder / "audit.json").write_bytes(content)
    try:
        said_or_read(lambda: READERS["report"](folder, None, tmp_path / "report"), folder)
    finally:
        (folder / "audit.json").write_bytes(before)


def test_the_viewer_over_anything(runs):
    """A damaged run still gets a page: its normal page, or one that says what is wrong."""
    root = runs / "hicupid"

    @settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(data=st.data())
    def look(data):
        place = data.draw(
            st.sampled_from([*(f"one/{f}" for f in (*FILES, "progress.json")), "sweep/sweep.json", "two/run.json"])
        )
        path = root / place
        before = path.read_bytes() if path.exists() else None
        content = changed(path, data.draw) if before is not None else as_bytes(damaged(PROGRESS, data.draw))
        manifest = (root / "one" / "run.json").read_text(encoding="utf-8")
        if before is None:
            running = json.loads(manifest) | {"status": "running"}
            (root / "one" / "run.json").write_text(json.dumps(running), encoding="utf-8")
        path.write_bytes(content)
        try:
            for page in ("/", "/run/one", "/run/sweep", "/progress/one", "/compare?run=one&run=two"):
                assert viewer.get(page).status_code in (200, 303, 404), page
        finally:
            if before is None:
                path.unlink()
                (root / "one" / "run.json").write_text(manifest, encoding="utf-8")
            else:
                path.write_bytes(before)

    with Viewer(root) as viewer:
        look()
