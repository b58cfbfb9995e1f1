"""History views show what their names say."""

import pytest

from bowstring.errors import UsageError
from bowstring.history import View, parse_view, select
from bowstring.records import Dialogue, Message

KINDS = ("full", "gold", "none", "last", "bm25", "summary")
TEXTS = ("a b", "c d", "b b", "e", "f")
HISTORY = tuple(Dialogue(n, "session", (Message("user", (text,)),)) for n, text in enumerate(TEXTS))


def shown(name: str, evidence=(1,), query="b") -> list[int]:
    view = parse_view(name, kinds=KINDS, units=("session",))
    return [d.id for d in select(view, HISTORY, evidence, query, lambda dialogue: 400)]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("full", [0, 1, 2, 3, 4]),
        ("gold", [1]),
        ("none", []),
        ("last:2", [3, 4]),
        ("last:99", [0, 1, 2, 3, 4]),
        ("last:1k", [3, 4]),
        ("bm25/session/2", [0, 2]),
        ("summary", [0, 1, 2, 3, 4]),
    ],
)
def test_a_view_shows_what_its_name_says(name, expected):
    assert shown(name) == expected


@pytest.mark.parametrize(
    "name", ["", "Full", "last", "last:", "last:-1", "last:2m", "bm25/turn/2", "bm25/session", "gold "]
)
def test_other_names_are_answered_with_those_there_are(name):
    with pytest.raises(UsageError, match="expected full, gold, none, last:N"):
        parse_view(name, kinds=KINDS, units=("session",))


def test_a_benchmark_has_the_kinds_it_has():
    assert parse_view("full", kinds=("full", "gold")) == View("full")
    with pytest.raises(UsageError, match="expected full or gold"):
        parse_view("summary", kinds=("full", "gold"))
