"""CUPID sets: parquet and JSON files hold the same instances, each with a unique key."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bowstring.benchmarks.cupid.data import to_row, write_json
from bowstring.benchmarks.cupid.preference_types import CATEGORIES, category_of, preference_type
from bowstring.benchmarks.cupid.rules import rules
from bowstring.benchmarks.export import export
from bowstring.benchmarks.loading import load, load_cupid, read
from bowstring.errors import DataError, UsageError
from bowstring.files.names import safe_file_name
from tests.support.command import bowstring


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
                [
                    "persona_id",
                    "instance_type",
                    "current_checklist",
                    "prior_interactions",
                    "dialogue",
                    "role",
                    "context_factors",
                    "sessions",
                    "interactions",
                    "id",
                    "chat",
                    "session_id",
                ]
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


def write_raw(folder: Path, change=lambda raw: None) -> dict:
    """A persona as the authors' pipeline stores it: factors, sessions, interactions."""
    names = [f"Factor {k}" for k in range(8)]
    factors = [
        {"factor": n, "preference": f"wish {n}", "preference_type": "Tone", "related_factor": "N/A"} for n in names
    ]
    factors[-1] |= {"related_factor": "Factor 6", "preference_type": "Safety"}
    factors[-2]["related_factor"] = "Factor 7"
    order = [0, 7, 1, 6, 7, 2, 3, 7, 6, 7, 4, 5, 7]
    sessions = [
        {"id": k, "context_factor": names[f], "preference": f"wish {names[f]}", "checklist": [f"{f}?"], "story": "…"}
        for k, f in enumerate(order, 1)
    ]
    for session in [s for s in sessions if s["context_factor"] == "Factor 7"][2:]:
        session |= {"preference": "a new wish", "checklist": ["new?"]}
    interactions = [
        {
            "session_id": s["id"],
            "chat": [
                {"role": "user", "content": f"ask {s['id']}"},
                {"role": "assistant", "content": "draft" if s["id"] < 13 else None},
                *([{"role": "user", "content": "thanks"}] if s["id"] < 13 else []),
            ],
            "is_satisfied": True,
        }
        for s in sessions
    ]
    raw = {"context_factors": factors, "sessions": sessions, "interactions": interactions}
    change(raw)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "4+map_maker.json").write_text(json.dumps(raw))
    return raw


def check_instances_of_raw(found) -> None:
    assert [i.type for i in found] == ["consistent", "contrastive", "changing"]
    assert {i.request for i in found} == {"ask 13"}
    assert {len(i.sessions) for i in found} == {8}
    assert [i.preference for i in found] == ["wish Factor 7"] * 2 + ["a new wish"]
    assert found[2].checklist == ("new?",)
    assert {(i.category, i.preference_type) for i in found} == {("Harmless", "Safety")}


def test_raw_data_gives_instances_with_categories(tmp_path):
    raw = write_raw(tmp_path / "out" / "data")
    check_instances_of_raw(load_cupid(str(tmp_path / "out")).instances)
    found = load_cupid(str(tmp_path / "out" / "data")).instances
    assert {i.persona_id for i in found} == {"4+map_maker"}
    as_text = {name: json.dumps(value) for name, value in raw.items()}
    for n, row in enumerate(({"persona_id": "a+b", **raw}, {"id": 4, "occupation": "Map Maker", **as_text, "more": 1})):
        (tmp_path / f"hub{n}").mkdir()
        pq.write_table(pa.Table.from_pylist([row]), tmp_path / f"hub{n}" / "train.parquet")
        found = load_cupid(str(tmp_path / f"hub{n}")).instances
        check_instances_of_raw(found)
        assert {i.persona_id for i in found} == {"a+b" if n == 0 else "4+map_maker"}


def test_raw_data_without_a_column_names_it(tmp_path):
    raw = write_raw(tmp_path / "x")
    del raw["interactions"]
    pq.write_table(pa.Table.from_pylist([raw]), tmp_path / "train.parquet")
    expected = "expected all of context_factors, sessions, interactions of raw data"
    assert problems(tmp_path) == [f"train.parquet: has no column interactions; {expected}"]
    write_raw(tmp_path / "y", lambda raw: raw.pop("sessions"))
    assert problems(tmp_path / "y") == ["4+map_maker.json: sessions is missing; expected it in every instance"]


def test_a_raw_persona_that_does_not_suffice_is_left_out_with_a_warning(tmp_path):
    write_raw(tmp_path / "set")
    write_raw(tmp_path / "few", lambda raw: raw.update(interactions=raw["interactions"][5:]))
    (tmp_path / "set" / "5+few.json").write_bytes((tmp_path / "few" / "4+map_maker.json").read_bytes())
    (reading,) = read(str(tmp_path / "set"))
    assert reading.problems == []
    assert len(reading.data.instances) == 3
    assert [str(w) for w in reading.warnings] == [
        "5+few.json: is left out: there are 4 other sessions; expected at least 6"
    ]
    assert problems(tmp_path / "few") == [
        "4+map_maker.json: is left out: there are 4 other sessions; expected at least 6"
    ]


def test_the_output_folder_of_the_authors_pipeline_is_its_instances(tmp_path, cupid_folder):
    (cupid_folder / "README.md").unlink()
    cupid_folder.rename(tmp_path / "instances")
    (tmp_path / "personas.json").write_text('[{"id": 0}]')
    write_raw(tmp_path / "data")
    assert problems(tmp_path) == []
    assert by_key(load(str(tmp_path))) == by_key(load_cupid("mini"))
    ran = bowstring("data", "validate", tmp_path)
    assert ran.out == f"{tmp_path} (instances/ is read, 12 files): no problems\n"


def test_extra_columns_are_ignored_and_optional_ones_may_be_missing(tmp_path):
    rows = [to_row(i) | {"source": "x", "verified": False} for i in load_cupid("mini").instances]
    rows[0]["preference_type"] = "Depth"
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "train.parquet")
    found = load(str(tmp_path))
    assert found.splits == ("train",)
    assert [(i.category, i.preference_type) for i in found.instances[:2]] == [("Content", "Depth"), (None, None)]
    export(found, tmp_path / "again")
    assert by_key(load(str(tmp_path / "again"))) == by_key(found)


@pytest.mark.parametrize(
    ("text", "category", "kind"),
    [
        ("Tone", "Style", "Tone"),
        ("conciseness", "Style", "Conciseness"),
        ("Style - Format", "Style", "Format"),
        ("Content", "Content", None),
        ("Harmless (Trustworthiness)", "Harmless", "Trustworthiness"),
        ("Clarity and Tone", "Style", None),
        ("Depth and Tone", None, None),
        ("information", None, None),
        ("", None, None),
    ],
)
def test_a_preference_has_one_of_the_published_types(text, category, kind):
    assert (category_of(text), preference_type(text)) == (category, kind)


def test_there_are_sixteen_types_in_three_categories():
    assert {name: len(types) for name, types in CATEGORIES.items()} == {"Style": 6, "Content": 5, "Harmless": 5}
    assert {rule.type for rule in rules().values()} <= {t for types in CATEGORIES.values() for t in types}


def test_a_set_of_the_other_benchmark_is_named(hicupid_folder):
    with pytest.raises(DataError, match="is a hicupid data set; expected a cupid one"):
        load_cupid(str(hicupid_folder))


def test_mini_alone_is_two_sets():
    with pytest.raises(UsageError, match="choose one: mini/hicupid or mini/cupid"):
        load("mini")
