"""CUPID sets: parquet and JSON files hold the same instances, each with a unique key."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bowstring.benchmarks.cupid.data import to_row, write_json
from bowstring.benchmarks.export import export
from bowstring.benchmarks.loading import load, load_cupid, read
from bowstring.errors import DataError, UsageError
from bowstring.files.names import safe_file_name


def by_key(data) -> dict[str, object]:
    return {i.key: i for i in data.instances}


def problems(source: Path) -> list[str]:
    (reading,) = read(str(source), "cupid")
    return [str(p) for p in reading.problems]


@pytest.mark.parametrize("as_json", [True, False])
def test_what_is_written_reads_back_the_same(tmp_path, as_json):
    export(load_cupid("mini"), tmp_path / "set", as_json=as_json)
    assert by_key(load(str(tmp_path / "set"))) == by_key(load_cupid("mini"))


def test_one_file_is_a_data_set(tmp_path, cupid_folder):
    export(load_cupid("mini"), tmp_path / "set")
    assert len(load(str(tmp_path / "set" / "test.parquet")).instances) == 12
    one = next(cupid_folder.glob("0+*+changing.json"))
    assert [i.type for i in load(str(one)).instances] == ["changing"]


def test_three_instances_of_a_persona_have_three_keys():
    data = load_cupid("mini")
    assert len(data.persona_ids) == 4
    assert len({i.key for i in data.instances}) == 12


def test_the_same_instance_twice_is_a_problem(cupid_folder):
    original = next(cupid_folder.glob("0+*+changing.json"))
    (cupid_folder / "zz.json").write_bytes(original.read_bytes())
    (found,) = problems(cupid_folder)
    assert found.startswith("zz.json: '0+")
    assert f"occurs twice (first in {original.name}); expected each persona and type once" in found


def change_first(folder: Path, change) -> str:
    path = sorted(folder.glob("*.json"))[0]
    row = json.loads(path.read_text(encoding="utf-8"))
    change(row)
    path.write_text(json.dumps(row), encoding="utf-8")
    return path.name


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (
            lambda row: row.update(instance_type="steady"),
            "instance_type is 'steady'; expected consistent, contrastive or changing",
        ),
        (lambda row: row.pop("current_request"), "current_request is missing; expected it in every instance"),
        (lambda row: row.update(current_request=" "), "current_request is ' '; expected some text"),
        (
            lambda row: row.update(current_checklist=[]),
            "current_checklist is an empty list; expected at least one entry",
        ),
        (lambda row: row.update(current_checklist="a, b"), "current_checklist is 'a, b'; expected a list"),
        (lambda row: row.update(persona_id=148), "persona_id is 148; expected text"),
        (
            lambda row: row.update(prior_interactions=[]),
            "prior_interactions is an empty list; expected at least one entry",
        ),
        (
            lambda row: row["prior_interactions"][2].update(dialogue=[]),
            "prior_interactions.2.dialogue is an empty list; expected at least one entry",
        ),
        (
            lambda row: row["prior_interactions"][1]["dialogue"][0].update(role="narrator"),
            "prior_interactions.1.dialogue.0.role is 'narrator'; expected user or assistant",
        ),
        (
            lambda row: row["prior_interactions"].insert(0, "hello"),
            "prior_interactions.0 is 'hello'; expected an object with fields",
        ),
    ],
)
def test_a_problem_names_file_field_and_what_was_expected(cupid_folder, change, expected):
    name = change_first(cupid_folder, change)
    assert problems(cupid_folder) == [f"{name}: {expected}"]


def test_rows_of_a_parquet_file_are_numbered(tmp_path):
    rows = [to_row(i) for i in load_cupid("mini").instances]
    rows[7]["instance_type"] = "steady"
    rows[9]["current_contextual_preference"] = None
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "test.parquet")
    assert problems(tmp_path) == [
        "test.parquet row 7: instance_type is 'steady'; expected consistent, contrastive or changing",
        "test.parquet row 9: current_contextual_preference is None; expected text",
    ]


def test_missing_columns_are_all_named(tmp_path):
    pq.write_table(pa.table({"persona_id": ["x"], "surprise": [1]}), tmp_path / "test.parquet")
    found = problems(tmp_path)
    assert len(found) == 6
    assert found[0].startswith("test.parquet: has no column instance_type; expected all of persona_id, ")


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1, 2]", b"null", b'{"persona_id": NaN}', b"\xff\xfe{}", b"[" * 100_000]
)
def test_a_file_that_is_no_instance_is_a_problem_not_a_crash(cupid_folder, content):
    (cupid_folder / "odd.json").write_bytes(content)
    found = problems(cupid_folder)
    assert found
    assert all(line.startswith("odd.json: ") for line in found)


def test_files_of_other_tools_are_not_instances(cupid_folder):
    (cupid_folder / "dataset_infos.json").write_text("{}")
    (cupid_folder / ".hidden.json").write_text("{}")
    assert len(load(str(cupid_folder)).instances) == 12


def test_a_value_that_python_cannot_hold_is_a_problem_not_a_crash(tmp_path):
    rows = [to_row(i) for i in load_cupid("mini").instances[:2]]
    table = pa.Table.from_pylist(rows)
    dates = pa.array([2**31 - 1, 0], pa.int32()).cast(pa.date32())
    column = table.schema.get_field_index("current_request")
    pq.write_table(table.set_column(column, "current_request", dates), tmp_path / "test.parquet")
    found = problems(tmp_path)
    assert found[0].startswith("test.parquet row 0: holds a value that cannot be read")
    assert found[1].startswith("test.parquet row 1: current_request is datetime.date(1970, 1, 1); expected text")


def test_a_request_whose_context_never_occurred_is_a_warning(cupid_folder):
    change_first(cupid_folder, lambda row: row.update(current_context_factor="The moon"))
    (reading,) = read(str(cupid_folder))
    assert reading.problems == []
    assert "current_context_factor is 'The moon', which no prior session" in str(reading.warnings[0])


def test_evidence_is_every_session_in_the_requests_context():
    for instance in load_cupid("mini").instances:
        assert len(instance.evidence) == (4 if instance.type == "changing" else 2)


@pytest.mark.parametrize("persona_id", ["../../x", "a/b", "CON", "x" * 5000, ".", "nul.txt", "a\x00b", "🎻", "a b\n"])
def test_ids_are_data_never_paths(tmp_path, persona_id):
    from dataclasses import replace

    hostile = replace(load_cupid("mini").instances[0], persona_id=persona_id)
    (path,) = write_json([hostile], tmp_path / "set")
    assert path.parent == tmp_path / "set"
    assert list(tmp_path.rglob("*.json")) == [path]
    assert load(str(tmp_path / "set")).instances == (hostile,)


@given(st.text(max_size=300), st.text(max_size=300))
def test_file_names_are_harmless_and_never_shared(a, b):
    for id_ in (a, b):
        name = safe_file_name(id_, ".json")
        assert len(name.encode()) < 200
        assert not set(name) & set('/\\:*?"<>|\0')
        assert not name.startswith(".")
    if a != b:
        assert safe_file_name(a, ".json") != safe_file_name(b, ".json")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["persona_id", "instance_type", "current_checklist", "prior_interactions", "dialogue", "role"]
            )
            | st.text(max_size=5),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)


@given(json_values)
@settings(max_examples=150, deadline=None)
def test_no_json_makes_the_reader_crash(tmp_path_factory, value):
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "instance.json").write_text(json.dumps(value), encoding="utf-8")
    (reading,) = read(str(folder))
    assert reading.problems
    assert all(str(p) for p in reading.problems)


def test_a_set_of_the_other_benchmark_is_named(hicupid_folder):
    with pytest.raises(DataError, match="is a hicupid data set; expected a cupid one"):
        load_cupid(str(hicupid_folder))


def test_mini_alone_is_two_sets():
    with pytest.raises(UsageError, match="choose one: mini/hicupid or mini/cupid"):
        load("mini")
