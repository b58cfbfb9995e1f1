"""Which items a run takes: the first ones, or whole users from every split."""

from collections import Counter
from itertools import pairwise

import pytest

import bowstring
from bowstring.errors import UsageError
from bowstring.runs.items import chosen_groups


class Questions:
    """Three questions of each of 100 users, 80 of them in one split."""

    def groups(self, limit):
        items = [(user, n) for user in range(100) for n in range(3)][:limit]
        return [[item for item in items if item[0] == user] for user in range(100) if (user, 0) in items]

    def whose(self, item):
        return str(item[0]), "seen" if item[0] < 80 else "unseen"


def users_of(groups):
    return [group[0][0] for group in groups]


def test_users_are_whole_and_in_proportion_and_in_order():
    groups = chosen_groups(Questions(), limit=None, users=10)
    assert [len(group) for group in groups] == [3] * 10
    chosen = users_of(groups)
    assert chosen == sorted(chosen) != list(range(10))
    assert Counter(user < 80 for user in chosen) == {True: 8, False: 2}


def test_a_larger_number_contains_a_smaller_one():
    sizes = [set(users_of(chosen_groups(Questions(), limit=None, users=n))) for n in (1, 5, 20, 99, 100, 500)]
    assert [len(users) for users in sizes] == [1, 5, 20, 99, 100, 100]
    assert all(few <= many for few, many in pairwise(sizes))


def test_items_that_belong_to_nobody_cannot_be_chosen_by_user():
    class Items:
        def groups(self, limit):
            return [[1], [2]]

    assert chosen_groups(Items(), limit=None, users=None) == [[1], [2]]
    with pytest.raises(UsageError, match="does not say whose its items are"):
        chosen_groups(Items(), limit=None, users=1)


def test_a_run_of_some_users_grows(tmp_path):
    settings = {"retrieval_only": True, "history": "bm25/dialogue/1", "out": tmp_path / "r"}
    first = bowstring.evaluate("hicupid", users=2, **settings)
    assert {r["user"] for r in first.records()} < {
        r["user"] for r in bowstring.evaluate("hicupid", users=4, **settings).records()
    }
    with pytest.raises(UsageError, match="--limit and --users exclude each other"):
        bowstring.evaluate("hicupid", users=2, limit=3, **settings)
