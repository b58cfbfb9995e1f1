"""Arbitrary data folders are read, or every problem is reported; nothing is misread."""

import json
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bowstring.benchmarks.cupid.data import to_row
from bowstring.benchmarks.export import export
from bowstring.benchmarks.loading import load_cupid, load_hicupid, read
from bowstring.errors import BowstringError
from tests.support.command import bowstring

ODD_IDS = [
    "../../x",
    "a/b",
    "..",
    "",
    " ",
    "CON",
    "nul.txt",
    "x" * 5000,
    "\x00",
    "a\nb",
    "\u202eabc",
    "\ud800",
    "-rf",
    "*",
]
CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**62), 2**62),
    st.floats(),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.lists(st.integers(0, 5), max_size=3),
    st.just("long " * 50_000),
)
slow = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])


def said_or_read(path) -> None:
    """Problems are collected, or the set is rejected with one line; nothing else may happen."""
    with suppress(BowstringError):
        for reading in read(str(path)):
            assert reading.data is not None or reading.problems
            for problem in reading.problems:
                assert str(problem)


@slow
@given(data=st.data())
def test_parquet_with_columns_of_any_type(hicupid_folder, data):
    """One column of the questions or the dialogues, replaced by something else of one type."""
    part = data.draw(st.sampled_from(["qa/test_1.parquet", "dialogue/test.parquet", "dialogue/train.parquet"]))
    path = hicupid_folder / part
    if not path.is_file():
        return
    before = path.read_bytes()
    table = pq.read_table(path)
    name = data.draw(st.sampled_from(table.column_names))
    value = data.draw(CELLS)
    try:
        column = pa.array([value] * len(table))
    except (pa.ArrowInvalid, OverflowError):
        return
    pq.write_table(table.set_column(table.column_names.index(name), name, column), path)
    try:
        said_or_read(hicupid_folder)
    finally:
        path.write_bytes(before)


@slow
@given(cut=st.integers(0, 2000), flipped=st.lists(st.tuples(st.floats(0, 1), st.integers(1, 255)), max_size=4))
def test_parquet_that_is_cut_or_has_flipped_bytes(hicupid_folder, cut, flipped):
    path = hicupid_folder / "qa" / "test_1.parquet"
    before = path.read_bytes()
    changed = bytearray(before)
    for where, bits in flipped:
        changed[int(where * (len(changed) - 1))] ^= bits
    path.write_bytes(bytes(changed[: len(changed) - cut]))
    try:
        said_or_read(hicupid_folder)
    finally:
        path.write_bytes(before)


@slow
@given(data=st.data())
def test_instances_of_any_shape(cupid_folder, data):
    path = sorted(cupid_folder.glob("*.json"))[0]
    before = path.read_text(encoding="utf-8")
    row = json.loads(before)
    name = data.draw(st.sampled_from([*row, "unknown"]))
    row[name] = data.draw(
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=5),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
            max_leaves=8,
        )
    )
    path.write_text(json.dumps(row), encoding="utf-8", errors="surrogatepass")
    try:
        said_or_read(cupid_folder)
    finally:
        path.write_text(before, encoding="utf-8")


@slow
@given(
    st.binary(max_size=300)
    | st.sampled_from([b"{" * 100_000, b"[" * 100_000, b'"' + b"x" * 1_000_000, b"\xff\xfe", b"NaN"])
)
def test_instance_files_of_any_bytes(cupid_folder, content):
    path = sorted(cupid_folder.glob("*.json"))[0]
    before = path.read_bytes()
    path.write_bytes(content)
    try:
        said_or_read(cupid_folder)
    finally:
        path.write_bytes(before)


@pytest.mark.parametrize("odd", ODD_IDS)
def test_ids_are_never_paths(odd, tmp_path):
    """Instances with this persona name are written, run and reported; no file lands outside its folder."""
    instance = load_cupid("mini").instances[0]
    row = to_row(instance) | {"persona_id": odd}
    source = tmp_path / "source"
    source.mkdir()
    (source / "one.json").write_text(json.dumps(row), encoding="utf-8", errors="surrogatepass")
    reading = read(str(source))[0]
    if reading.data is None:
        assert reading.problems
        return
    export(reading.data, tmp_path / "inside" / "out", as_json=True)
    written = [p for p in tmp_path.rglob("*") if p.is_file() and source not in p.parents]
    assert written
    assert all((tmp_path / "inside" / "out") in p.parents for p in written)
    assert all(len(p.name) < 200 for p in written)
    again = load_cupid(str(tmp_path / "inside" / "out")).instances
    assert [i.persona_id for i in again] == [reading.data.instances[0].persona_id]


def test_links_in_a_data_folder_lead_nowhere_else(hicupid_folder, tmp_path):
    """An outside file that is linked into a set is checked like any other, and its content is not shown."""
    secret = tmp_path / "secret.txt"
    secret.write_text("root:x:0:0")
    (hicupid_folder / "qa" / "test_9.parquet").symlink_to(secret)
    ran = bowstring("data", "validate", hicupid_folder)
    assert ran.code == 2
    assert "root:x" not in ran.out + ran.err
    (hicupid_folder / "qa" / "test_9.parquet").unlink()
    (hicupid_folder / "qa" / "loop").symlink_to(hicupid_folder)
    assert bowstring("data", "validate", hicupid_folder).code == 0
    assert load_hicupid(str(hicupid_folder)).splits
