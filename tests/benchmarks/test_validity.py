"""Validity checks that need no model: names in answers, and whether scores depend on length."""

import pytest

from bowstring.benchmarks.cupid.validity import validity_of as of_cupid
from bowstring.benchmarks.hicupid.validity import KnownPersonas
from bowstring.benchmarks.hicupid.validity import validity_of as of_hicupid


def persona(category, entity, sentiment="POS"):
    return {"category": category, "relation": "likes", "entity": entity, "sentiment": sentiment}


def record(user, kind, about, answer, **more):
    own = {"key": f"{user}/{answer}", "user": user, "type": kind, "persona": about, "answer": answer}
    return own | {"personalized_answer": "Gold."} | more


SUSHI, CHESS, DOGS = persona("food", "sushi"), persona("games", "chess"), persona("pets", "dogs", "NEG")


def by_user(record):
    return str(record["user"])


def test_names_of_what_a_question_is_not_about_are_rates_by_type():
    records = [
        record(1, "persona", SUSHI, "Try some sushi.", score=0.5),
        record(1, "persona", CHESS, "Play chess, then eat sushi.", score=0.5),
        record(1, "persona", DOGS, "As you dislike dogs, a cat.", score=0.5),
        record(1, "schedule", None, "Done. Bring your chess set.", score=0.0),
        record(1, "schedule", None, "You are busy then.", score=1.0),
        record(2, "schedule", None, "Nothing is known of this user but chess.", score=0.0),
        record(1, "profile", SUSHI, "Chess and sushi.", score=0.0),
        {"user": 1, "type": "persona", "persona": SUSHI},  # failed before there was an answer
    ]
    named = of_hicupid(records, by_user)["named"]
    rates = {name: (rate["value"], rate["n"]) for name, rate in named.items()}
    assert rates["persona: another persona"] == (pytest.approx(100 / 3), 3)
    assert rates["schedule: another persona"] == (50, 2), "of user 2 nothing is known, so nothing can be dragged in"
    assert rates["dislikes respected"] == (100, 1)
    assert rates["dislikes omitted"] == (0, 1)
    assert not named["dislikes respected"]["trusted"]


def test_what_is_irrelevant_is_of_another_category_and_of_the_same_user():
    records = [record(1, "persona", SUSHI, "x"), record(1, "persona", persona("food", "tofu"), "x")]
    known = KnownPersonas([*records, record(2, "persona", CHESS, "x")])
    assert known.irrelevant(records[0]) == []
    assert [p.entity for p in known.irrelevant(record(2, "schedule", None, "x"))] == ["chess"]


def test_of_cupid_the_score_against_the_words():
    def one(user, words, score):
        return {"user": user, "generation": {"response": "word " * words, "score": score}}

    records = [one(n, n + 1, n + 1) for n in range(8)] + [{"user": 9, "generation": {"response": "x", "score": None}}]
    found = of_cupid(records, by_user)["length_correlation"]
    assert (found["value"], found["n"]) == (pytest.approx(1), 8)
    assert of_cupid(records[:1], by_user) == {}
