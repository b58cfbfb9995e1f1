"""Records of a run: what is written is read again, and the first thing wrong with a record is said in one line."""

import pytest

from bowstring.benchmarks.questions.records import CODEC
from bowstring.runs.codec import KEYS_ONLY, Codec, NotARecord

RECORD = {
    "key": "anna-1",
    "user": "anna",
    "split": "test",
    "type": "fact",
    "question": "Where?",
    "gold": "In Oslo.",
    "evidence": [2],
}


def test_what_is_written_is_read_again_with_fields_of_ones_own():
    judged = {"answer": "In Rome.", "judgement": "Correct: NO", "verdict": "no", "score": 0.0}
    record = RECORD | judged | {"mine": {"anything": [1, None]}}
    assert CODEC.encode(record)["schema"] == 1
    assert CODEC.decode(CODEC.encode(record)) == record
    assert CODEC.decode(record) == record, "without a schema it is of this version"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"schema": 2}, "has schema 2, but this version reads up to 1; use a newer version of Bowstring"),
        ({"schema": "1"}, "has schema '1'; expected a number"),
        ({"user": 3}, "user is 3: input should be a valid string"),
        ({"evidence": [2, "x"]}, "evidence.1 is 'x': input should be a valid integer"),
        ({"score": 1.5}, "score is 1.5: input should be less than or equal to 1"),
        ({"judgement": "Correct: YES"}, "has judgement, and not all of answer, verdict and score"),
    ],
)
def test_the_first_thing_wrong_is_said(change, said):
    with pytest.raises(NotARecord) as error:
        CODEC.decode(RECORD | change)
    assert str(error.value) == said


def test_what_is_missing_is_named():
    with pytest.raises(NotARecord) as error:
        CODEC.decode({name: value for name, value in RECORD.items() if name != "gold"})
    assert str(error.value) == "has no gold, which every run has"
    with pytest.raises(NotARecord, match=r"^it is \[\]: "):
        KEYS_ONLY.decode([])


def test_ids_are_those_that_a_column_of_integers_holds():
    least, most = -(2**63), 2**63 - 1
    assert CODEC.decode(RECORD | {"evidence": [least, most]})["evidence"] == [least, most]
    for beyond in (least - 1, most + 1):
        with pytest.raises(NotARecord, match=r"^evidence\.0 is "):
            CODEC.decode(RECORD | {"evidence": [beyond]})


def test_an_earlier_schema_is_read():
    assert Codec(schema=3).decode({"schema": 2, "key": "a"}) == {"key": "a"}
