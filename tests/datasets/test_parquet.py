"""Parquet files that are small on disk and large in memory are refused before they are read."""

import resource

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.datasets import parquet
from bowstring.datasets.parquet import TooLarge, check_size
from bowstring.errors import DataError, UsageError
from tests.support.sets import write_hicupid

LARGE = "z" * 100_000
REASON = "its table takes more than {} GB of memory; if that is right, set BOWSTRING_LARGEST_TABLE to more"


def repeated(n: int) -> pa.Array:
    """The same long text n times, in memory once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * n, pa.int32()), pa.array([LARGE]))


def in_one_list(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array([0, len(values)], pa.int32()), values)


def write(path, column: pa.Array, **more) -> None:
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False, **more)


@pytest.mark.parametrize(
    "column",
    [
        repeated(50_000),
        in_one_list(repeated(50_000)),
        in_one_list(pa.StructArray.from_arrays([repeated(50_000)], ["said"])),
        pa.StructArray.from_arrays([in_one_list(repeated(50_000))], ["said"]),
    ],
    ids=["texts", "list", "list of structs", "struct of lists"],
)
def test_a_text_that_is_repeated_counts_each_time(column, tmp_path):
    write(tmp_path / "t.parquet", column)
    assert (tmp_path / "t.parquet").stat().st_size < 30_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(TooLarge, match=REASON.format(2)):
        check_size(tmp_path / "t.parquet", ["text"])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000, "in kB; the table has 5 GB"
    check_size(tmp_path / "t.parquet", ["another"])


def test_numbers_that_are_repeated_count_each_time(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "LARGEST", 0.001)
    write(tmp_path / "t.parquet", pa.array([7] * 1_000_000))
    assert (tmp_path / "t.parquet").stat().st_size < 10_000
    with pytest.raises(TooLarge, match=REASON.format(0.001)):
        check_size(tmp_path / "t.parquet", ["text"])


def test_texts_that_begin_like_the_one_before_count_as_a_whole(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "LARGEST", 0.02)
    delta = {"use_dictionary": False, "column_encoding": "DELTA_BYTE_ARRAY"}
    texts = pa.array([f"{LARGE}{n}" for n in range(1000)])
    write(tmp_path / "t.parquet", texts, **delta)
    with pytest.raises(TooLarge, match=REASON.format(0.02)):
        check_size(tmp_path / "t.parquet", ["text"])
    write(tmp_path / "t.parquet", in_one_list(texts), **delta)
    with pytest.raises(
        TooLarge, match=r"the size of text\.list\.element is unknown, because its encoding is DELTA_BYTE"
    ):
        check_size(tmp_path / "t.parquet", ["text"])
    monkeypatch.setattr(parquet, "LARGEST", 2.0)
    write(tmp_path / "t.parquet", texts, **delta)
    check_size(tmp_path / "t.parquet", ["text"])


def test_what_a_set_takes_is_measured_to_a_few_percent(tmp_path, monkeypatch):
    write_hicupid(tmp_path / "set", users=6)
    path = next(tmp_path.glob("set/dialogue/*.parquet"))
    table = pq.read_table(path)
    for share, fits in ((1.1, True), (0.9, False)):
        monkeypatch.setenv(parquet.VARIABLE, str(share * table.nbytes / 1e9))
        if fits:
            check_size(path, table.column_names)
        else:
            with pytest.raises(TooLarge):
                check_size(path, table.column_names)


@pytest.mark.parametrize(("load", "name"), [(load_hicupid, "hicupid"), (load_cupid, "cupid")])
def test_a_set_that_is_too_large_is_refused_in_one_line(load, name, hicupid_folder, tmp_path, monkeypatch):
    from bowstring.benchmarks.export import export

    export(load_cupid("mini"), tmp_path / "cupid")
    monkeypatch.setenv(parquet.VARIABLE, "0.00001")
    with pytest.raises(DataError, match=r"\.parquet: cannot be read as parquet: its table takes more than 1e-05 GB"):
        load(str(tmp_path / name))
    monkeypatch.delenv(parquet.VARIABLE)
    assert load(str(tmp_path / name))


@pytest.mark.parametrize("value", ["x", "0", "-1", "inf", "nan"])
def test_a_limit_that_is_no_size_is_refused(value, tmp_path, monkeypatch):
    write(tmp_path / "t.parquet", pa.array(["a"]))
    monkeypatch.setenv(parquet.VARIABLE, value)
    with pytest.raises(UsageError, match=f"BOWSTRING_LARGEST_TABLE={value}: expected a number of gigabytes above 0"):
        check_size(tmp_path / "t.parquet", ["text"])
