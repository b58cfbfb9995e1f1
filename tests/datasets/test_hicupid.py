"""HiCUPID sets: reading returns what was written, however the files are sharded."""

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.export import export
from bowstring.benchmarks.hicupid.data import HicupidSet, evaluation_table
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.benchmarks.loading import load_hicupid, read
from bowstring.errors import DataError, UsageError


def records(data: HicupidSet) -> dict[str, object]:
    return {
        "questions": {(q.split, q.key): q for q in data.questions()},
        "histories": {u: data.history(u) for u in data.user_ids},
        "dialogue splits": {u: data.dialogue_split(u) for u in data.user_ids},
    }


def rewrite(path: Path, change) -> None:
    pq.write_table(change(pq.read_table(path)), path)


def test_a_set_written_in_the_published_layout_reads_back_the_same(hicupid_folder):
    assert records(load_hicupid(str(hicupid_folder))) == records(load_hicupid("mini"))
    names = sorted(p.relative_to(hicupid_folder).as_posix() for p in hicupid_folder.rglob("*.parquet"))
    assert names == ["dialogue/test.parquet", "dialogue/train.parquet", "qa/test_1.parquet", "qa/test_2.parquet"]


def test_published_columns_are_written(hicupid_folder):
    qa = pq.read_schema(hicupid_folder / "qa" / "test_1.parquet")
    assert qa.names == [
        "user_id",
        "dialogue_id",
        "question_id",
        "question",
        "personalized_answer",
        "general_answer",
        "type",
        "metadata",
    ]
    assert pa.types.is_list(qa.field("dialogue_id").type)
    assert [f.name for f in qa.field("metadata").type] == ["persona", "profile", "schedule"]
    dialogue = pq.read_schema(hicupid_folder / "dialogue" / "train.parquet")
    assert dialogue.names == ["user_id", "dialogue_id", "user", "assistant", "type"]


def test_unknown_columns_are_ignored(hicupid_folder):
    rewrite(
        hicupid_folder / "qa" / "test_1.parquet",
        lambda t: t.append_column("mood", pa.array([{"a": [1.5]}] * t.num_rows)),
    )
    assert records(load_hicupid(str(hicupid_folder))) == records(load_hicupid("mini"))


def test_ages_may_be_numbers(hicupid_folder):
    def to_numbers(table: pa.Table) -> pa.Table:
        metadata = table["metadata"].to_pylist()
        for m in metadata:
            if m["profile"]:
                m["profile"]["age"] = int(m["profile"]["age"])
        return table.set_column(table.schema.get_field_index("metadata"), "metadata", pa.array(metadata))

    rewrite(hicupid_folder / "qa" / "test_1.parquet", to_numbers)
    assert records(load_hicupid(str(hicupid_folder))) == records(load_hicupid("mini"))


@pytest.mark.parametrize(
    "names",
    [
        ["train-00000-of-00002.parquet", "train-00001-of-00002.parquet"],
        ["train-00000-of-00002-9f3ac2.parquet", "train-00001-of-00002-0b11aa.parquet"],
        ["train/0000.parquet", "train/0001.parquet"],
    ],
)
def test_shards_of_a_split_are_one_split(hicupid_folder, names):
    whole = hicupid_folder / "dialogue" / "train.parquet"
    table = pq.read_table(whole)
    whole.unlink()
    for part, name in zip((table.slice(0, 31), table.slice(31)), names, strict=True):
        path = hicupid_folder / "dialogue" / name
        path.parent.mkdir(exist_ok=True)
        pq.write_table(part, path)
    assert records(load_hicupid(str(hicupid_folder))) == records(load_hicupid("mini"))


def test_a_missing_shard_is_named_instead_of_passed_over(hicupid_folder):
    whole = hicupid_folder / "dialogue" / "train.parquet"
    whole.rename(hicupid_folder / "dialogue" / "train-00001-of-00002.parquet")
    with pytest.raises(DataError, match=r"dialogue/train-00000-of-00002\.parquet: is missing"):
        load_hicupid(str(hicupid_folder))


def test_users_whose_rows_are_interleaved_keep_their_own_order(hicupid_folder):
    def interleave(table: pa.Table) -> pa.Table:
        """Dialogues of the users in turn: 0, 1, 2, 0, 1, 2 …; the turns of a dialogue stay together."""
        ids = table["dialogue_id"].to_numpy()
        rows = sorted(range(table.num_rows), key=lambda i: (ids[i] % 40, ids[i] // 40, i))
        return table.take(rows)

    rewrite(hicupid_folder / "dialogue" / "train.parquet", interleave)
    assert records(load_hicupid(str(hicupid_folder))) == records(load_hicupid("mini"))


def test_a_split_is_read_without_the_files_it_does_not_need(hicupid_folder):
    (hicupid_folder / "dialogue" / "train.parquet").write_bytes(b"not parquet at all")
    (hicupid_folder / "qa" / "test_1.parquet").write_bytes(b"")
    data = load_hicupid(str(hicupid_folder), splits=["test_2"])
    assert data.user_ids == (3, 4, 5)
    assert {q.split for q in data.questions()} == {"test_2"}
    by_file = load_hicupid(str(hicupid_folder / "qa" / "test_2.parquet"))
    assert records(by_file) == records(data)


def test_an_unknown_split_is_answered_with_those_there_are(hicupid_folder):
    with pytest.raises(UsageError, match="no split 'test_9'; it has test_1 or test_2"):
        load_hicupid(str(hicupid_folder), splits=["test_9"])


def test_part_of_a_set_can_be_exported(hicupid_folder, tmp_path):
    export(load_hicupid(str(hicupid_folder)), tmp_path / "part", splits=["test_2"], users=2)
    part = load_hicupid(str(tmp_path / "part"))
    assert part.user_ids == (3, 4)
    assert len(part.questions()) == 20


def test_judge_transcripts_are_read_and_written(hicupid_folder, tmp_path):
    questions = load_hicupid("mini").questions("test_1")
    transcripts = tuple(
        Judgement(q, "Try plums.", "Better Response: A", side)
        for q, side in zip(questions, ("A", "B", None), strict=False)
    )
    (hicupid_folder / "evaluation").mkdir()
    pq.write_table(evaluation_table(transcripts * 2), hicupid_folder / "evaluation" / "test_1.parquet")
    (reading,) = read(str(hicupid_folder))
    assert reading.problems == []
    assert reading.data.judgements("test_1") == transcripts * 2
    export(reading.data, tmp_path / "again")
    (again,) = read(str(tmp_path / "again"))
    assert again.data.judgements("test_1") == transcripts * 2


def test_judge_transcripts_under_other_column_names_are_read(hicupid_folder):
    question = load_hicupid("mini").questions("test_1")[0]
    table = evaluation_table([Judgement(question, "Plums.", "Satisfaction: NO")])
    (hicupid_folder / "evaluation").mkdir()
    renamed = table.drop_columns(["answer_is"]).rename_columns({"answer": "response", "judgement": "judgment"})
    pq.write_table(renamed, hicupid_folder / "evaluation" / "train.parquet")
    (reading,) = read(str(hicupid_folder))
    (found,) = reading.data.judgements("train")
    assert (found.answer, found.judgement, found.answer_is) == ("Plums.", "Satisfaction: NO", None)


def test_text_survives_unchanged(hicupid_folder):
    """Any text survives: other scripts, emoji, line breaks, bidirectional marks, a NUL."""
    odd = "  नमस्ते \u202e 👩‍👩‍👧 \r\n\ttab \x00 end  "

    def put(table: pa.Table) -> pa.Table:
        users = table["user"].to_pylist()
        users[0] = odd
        return table.set_column(table.schema.get_field_index("user"), "user", pa.array(users))

    rewrite(hicupid_folder / "dialogue" / "train.parquet", put)
    first = load_hicupid(str(hicupid_folder)).history(0)[0]
    assert first.messages[0].text == odd


def test_a_history_is_made_when_asked_for_not_when_loaded(hicupid_folder):
    data = load_hicupid(str(hicupid_folder))
    assert data.history(0) == data.history(0)
    assert data.history(0) is not data.history(0)
    assert pc.sum(pa.array([len(d.messages) for d in data.history(0)])).as_py() == 50


def test_a_file_of_questions_stands_for_its_split_from_anywhere(hicupid_folder, monkeypatch):
    monkeypatch.chdir(hicupid_folder / "qa")
    assert load_hicupid("test_2.parquet").user_ids == (3, 4, 5)
    with pytest.raises(DataError, match=r"is the dialogue part of a HiCUPID set; give its folder"):
        load_hicupid(str(hicupid_folder / "dialogue" / "train.parquet"))


def test_dialogues_are_found_in_whatever_split_they_are(hicupid_folder):
    """Split names are a hint where to look first; the dialogues may be elsewhere."""
    (hicupid_folder / "dialogue" / "train.parquet").rename(hicupid_folder / "dialogue" / "x.parquet")
    (hicupid_folder / "dialogue" / "test.parquet").rename(hicupid_folder / "dialogue" / "train.parquet")
    (hicupid_folder / "dialogue" / "x.parquet").rename(hicupid_folder / "dialogue" / "test.parquet")
    data = load_hicupid(str(hicupid_folder), splits=["test_2"])
    assert len(data.history(3)) == 13


def test_copies_and_hidden_folders_are_not_part_of_the_set(hicupid_folder):
    for copy in ("old", ".ipynb_checkpoints"):
        shutil.copytree(hicupid_folder / "qa", hicupid_folder / copy / "qa")
    assert records(load_hicupid(str(hicupid_folder))) == records(load_hicupid("mini"))


def test_parts_may_be_links(hicupid_folder, tmp_path):
    linked = tmp_path / "linked"
    linked.mkdir()
    for part in ("qa", "dialogue"):
        (linked / part).symlink_to(hicupid_folder / part, target_is_directory=True)
    (linked / "loop").symlink_to(linked, target_is_directory=True)
    assert records(load_hicupid(str(linked))) == records(load_hicupid("mini"))


def test_splits_can_be_left_out(hicupid_folder):
    shutil.copy(hicupid_folder / "qa" / "test_1.parquet", hicupid_folder / "qa" / "train.parquet")
    with pytest.raises(DataError, match="load one split at a time"):
        load_hicupid(str(hicupid_folder))
    assert load_hicupid(str(hicupid_folder), leave_out=["train"]).splits == ("test_1", "test_2")
    assert load_hicupid(str(hicupid_folder), splits=["train"]).splits == ("train",)
