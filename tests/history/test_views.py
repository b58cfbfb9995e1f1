"""History views show what their names promise."""

from typing import get_args

import pytest

from bowstring.errors import UsageError
from bowstring.history import Reader, View, parse_view
from bowstring.history.bm25 import stems
from bowstring.history.views import Kind
from bowstring.records import Dialogue, Message

KINDS = get_args(Kind)
UNITS = ("utterance", "dialogue")


def turn(said: str, answered: str = "ok") -> tuple[Message, Message]:
    return Message("user", (said,)), Message("assistant", (answered,))


# Two turns in the first, then one each. "plums" is in a user's words in 1 and only in an answer in 3.
HISTORY = (
    Dialogue(10, "persona", (*turn("hello there"), *turn("a boat"))),
    Dialogue(11, "persona", turn("we ate plums")),
    Dialogue(12, "profile", turn("I drive a bus")),
    Dialogue(13, "schedule", turn("lunch", "with plums, plums and plums")),
    Dialogue(14, "persona", turn("rain")),
)


def reader(tokens_a_message: int = 200) -> Reader:
    return Reader(HISTORY, lambda texts: [tokens_a_message] * len(texts))


def shown(name: str, query: str = "plums", evidence=(11, 13)) -> list[tuple[int, int]]:
    """Ids and numbers of messages."""
    view = parse_view(name, kinds=KINDS, units=UNITS)
    return [(d.id, len(d.messages)) for d in reader().show(view, evidence=evidence, query=query)]


WHOLE = [(10, 4), (11, 2), (12, 2), (13, 2), (14, 2)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("full", WHOLE),
        ("gold", [(11, 2), (13, 2)]),
        ("none", []),
        ("last:2", [(13, 2), (14, 2)]),
        ("last:99", WHOLE),
        ("last:1k", [(13, 2), (14, 2)]),
        ("last:2k", [(10, 2), *WHOLE[1:]]),
        ("bm25/utterance/1", [(11, 2)]),
        ("bm25/dialogue/1", [(13, 2)]),
        ("bm25/dialogue/2", [(11, 2), (13, 2)]),
        ("bm25/utterance/99", WHOLE),
        ("summary", WHOLE),
    ],
)
def test_a_view_shows_what_its_name_says(name, expected):
    assert shown(name) == expected


def test_the_newest_turns_that_fit_have_no_gap_and_are_the_newest():
    view = parse_view("last:2k", kinds=KINDS, units=UNITS)
    first, *_ = reader().show(view, evidence=(), query="")
    assert [m.text for m in first.messages] == ["a boat", "ok"], "the later of its two turns"


def test_found_turns_are_shown_with_their_answers_in_the_order_of_the_history():
    view = parse_view("bm25/utterance/2", kinds=KINDS, units=UNITS)
    found = reader().show(view, evidence=(), query="rain on the boat")
    assert [[m.text for m in d.messages] for d in found] == [["a boat", "ok"], ["rain", "ok"]]


def test_a_dense_order_is_told_and_not_guessed():
    view = parse_view("dense/dialogue/2", kinds=KINDS, units=UNITS)
    told = reader()
    with pytest.raises(LookupError):
        told.show(view, evidence=(), query="q")
    told.set_order("dense", "dialogue", "q", [4, 0, 1, 2, 3])
    assert [d.id for d in told.show(view, evidence=(), query="q")] == [10, 14]


def test_every_history_is_counted_and_indexed_once():
    counted = []
    told = Reader(HISTORY, lambda texts: counted.append(len(texts)) or [1] * len(texts))
    for name in ("last:1k", "last:4k", "last:8k"):
        told.show(parse_view(name, kinds=KINDS, units=UNITS), evidence=(), query="")
    assert counted == [12]


@pytest.mark.parametrize(
    "name", ["", "Full", "last", "last:", "last:-1", "last:2m", "bm25/turn/2", "bm25/dialogue", "gold ", "dense/x/1"]
)
def test_other_names_are_answered_with_those_there_are(name):
    with pytest.raises(UsageError, match="expected full, gold, none, last:N"):
        parse_view(name, kinds=KINDS, units=UNITS)


def test_a_benchmark_has_the_kinds_it_has():
    assert parse_view("full", kinds=("full", "gold"), units=UNITS) == View("full")
    with pytest.raises(UsageError, match="expected full or gold"):
        parse_view("summary", kinds=("full", "gold"), units=UNITS)


def test_stems_find_other_forms_of_a_word_and_no_function_words():
    assert set(stems("gardens")) == set(stems("gardening"))
    assert stems("What about it, then?") == []


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("fulll", "full"), ("bm25/dialog/3", "bm25/dialogue/3"), ("lst:4", "last:4"), ("sumary", "summary")],
)
def test_a_typing_error_is_recognized(typed, meant):
    kinds = ("full", "gold", "none", "last", "bm25", "summary")
    with pytest.raises(UsageError, match=rf"--history {typed}: expected .*; did you mean {meant}\?"):
        parse_view(typed, kinds=kinds, units=("utterance", "dialogue"))
