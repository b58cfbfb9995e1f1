"""Shards divide the users of a run: disjoint, complete, and the same on every machine."""

from collections import Counter

import pytest

from bowstring.errors import UsageError
from bowstring.runs.items import chosen_groups
from bowstring.runs.shards import Shard, count_of_shards, number_of, shards_with
from tests.runs.test_items import Questions, users_of


def parts(of, **chosen):
    options = {"limit": None, "users": None} | chosen
    return [chosen_groups(Questions(), **options, shard=Shard(n, of)) for n in range(1, of + 1)]


@pytest.mark.parametrize("of", [1, 2, 4, 7, 64, 500])
def test_shards_are_disjoint_and_complete_and_in_the_order_of_the_data(of):
    found = parts(of)
    assert sorted(group for part in found for group in part) == chosen_groups(Questions(), limit=None, users=None)
    assert all(users_of(part) == sorted(users_of(part)) for part in found)


def test_the_shard_of_a_user_is_the_same_on_every_machine_and_in_every_version():
    assert [number_of(f"user {n}", 4) for n in range(8)] == [2, 2, 3, 4, 3, 1, 1, 1]
    assert number_of("Zoë 人 \ud800", 1000) == 347


def test_limit_and_users_apply_first():
    few = chosen_groups(Questions(), limit=31, users=None)
    assert sorted(group for part in parts(3, limit=31) for group in part) == few
    sampled = chosen_groups(Questions(), limit=None, users=10)
    assert sorted(group for part in parts(3, users=10) for group in part) == sampled


def test_a_user_stays_in_a_shard_whoever_else_is_there():
    whole = {user: n for n, part in enumerate(parts(4)) for user in users_of(part)}
    fewer = {user: n for n, part in enumerate(parts(4, users=20)) for user in users_of(part)}
    assert fewer.items() <= whole.items()


def test_shards_are_about_equal():
    sizes = Counter(number_of(str(user), 8) for user in range(25_000))
    assert len(sizes) == 8
    assert all(abs(size - 3125) < 4 * 3125**0.5 for size in sizes.values())


@pytest.mark.parametrize("given", ["0/4", "5/4", "1", "1/", "/4", "-1/4", "1/0", "01/4", "1/4 ", "１/4", "1/4/2", ""])
def test_other_shards_are_refused(given):
    with pytest.raises(UsageError, match=r"--shard .*: expected I/N with I from 1 to N"):
        Shard.parse(given)


def test_items_that_belong_to_nobody_cannot_be_divided():
    class Items:
        def groups(self, limit):
            return [[1], [2]]

    with pytest.raises(UsageError, match="--shard: this benchmark does not say whose its items are"):
        chosen_groups(Items(), limit=None, users=None, shard=Shard(1, 2))


def test_the_shards_of_missing_users_are_found_from_the_runs_beside(tmp_path):
    def write(name):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / "run.json").write_text("{}")

    write("a[1]-shard-1-of-4")
    write("a[1]-shard-3-of-4")
    write("b-shard-1-of-9")
    (tmp_path / "a[1]-shard-1-of-2").mkdir()  # one that was refused
    assert count_of_shards([tmp_path / "a[1]"]) == 4
    assert count_of_shards([tmp_path / "c"]) is None
    write("a[1]-shard-1-of-2")
    assert count_of_shards([tmp_path / "a[1]"]) is None, "two divisions"
    assert shards_with(["user 0", "user 5", "user 2"], 4) == [Shard(1, 4), Shard(2, 4), Shard(3, 4)]
