"""Damaged HiCUPID sets: every problem is found, with file, row, column and what was expected."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bowstring.benchmarks.loading import load_hicupid, read
from bowstring.errors import DataError

QA, DIALOGUE = "qa/test_2.parquet", "dialogue/test.parquet"


def edit(folder, name, change) -> None:
    """Change the rows of a file as Python objects; Arrow infers the types again."""
    path = folder / name
    rows = pq.read_table(path).to_pylist()
    change(rows)
    pq.write_table(pa.Table.from_pylist(rows), path)


def problems(folder) -> list[str]:
    (reading,) = read(str(folder))
    return [str(p) for p in reading.problems]


def setter(row, column, value):
    def change(rows):
        rows[row][column] = value

    return change


@pytest.mark.parametrize(
    ("name", "change", "expected"),
    [
        (
            QA,
            setter(8, "type", "horoscope"),
            f"{QA} row 8: type is 'horoscope'; expected persona, profile or schedule",
        ),
        (QA, setter(3, "question", None), f"{QA} row 3: question is null; expected text"),
        (QA, setter(3, "general_answer", " \n"), f"{QA} row 3: general_answer is blank; expected some text"),
        (QA, setter(5, "user_id", None), f"{QA} row 5: user_id is null; expected an integer"),
        (
            QA,
            setter(5, "user_id", 77),
            f"{QA} row 5: user_id is 77, whose history is empty: no dialogue has this user_id",
        ),
        (
            QA,
            setter(2, "dialogue_id", [9999]),
            f"{QA} row 2: dialogue_id names dialogue 9999, which does not exist; expected a dialogue of user 3",
        ),
        (
            QA,
            setter(2, "dialogue_id", [160]),
            f"{QA} row 2: dialogue_id names dialogue 160, which belongs to user 4; expected a dialogue of user 3",
        ),
        (QA, setter(2, "dialogue_id", []), f"{QA} row 2: dialogue_id is an empty list; expected at least one id"),
        (
            QA,
            setter(2, "dialogue_id", [120, None]),
            f"{QA} row 2: dialogue_id contains a null; expected a list of integers",
        ),
        (
            QA,
            setter(2, "question_id", 121),
            f"{QA} row 2: question_id is 121 again for user 3 (first in {QA} row 1)",
        ),
        (
            QA,
            lambda rows: rows[0]["metadata"]["persona"].update(sentiment="MEH"),
            f"{QA} row 0: metadata.persona.sentiment is 'MEH'; expected POS or NEG",
        ),
        (
            QA,
            lambda rows: rows[0]["metadata"]["persona"].update(entity=None),
            f"{QA} row 0: metadata.persona.entity is null; a persona question needs it",
        ),
        (
            QA,
            lambda rows: [row.pop("personalized_answer") for row in rows],
            f"{QA}: has no column personalized_answer; expected one with text per row",
        ),
        (
            QA,
            lambda rows: [row["metadata"].pop("schedule") for row in rows],
            f"{QA}: has no field schedule in column metadata",
        ),
        (
            QA,
            lambda rows: [row.update(user_id=str(row["user_id"])) for row in rows],
            f"{QA}: user_id is of type string; expected an integer",
        ),
        (
            QA,
            lambda rows: [row.update(dialogue_id=row["dialogue_id"][0]) for row in rows],
            f"{QA}: dialogue_id is of type int64; expected a list of integers",
        ),
        (
            QA,
            lambda rows: [row.update(question=7) for row in rows],
            f"{QA}: question is of type int64; expected text",
        ),
        (
            DIALOGUE,
            lambda rows: rows.append(dict(rows[0])),
            f"{DIALOGUE} row 75: dialogue_id is 120 again (first in {DIALOGUE} row 0); expected its turns in "
            "consecutive rows",
        ),
    ],
)
def test_a_problem_names_file_row_column_and_what_was_expected(hicupid_folder, name, change, expected):
    edit(hicupid_folder, name, change)
    assert problems(hicupid_folder) == [expected]


def test_an_unknown_dialogue_type_is_found(hicupid_folder):
    turns = pq.read_table(hicupid_folder / DIALOGUE)["dialogue_id"].to_pylist()
    alone = next(i for i in range(len(turns)) if turns.count(turns[i]) == 1)
    edit(hicupid_folder, DIALOGUE, setter(alone, "type", "Schedule"))
    assert problems(hicupid_folder) == [
        f"{DIALOGUE} row {alone}: type is 'Schedule'; expected persona, profile or schedule"
    ]


def test_a_dialogue_of_two_users_or_types_is_found(hicupid_folder):
    turns = pq.read_table(hicupid_folder / DIALOGUE)["dialogue_id"].to_pylist()
    second = next(i for i in range(1, len(turns)) if turns[i] == turns[i - 1])
    edit(hicupid_folder, DIALOGUE, setter(second, "user_id", 5))
    assert f"{DIALOGUE} row {second}: dialogue_id is {turns[second]}, which is also of user 3" in problems(
        hicupid_folder
    )
    edit(hicupid_folder, DIALOGUE, setter(second, "user_id", 3))
    edit(hicupid_folder, DIALOGUE, setter(second, "type", "profile"))
    assert problems(hicupid_folder) == [
        f"{DIALOGUE} row {second}: type changes within dialogue {turns[second]}; expected one type per dialogue",
        f"{DIALOGUE} row {second + 1}: type changes within dialogue {turns[second]}; expected one type per dialogue",
    ]


def test_a_dialogue_in_both_dialogue_files_is_found(hicupid_folder):
    extra = pq.read_table(hicupid_folder / "dialogue/train.parquet").to_pylist()[0]
    edit(hicupid_folder, DIALOGUE, lambda rows: rows.append(extra))
    (found,) = problems(hicupid_folder)
    assert "dialogue_id is 0 again (first in dialogue/" in found


def test_every_problem_is_listed_not_only_the_first(hicupid_folder):
    def damage(rows):
        rows[0]["type"] = "horoscope"
        rows[4]["question"] = ""
        rows[9]["dialogue_id"] = [1]
        rows[11]["question_id"] = rows[10]["question_id"]

    edit(hicupid_folder, QA, damage)
    edit(hicupid_folder, "qa/test_1.parquet", setter(29, "personalized_answer", None))
    found = problems(hicupid_folder)
    assert len(found) == 5
    with pytest.raises(DataError, match=r"\(and 4 more: bowstring data validate ") as error:
        load_hicupid(str(hicupid_folder))
    assert len(error.value.problems) == 5


def test_every_text_that_is_not_utf8_is_named_with_its_row(hicupid_folder):
    path = hicupid_folder / DIALOGUE
    table = pq.read_table(path)
    texts = [t.encode() for t in table["user"].to_pylist()]
    texts[17] = texts[40] = b"caf\xe9"
    broken = pa.Array.from_buffers(pa.string(), len(texts), pa.array(texts, pa.binary()).buffers())
    pq.write_table(table.set_column(table.schema.get_field_index("user"), "user", broken), path)
    edit(hicupid_folder, QA, setter(0, "type", "horoscope"))
    assert problems(hicupid_folder) == [
        f"{DIALOGUE} row 17: user is not UTF-8; expected text",
        f"{DIALOGUE} row 40: user is not UTF-8; expected text",
        f"{QA} row 0: type is 'horoscope'; expected persona, profile or schedule",
    ]


def test_a_number_that_does_not_fit_is_named_with_its_row(hicupid_folder):
    table = pq.read_table(hicupid_folder / QA)
    ids = table["question_id"].to_pylist()
    ids[4] = 2**64 - 1
    column = pa.array(ids, pa.uint64())
    pq.write_table(
        table.set_column(table.schema.get_field_index("question_id"), "question_id", column), hicupid_folder / QA
    )
    assert problems(hicupid_folder) == [f"{QA} row 4: question_id is too large; expected an integer"]


def test_a_broken_column_does_not_hide_what_else_is_wrong(hicupid_folder):
    def damage(rows):
        for row in rows:
            row.pop("question")
        rows[0]["type"] = "horoscope"
        rows[2]["dialogue_id"] = [9999]

    edit(hicupid_folder, QA, damage)
    assert problems(hicupid_folder) == [
        f"{QA}: has no column question; expected one with text per row",
        f"{QA} row 0: type is 'horoscope'; expected persona, profile or schedule",
        f"{QA} row 2: dialogue_id names dialogue 9999, which does not exist; expected a dialogue of user 3",
    ]


def test_a_missing_struct_is_one_problem(hicupid_folder):
    edit(hicupid_folder, QA, lambda rows: [row.pop("metadata") for row in rows])
    assert problems(hicupid_folder) == [f"{QA}: has no column metadata; expected one with a struct per row"]
    edit(hicupid_folder, QA, lambda rows: [row.update(metadata="none") for row in rows])
    assert problems(hicupid_folder) == [f"{QA}: metadata is of type string; expected a struct"]


def test_a_column_that_is_there_twice_is_a_problem(hicupid_folder):
    table = pq.read_table(hicupid_folder / QA)
    pq.write_table(table.append_column("question", table["question"]), hicupid_folder / QA)
    assert problems(hicupid_folder) == [f"{QA}: has the column question twice; expected it once"]


def test_a_user_in_two_dialogue_splits_is_found(hicupid_folder):
    """Otherwise one split would silently hide the history in the other."""

    def add(rows):
        rows.append(rows[0] | {"user_id": 0, "dialogue_id": 999_999})

    edit(hicupid_folder, DIALOGUE, add)
    (found,) = problems(hicupid_folder)
    assert "who is also in split" in found


def test_tables_without_rows_are_found(hicupid_folder):
    pq.write_table(pq.read_table(hicupid_folder / QA).slice(0, 0), hicupid_folder / QA)
    assert problems(hicupid_folder) == [f"{QA}: has no rows; expected one question per row"]


def test_evidence_of_judge_transcripts_is_checked(hicupid_folder):
    rows = pq.read_table(hicupid_folder / QA).to_pylist()[:2]
    for row in rows:
        row.update(answer="Plums.", judgement="Better Response: A")
    rows[1]["dialogue_id"] = [9999]
    (hicupid_folder / "evaluation").mkdir()
    pq.write_table(pa.Table.from_pylist(rows), hicupid_folder / "evaluation" / "train.parquet")
    (found,) = problems(hicupid_folder)
    assert found.startswith("evaluation/train.parquet row 1: dialogue_id names dialogue 9999")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"<html>not found</html>", b"PAR1" + b"\0" * 100 + b"PAR1"])
def test_a_file_that_is_not_parquet_is_a_problem_not_a_crash(hicupid_folder, content):
    (hicupid_folder / QA).write_bytes(content)
    found = problems(hicupid_folder)
    assert len(found) == 1
    assert found[0].startswith(f"{QA}: cannot be read as parquet: ")


def test_a_file_cut_short_is_a_problem_not_a_crash(hicupid_folder):
    whole = (hicupid_folder / QA).read_bytes()
    for length in range(0, len(whole), max(1, len(whole) // 40)):
        (hicupid_folder / QA).write_bytes(whole[:length])
        assert len(problems(hicupid_folder)) == 1


def test_an_empty_dialogue_table_is_found(hicupid_folder):
    table = pq.read_table(hicupid_folder / DIALOGUE)
    pq.write_table(table.slice(0, 0), hicupid_folder / DIALOGUE)
    found = problems(hicupid_folder)
    assert found[0] == f"{DIALOGUE}: has no rows; expected one turn per row"
    assert len(found) == 31


def test_no_two_questions_share_a_key_across_splits(hicupid_folder):
    edit(hicupid_folder, QA, lambda rows: rows[7].update(user_id=0, dialogue_id=[0], question_id=0))
    assert problems(hicupid_folder) == [
        f"{QA} row 7: question_id is 0 for user 0, which is also in split test_1; load one split at a time"
    ]


def test_a_folder_without_questions_says_so(hicupid_folder):
    for path in (hicupid_folder / "qa").iterdir():
        path.unlink()
    assert problems(hicupid_folder) == ["qa/: is missing; expected qa/*.parquet beside the other part"]
