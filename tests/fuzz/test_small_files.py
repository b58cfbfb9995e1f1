"""Every other file that is read: prices, prompts, seeds, truths, ledgers, studies, ratings, adapters' records.

Each is taken as it should be, damaged in one place or replaced by bytes of any kind: it is read, or refused in one line
that names it.
"""

import json
import shutil
import sqlite3
import tempfile
from contextlib import closing, suppress
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bowstring.benchmarks import registry
from bowstring.benchmarks.cupid.coverage import SCHEMA, coverage_table
from bowstring.benchmarks.cupid.importing import FILES as CUPID_FILES
from bowstring.benchmarks.cupid.reading import load_coverage
from bowstring.benchmarks.cupid.types import Coverage
from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.reading import load_judgements
from bowstring.benchmarks.hicupid.truth import load_truth
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.benchmarks.loading import load_hicupid
from bowstring.datasets.ratings import read_ratings
from bowstring.errors import BowstringError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.models.batch import Entry, _batch_errors, _entry, _outcomes
from bowstring.models.endpoint import Endpoint
from bowstring.models.hubfiles import ModelFiles
from bowstring.models.interface import RequestFailed
from bowstring.models.names import open_model
from bowstring.models.prices import load_prices
from bowstring.models.user_code import user_model
from bowstring.records import (
    Completion,
    Message,
    Prompt,
    Sampling,
    Trunk,
    Usage,
)
from bowstring.synthesis.finishing import check_out
from bowstring.synthesis.seeds import load_seeds
from bowstring.web.annotating.curation import open_curation
from bowstring.web.annotating.results import export, standings
from bowstring.web.annotating.study import Study
from bowstring.web.annotating.tasks import PageResponse
from tests.support.anything import ANYTHING, LEAVES, NO_DOCUMENTS, as_bytes, damaged, said_or_read
from tests.support.sets import write_hicupid

some = settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
few = settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])


@some
@given(NO_DOCUMENTS | ANYTHING.map(as_bytes))
def test_json(content):
    """What was read can be written again."""
    with suppress(ParseError):
        json.dumps(parse_strict_json(content), allow_nan=False, ensure_ascii=False).encode()


# JSON is YAML: what is damaged is written as that.
@some
@given(data=st.data())
def test_prices(tmp_path, data):
    path = tmp_path / "prices.yaml"
    table = {"openai/m": {"input": 1.0, "cached": 0.5, "output": 4.0}, "x": {"input": 1, "output": 2}}
    path.write_bytes(data.draw(NO_DOCUMENTS) if data.draw(st.booleans()) else as_bytes(damaged(table, data.draw)))

    def read():
        found = load_prices(path)
        for name in ("openai/m", "x"):
            price = found.of(SimpleNamespace(name=name, identity=name))
            assert price is None or 0 <= price.of(Usage(1000, 10, 10)) < float("inf")

    said_or_read(read, path)


@some
@given(data=st.data())
def test_a_folder_of_prompts(tmp_path, data):
    names = ["ask", "judge_persona", "judge_schedule", "examples", "ask_1"]
    name = data.draw(st.sampled_from(names))
    folder = tmp_path / "prompts" / "hicupid"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    template = {"system_prompt": "Answer.", "user_prompt": "{relation} {entity} {question} {answer_a} {answer_b}"}
    content = data.draw(NO_DOCUMENTS) if data.draw(st.booleans()) else as_bytes(damaged(template, data.draw))
    (folder / f"{name}.yaml").write_bytes(content)

    def read():
        asked = {"types": ["persona", "schedule"], "shots": data.draw(st.sampled_from([0, 1]))}
        HicupidPrompts(
            HICUPID.prompts(tmp_path / "prompts"), **asked, instruction="system", summaries=False, branches=1
        )

    said_or_read(read, Path(name))


@some
@given(data=st.data())
def test_prompts_of_a_checkout(tmp_path, data):
    shutil.rmtree(tmp_path, ignore_errors=True)
    root = tmp_path / "cupid" / "prompts"
    changed = data.draw(st.sampled_from(sorted(CUPID_FILES)))
    for name, needs in CUPID_FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        template = {"system_prompt": "x", "user_prompt": " ".join(f"{{{n}}}" for n in sorted(needs))}
        content = as_bytes(damaged(template, data.draw)) if name == changed else as_bytes(template)
        (root / f"{name}.yaml").write_bytes(content)
    said_or_read(lambda: registry.get("cupid").import_prompts(tmp_path / "cupid", tmp_path / "out"), Path(changed))
    assert {p.name for p in tmp_path.iterdir()} <= {"cupid", "out"}


SOURCES = [
    b"INFERENCE_PROMPTS = " + b"[" * 5000,
    b"INFERENCE_PROMPTS = {" + b"-" * 100_000 + b"1}",
    b"a = 'x'\n" + b"a = a + a\n" * 200 + b"INFERENCE_PROMPTS = {'zero/system': a}",
    b"INFERENCE_PROMPTS = {'zero/system': __import__('os').system('true')}",
    b"INFERENCE_PROMPTS = {'zero/system': [{'role': 'system', 'content': '\\ud800'}]}",
    b"INFERENCE_PROMPTS = {[]: 1, **x}",
    b"a = []\na = [a, a]\na = [a, a]\nINFERENCE_PROMPTS = {'zero/system': a}",
    b"a = []\n" + b"a = [a]\n" * 5000 + b"INFERENCE_PROMPTS = {'zero/system': a}",
    b"a = [[]]\n" + b"a = [a, a]\n" * 60 + b"INFERENCE_PROMPTS = {'zero/system': a}",
    b"\x00",
    b"\xff",
]


@pytest.mark.parametrize("source", SOURCES)
def test_constants_that_are_hostile(tmp_path, source):
    path = tmp_path / "constants.py"
    path.write_bytes(source)
    said_or_read(lambda: registry.get("hicupid").import_prompts(path, tmp_path / "out"), path)


@some
@given(data=st.data())
def test_seeds(tmp_path, data):
    kind = data.draw(st.sampled_from(["txt", "json", "jsonl", "parquet"]))
    path = tmp_path / f"seeds.{kind}"
    rows = [{"input persona": "a baker who counts"}, {"input persona": "a sailor"}]
    if data.draw(st.booleans()):
        path.write_bytes(data.draw(NO_DOCUMENTS))
    elif kind == "parquet":
        try:
            pq.write_table(pa.table({"input persona": pa.array([data.draw(LEAVES)] * 2)}), path)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            return
    elif kind == "jsonl":
        path.write_bytes(b"\n".join(map(as_bytes, damaged(rows, data.draw))))
    else:
        path.write_bytes(as_bytes(damaged(rows, data.draw)))

    def read():
        found = load_seeds(str(path))
        assert found
        assert all(isinstance(seed, str) and seed for seed in found)

    said_or_read(read, path)


@pytest.fixture(scope="module")
def generated(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("set")
    write_hicupid(folder / "set", users=2, dimensions=2, turns=1, schedules=1, profile_questions=1)
    return folder / "set"


@some
@given(data=st.data())
def test_a_generators_truth(generated, tmp_path, data):
    path = tmp_path / "truth.json"
    known = json.loads((generated / "truth.json").read_text(encoding="utf-8"))
    small = {
        "entities": {name: dict(list(cues.items())[:2]) for name, cues in list(known["entities"].items())[:3]},
        "aspects": known["aspects"],
        "events": known["events"][:2],
    }
    path.write_bytes(data.draw(NO_DOCUMENTS) if data.draw(st.booleans()) else as_bytes(damaged(small, data.draw)))

    def read():
        truth = load_truth(str(tmp_path))
        for question in load_hicupid(str(generated)).questions():
            if question.schedule is None:
                truth.pairwise(question, question.personalized_answer, answer_is="A")
            else:
                truth.satisfaction(question, question.personalized_answer)

    said_or_read(read, path)


@some
@given(data=st.data())
def test_a_set_that_was_made_before(tmp_path, data):
    """An unreadable file is not treated as the same configuration and not overwritten."""
    config = {"benchmark": "cupid", "models": {"model": "m"}}
    (tmp_path / "made.json").write_bytes(
        data.draw(NO_DOCUMENTS) if data.draw(st.booleans()) else as_bytes(damaged({"config": config}, data.draw))
    )
    with suppress(BowstringError):
        check_out(tmp_path, config)
        assert parse_strict_json((tmp_path / "made.json").read_bytes())["config"] == config


ENTRY = {
    "model": "openai/m",
    "file": "file-1",
    "keys": ["a" * 64],
    "sent": {"a" * 64: '{"max_tokens": 9}'},
    "id": "batch_1",
    "fresh": False,
}


@some
@given(data=st.data())
def test_a_ledger_of_batches(tmp_path, data):
    path = tmp_path / "entry.json"
    path.write_bytes(data.draw(NO_DOCUMENTS) if data.draw(st.booleans()) else as_bytes(damaged(ENTRY, data.draw)))
    with suppress(ValueError, TypeError, OSError):  # which is said with the file's name where it is read
        found = _entry(path)
        assert isinstance(found, Entry)
        assert isinstance(found.model, str)
        assert all(isinstance(key, str) for key in found.keys)


ENDPOINT = Endpoint("m", "m", "m", "http://127.0.0.1/v1", None)
LINE = {
    "custom_id": "a" * 64,
    "response": {
        "status_code": 200,
        "body": {"choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}], "usage": {"prompt_tokens": 3}},
    },
    "error": None,
}


@some
@given(data=st.data())
def test_results_of_a_batch(data):
    line = as_bytes(damaged(LINE, data.draw)) if data.draw(st.booleans()) else data.draw(NO_DOCUMENTS)
    entry = Entry(Path("x"), "m", "f", ["a" * 64])
    for key, outcome in _outcomes(line.decode("utf-8", "replace") + "\n" + json.dumps(LINE), ENDPOINT, entry):
        assert isinstance(key, str)
        assert isinstance(outcome, Completion | RequestFailed)
    _batch_errors({"errors": data.draw(ANYTHING)})


@some
@given(data=st.data())
def test_what_an_adapter_was_trained_on(tmp_path, data):
    record = {"configuration": {"prompts": {"hicupid/ask": "f" * 64}}}
    (tmp_path / "training.json").write_bytes(
        data.draw(NO_DOCUMENTS) if data.draw(st.booleans()) else as_bytes(damaged(record, data.draw))
    )
    found = ModelFiles(tmp_path, tmp_path).trained_prompts
    assert all(isinstance(name, str) and isinstance(words, str) for name, words in found.items())


ROW = {
    "item": "compare/0/0/0123456789ab",
    "rater": "anna",
    "label": "win",
    "task": "compare",
    "cluster": "0",
    "gold": False,
    "criteria": {"personalization": 4},
}


@some
@given(data=st.data())
def test_ratings(tmp_path, data):
    path = tmp_path / f"people.{data.draw(st.sampled_from(['jsonl', 'csv', 'tsv']))}"
    rows = damaged([ROW, ROW | {"rater": "ben"}], data.draw)
    if data.draw(st.booleans()):
        path.write_bytes(data.draw(NO_DOCUMENTS))
    elif path.suffix == ".jsonl":
        path.write_bytes(b"\n".join(map(as_bytes, rows)))
    else:
        cells = [list(row.values()) if isinstance(row, dict) else [row] for row in rows]
        text = "\n".join(",".join(map(str, line)) for line in [list(ROW), *cells])
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
    said_or_read(lambda: read_ratings(path), path)


@pytest.fixture(scope="module")
def judged(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("judged")
    questions = list(load_hicupid("mini").questions())[:3]
    pq.write_table(evaluation_table([Judgement(q, "x", "Better Response: A", "A") for q in questions]), folder / "j")
    labels = Coverage("p", "changing", "recall", "brief", ("Is it brief?",), ("Not Covered",), "so")
    pq.write_table(coverage_table([labels]), folder / "c")
    assert SCHEMA
    return folder


@pytest.mark.parametrize(("name", "load"), [("j", load_judgements), ("c", load_coverage)])
@few
@given(data=st.data())
def test_judgements_and_labels_of_any_type(judged, tmp_path, name, load, data):
    table = pq.read_table(judged / name)
    path = tmp_path / "it.parquet"
    column = data.draw(st.sampled_from(table.column_names))
    try:
        cells = pa.array([data.draw(ANYTHING)] * len(table))
        pq.write_table(table.set_column(table.column_names.index(column), column, cells), path)
    except (pa.ArrowException, OverflowError, UnicodeEncodeError, ValueError):
        return
    said_or_read(lambda: load(str(path)), path)


@pytest.fixture(scope="module")
def study(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("study") / "s.sqlite"
    made = open_curation("mini/cupid", annotators="anna", limit=2, db=path)
    for given_ in list(made.assignments()):
        made.save(given_.page, PageResponse(("accept",), {}, {"request": "better"}, "fine"), 1.5)
    made.close()
    return path


CELLS = [("study", "value"), ("units", "content"), ("annotations", "choices"), ("annotations", "criteria")]
CELLS += [("annotations", "edits"), ("annotators", "name"), ("annotations", "comment"), ("annotations", "at")]


@few
@given(data=st.data())
def test_a_study(study, tmp_path, data):
    path = Path(tempfile.mkdtemp(dir=tmp_path)) / "s.sqlite"
    shutil.copy(study, path)
    if data.draw(st.integers(0, 3)) == 0:
        content = bytearray(path.read_bytes())
        for _ in range(3):
            content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    else:
        table, column = data.draw(st.sampled_from(CELLS))
        with closing(sqlite3.connect(path)) as connection:
            values = [row[0] for row in connection.execute(f"SELECT {column} FROM {table} LIMIT 3")]
            before = data.draw(st.sampled_from(values))
            try:
                after = json.dumps(damaged({"": json.loads(before)}, data.draw).get(""))
            except (ValueError, TypeError):
                after = data.draw(NO_DOCUMENTS)
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE {column} = ?", (after, before))
            connection.commit()

    def read():
        opened = Study(path)
        try:
            list(export(opened))
            standings(opened)
        finally:
            opened.close()

    said_or_read(read, path)


PROMPT = Prompt(Trunk([Message("user", ("hello",))]), ())


@some
@given(data=st.data())
def test_what_ones_own_code_returns(data):
    import asyncio

    whole = {"text": "yes", "finish": "stop", "reasoning": None, "usage": Usage(1, 0, 1)}
    values = {name: data.draw(ANYTHING) if data.draw(st.booleans()) else value for name, value in whole.items()}
    if isinstance(values["usage"], Usage) and data.draw(st.booleans()):
        values["usage"] = Usage(**asdict(Usage()) | {"prompt": data.draw(ANYTHING)})
    returned = data.draw(st.sampled_from([data.draw(ANYTHING), Completion(**values)]))
    model = user_model(lambda messages: returned)
    with suppress(RequestFailed):
        found = asyncio.run(model.complete(PROMPT, Sampling(10)))
        assert isinstance(found.text, str)
        assert isinstance(found.reasoning, str | None)
        assert all(isinstance(n, int) and n >= 0 for n in asdict(found.usage).values())


PIECES = st.sampled_from(
    [
        "openai/",
        "bedrock/",
        "hf",
        "python:",
        "@",
        "http://",
        "https://",
        "user:pw@",
        "host",
        ":80",
        ":x",
        "/v1",
        "?",
        "#",
    ]
)


@settings(max_examples=150)
@given(st.lists(PIECES | st.text(max_size=4), max_size=7).map("".join))
def test_names_of_models(name):
    if name.startswith(("hf/", "vllm/", "python:")) or name == "embedded":
        return
    if "user:pw@http" in name:  # a model called user:pw, at a URL
        return
    try:
        found = open_model(name, with_key=False)
        said = found.name + found.identity
    except BowstringError as error:
        said = str(error)
    assert "pw@" not in said
