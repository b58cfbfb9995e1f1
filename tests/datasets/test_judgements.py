"""Judge transcripts and matcher labels: located, validated, and readable without the rest of a set."""

from dataclasses import replace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.cupid.coverage import coverage_table
from bowstring.benchmarks.cupid.reading import load_coverage
from bowstring.benchmarks.cupid.types import Coverage
from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.reading import load_judgements
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.benchmarks.loading import load_hicupid
from bowstring.errors import DataError, UsageError

LABELLED = (
    Coverage("0+crofter", "changing", "precision", "Short.", ("Is it short?",), ("Fully Covered",), "[…]"),
    Coverage("0+crofter", "changing", "recall", "Long.", ("Short?", "Dry?"), ("Not Covered", "Partially Covered")),
)


def judged(split: str) -> tuple[Judgement, ...]:
    questions = load_hicupid("mini").questions("test_1")[:3]
    return tuple(
        Judgement(replace(q, split=split), "", "Better Response: A", side)
        for q, side in zip(questions, ("A", "B", None), strict=True)
    )


def damaged(table: pa.Table, column: str, value: object) -> pa.Table:
    rows = table.to_pylist()
    rows[1][column] = value
    return pa.Table.from_pylist(rows, schema=table.schema)


@pytest.mark.parametrize("place", ["evaluation/train.parquet", "deeper/evaluation/train-00000-of-00001.parquet"])
def test_a_folder_needs_nothing_but_the_transcripts(tmp_path, place):
    (tmp_path / place).parent.mkdir(parents=True)
    pq.write_table(evaluation_table(judged("train")), tmp_path / place)
    assert load_judgements(str(tmp_path)) == judged("train")


def test_a_file_may_have_any_name(tmp_path):
    pq.write_table(evaluation_table(judged("mine")), tmp_path / "mine.parquet")
    pq.write_table(coverage_table(LABELLED), tmp_path / "labels.parquet")
    assert load_judgements(str(tmp_path / "mine.parquet")) == judged("mine")
    assert load_coverage(str(tmp_path / "labels.parquet")) == LABELLED


def test_splits_of_a_folder_come_one_after_another_train_first(tmp_path):
    for config, split, table in [
        ("coverage", "test", coverage_table(LABELLED[1:])),
        ("coverage", "train", coverage_table(LABELLED[:1])),
        ("evaluation", "test", evaluation_table(judged("test"))),
        ("evaluation", "train", evaluation_table(judged("train"))),
    ]:
        (tmp_path / config).mkdir(exist_ok=True)
        pq.write_table(table, tmp_path / config / f"{split}.parquet")
    assert load_coverage(str(tmp_path)) == LABELLED
    assert load_judgements(str(tmp_path)) == judged("train") + judged("test")


def test_labels_of_others_need_no_transcripts(tmp_path):
    pq.write_table(coverage_table(LABELLED).drop_columns(["transcript"]), tmp_path / "x.parquet")
    assert load_coverage(str(tmp_path / "x.parquet")) == tuple(replace(c, transcript=None) for c in LABELLED)


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("side", "both", "side is 'both'; expected precision or recall"),
        ("instance_type", "odd", "instance_type is 'odd'; expected consistent, contrastive or changing"),
        ("labels", ["Covered", "Not Covered"], "labels holds 'Covered'; expected Fully Covered, Partially Covered or"),
        ("labels", ["Not Covered"], "labels holds 1; expected one for each of the 2 items of the checklist"),
        ("labels", ["Not Covered", None], "labels contains a null; expected a list of texts"),
        ("labels", None, "labels is null; expected a list of texts"),
        ("checklist", [], "checklist is an empty list; expected at least one text"),
        ("preference", " ", "preference is blank; expected some text"),
    ],
)
def test_a_label_that_cannot_be_is_named_by_file_and_row(tmp_path, column, value, message):
    pq.write_table(damaged(coverage_table(LABELLED), column, value), tmp_path / "x.parquet")
    with pytest.raises(DataError) as raised:
        load_coverage(str(tmp_path / "x.parquet"))
    assert str(raised.value).startswith(f"x.parquet row 1: {message}")


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("answer_is", "C", "answer_is is 'C'; expected A or B"),
        ("judgement", None, "judgement is null; expected text"),
        ("type", "horoscope", "type is 'horoscope'; expected persona, profile or schedule"),
    ],
)
def test_a_transcript_that_cannot_be_is_named_by_file_and_row(tmp_path, column, value, message):
    pq.write_table(damaged(evaluation_table(judged("train")), column, value), tmp_path / "x.parquet")
    with pytest.raises(DataError) as raised:
        load_judgements(str(tmp_path / "x.parquet"))
    assert str(raised.value) == f"x.parquet row 1: {message}"


@pytest.mark.parametrize("load", [load_judgements, load_coverage])
def test_what_is_not_there_is_said(tmp_path, load, hicupid_folder):
    config = "evaluation" if load is load_judgements else "coverage"
    with pytest.raises(DataError, match=rf"contains no {config}/\*\.parquet; expected it there, or the file itself"):
        load(str(hicupid_folder))
    with pytest.raises(DataError, match="no such file or folder, and not a hub id"):
        load("nothing here")
    with pytest.raises(UsageError, match="--revision is only for hub data sets"):
        load(str(hicupid_folder), revision="v1")
    (tmp_path / "x.parquet").write_bytes(b"no parquet")
    with pytest.raises(DataError, match=r"^x\.parquet: cannot be read as parquet"):
        load(str(tmp_path / "x.parquet"))
    pq.write_table(coverage_table(LABELLED).drop_columns(["labels", "side"]), tmp_path / "y.parquet")
    with pytest.raises(DataError, match=r"has no column \w+; .* \(and \d+ more\)$"):
        load(str(tmp_path / "y.parquet"))


def test_a_table_without_rows_is_refused(tmp_path):
    pq.write_table(evaluation_table([]), tmp_path / "e.parquet")
    pq.write_table(coverage_table([]), tmp_path / "c.parquet")
    for load, name in ((load_judgements, "e.parquet"), (load_coverage, "c.parquet")):
        with pytest.raises(DataError, match="has no rows"):
            load(str(tmp_path / name))
