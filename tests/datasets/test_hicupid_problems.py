"""Damaged HiCUPID sets: every problem is found, with file, row, column and what was expected."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bowstring.datasets import load_hicupid
from bowstring.datasets.loading import read
from bowstring.errors import DataError

QA, DIALOGUE = "qa/test_2.parquet", "dialogue/test.parquet"


def edit(folder, name, change) -> None:
    """Change the rows of a file as Python objects; Arrow infers the types anew."""
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
            f"{QA} row 5: user_id is 77, whose history is empty: no dialogue is theirs",
        ),
        (
            QA,
            setter(2, "dialogue_id", [9999]),
            f"{QA} row 2: dialogue_id names dialogue 9999, which does not exist; expected one of user 3's",
        ),
        (
            QA,
            setter(2, "dialogue_id", [160]),
            f"{QA} row 2: dialogue_id names dialogue 160, which belongs to user 4; expected one of user 3's",
        ),
        (QA, setter(2, "dialogue_id", []), f"{QA} row 2: dialogue_id is an empty list; expected at least one id"),
        (
            QA,
            setter(2, "dialogue_id", [120, None]),
            f"{QA} row 2: dialogue_id holds a null; expected a list of integers",
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
            f"{QA}: has no column personalized_answer; expected one with text a row",
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
            f"{DIALOGUE} row 75: dialogue_id is 120 again (first in {DIALOGUE} row 0); "
            "expected its turns together",
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
    assert f"{DIALOGUE} row {second}: dialogue_id is {turns[second]} of user 3 too" in problems(hicupid_folder)
    edit(hicupid_folder, DIALOGUE, setter(second, "user_id", 3))
    edit(hicupid_folder, DIALOGUE, setter(second, "type", "profile"))
    assert problems(hicupid_folder) == [
        f"{DIALOGUE} row {second}: type changes within dialogue {turns[second]}; expected one for all",
        f"{DIALOGUE} row {second + 1}: type changes within dialogue {turns[second]}; expected one for all",
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


def test_text_that_is_not_utf8_is_named_with_its_row(hicupid_folder):
    path = hicupid_folder / DIALOGUE
    table = pq.read_table(path)
    texts = [t.encode() for t in table["user"].to_pylist()]
    texts[17] = b"caf\xe9"
    broken = pa.Array.from_buffers(pa.string(), len(texts), pa.array(texts, pa.binary()).buffers())
    pq.write_table(table.set_column(table.schema.get_field_index("user"), "user", broken), path)
    assert problems(hicupid_folder)[0] == f"{DIALOGUE} row 17: user is not valid; expected text"


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
    assert found[0] == f"{DIALOGUE}: has no rows; expected a turn a row"
    assert len(found) == 31


def test_ids_shared_across_splits_are_only_a_warning(hicupid_folder):
    edit(
        hicupid_folder,
        QA,
        lambda rows: [row.update(user_id=0, dialogue_id=[0], question_id=i) for i, row in enumerate(rows[:1])],
    )
    (reading,) = read(str(hicupid_folder))
    assert reading.problems == []
    assert [str(w) for w in reading.warnings] == [f"{QA}: question_id is 0 for user 0, as in split test_1"]


def test_a_folder_without_questions_says_so(hicupid_folder):
    for path in (hicupid_folder / "qa").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="has no qa/ part"):
        load_hicupid(str(hicupid_folder))
