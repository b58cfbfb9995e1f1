"""The items of a run: how they are grouped, how one becomes a record, and which requests that takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from bowstring.errors import UsageError
from bowstring.records import Known, Planned
from bowstring.runs.asking import Asker
from bowstring.runs.runner import Record, Work
from bowstring.runs.shards import Shard
from bowstring.seeding import seeded_number


class Items(Protocol):
    """The items of a run, how one becomes a record, and how records are summarized."""

    def groups(self, limit: int | None) -> list[list[Any]]:
        """Return items in data order; items that share a trunk are in one group."""
        ...

    def whose(self, item: Any) -> tuple[str, str]:
        """Return the cluster that an item belongs to, such as its user, and its split."""
        ...

    def open_group(self, group: Sequence[Any], askers: Mapping[str, Asker]) -> Work[Any]:
        """Return the function that turns the items of a group into records. A role without an asker uses the builtin
        judge."""
        ...

    def plan(self, group: Sequence[Any], roles: Sequence[str], known: Known) -> Iterator[Planned]:
        """Yield the requests of a group; those that depend on answers that do not exist yet are estimated."""
        ...

    def summarize(self, records: Sequence[Record]) -> dict[str, Any]:
        """Return metrics, groups and counts; `shown` has the mean characters of history per item."""
        ...

    def texts(self) -> Iterator[str]:
        """Yield the messages of the histories, one after another."""
        ...

    def identities(self) -> dict[str, str]:
        """Return further identities that affect results, such as an embedder's: name and identity."""
        ...

    def notes(self) -> list[str]:
        """Return notes that a reader of the results must know."""
        ...


def chosen_groups(items: Items, *, limit: int | None, users: int | None, shard: Shard | None = None) -> list[list[Any]]:
    """Return the groups of the first `limit` items, or of `users` whole users: at random, in proportion to the splits.
    A larger number of users contains every smaller one. Of these, a shard has some whole users."""
    groups = items.groups(limit)
    if users is not None:
        if not _says_whose(items):
            raise UsageError("--users: this benchmark does not say whose its items are; use --limit")
        chosen = set(users_in_order(items, groups)[:users])
        groups = _of_clusters(items, groups, chosen.__contains__)
    if shard is not None:
        if not _says_whose(items):
            raise UsageError("--shard: this benchmark does not say whose its items are, so they cannot be divided")
        groups = _of_clusters(items, groups, shard.has)
    return groups


def _of_clusters(items: Items, groups: Sequence[Sequence[Any]], has: Callable[[str], bool]) -> list[list[Any]]:
    kept = ([item for item in group if has(items.whose(item)[0])] for group in groups)
    return [group for group in kept if group]


def clusters_of(items: Items, some: Iterable[Any]) -> list[str]:
    """Return whose these items are, each cluster once, in order; none if that is not known."""
    return list(dict.fromkeys(items.whose(item)[0] for item in some)) if _says_whose(items) else []


def users_in_order(items: Items, groups: Sequence[Sequence[Any]]) -> list[str]:
    """Return the users of these groups in random order, in proportion to the splits."""
    split_of: dict[str, str] = {}
    for group in groups:
        for item in group:
            split_of.setdefault(*items.whose(item))
    by_split: dict[str, list[str]] = {}
    for user in sorted(split_of, key=lambda user: seeded_number(0, "users", user)):
        by_split.setdefault(split_of[user], []).append(user)
    # The user at the same share of every split comes first: any beginning of this order is in proportion.
    places = {user: (n + 0.5) / len(own) for own in by_split.values() for n, user in enumerate(own)}
    return sorted(places, key=lambda user: (places[user], seeded_number(0, "users", user)))


def cluster_sizes(items: Items, groups: Sequence[Sequence[Any]]) -> list[int]:
    """Return how many items each cluster, such as a user, has in these groups; none if that is not known."""
    if not _says_whose(items):
        return []
    return list(Counter(items.whose(item)[0] for group in groups for item in group).values())


def _says_whose(items: Items) -> bool:
    return hasattr(items, "whose")  # a plugin's own items need not have it
