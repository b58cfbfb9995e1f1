"""The responses in a store, chosen by what is known of them: list, show, remove, verify.

    chosen = Chosen(model="openai/gpt-4o-mini*", empty=True)
    drop(Path("runs/responses.sqlite"), chosen)

Patterns have * and ? as in file names; without them they match the whole text, or the beginning of a key.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, get_type_hints

from bowstring.errors import StoreError, UsageError
from bowstring.records import Message, Prompt, Sampling, Trunk
from bowstring.runs.rows import COLUMNS, Row
from bowstring.runs.salvage import is_trunk
from bowstring.runs.store import Store
from bowstring.settings import check_settings, option, options_of


@dataclass(frozen=True, slots=True)
class Chosen:
    """Which responses: those that fit everything given."""

    model: str | None = field(default=None, metadata=option("Only of this model; * stands for any text."))
    address: str | None = field(default=None, metadata=option("Only from this address; * stands for any text."))
    role: str | None = field(default=None, metadata=option("Only for this role, such as model or judge."))
    finish: str | None = field(
        default=None, metadata=option("Only with this finish: stop, length, refusal, filter, or as the server gave it.")
    )
    empty: bool = field(default=False, metadata=option("Only without text."))
    since: str | None = field(default=None, metadata=option("Only stored on this day or later.", metavar="YYYY-MM-DD"))
    before: str | None = field(default=None, metadata=option("Only stored before this day.", metavar="YYYY-MM-DD"))
    key: str | None = field(default=None, metadata=option("Only with a key that begins like this."))

    def __post_init__(self) -> None:
        check_settings(self)
        for one in options_of(Chosen):
            _check_not_empty(one.flag, getattr(self, one.field))
        for name in ("since", "before"):
            _moment(name, getattr(self, name))

    @property
    def is_all(self) -> bool:
        return self == Chosen()

    def has(self, row: StoredResponse) -> bool:
        since, before = _moment("since", self.since), _moment("before", self.before)
        return (
            _fits(self.model, row.model)
            and _fits(self.address, row.address)
            and _fits(self.role, row.role)
            and (self.finish is None or self.finish in (row.finish, row.raw_finish))
            and not (self.empty and row.text.strip())
            and (since is None or row.stored_at >= since)
            and (before is None or row.stored_at < before)
            and (self.key is None or row.key.startswith(self.key))
        )


@dataclass(frozen=True, slots=True)
class StoredResponse:
    """A row of the store."""

    key: str
    model: str
    trunk: str
    branch: str
    sampling: str
    text: str
    finish: str
    reasoning: str | None
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    role: str
    address: str
    sent: str
    raw_finish: str | None
    response_id: str | None
    engine: str
    precision: str
    may_be_thought: int
    stored_at: float
    hash: str

    @property
    def day(self) -> str:
        return self.when[:10]

    @property
    def when(self) -> str:
        try:
            return datetime.fromtimestamp(self.stored_at, UTC).isoformat(timespec="seconds")
        except (ValueError, OverflowError, OSError):
            return "an impossible date"

    def about(self) -> dict[str, str]:
        """Return where it came from, by names that people read; what is unknown is left out."""
        tokens = f"{self.prompt_tokens:,} prompt, {self.cached_tokens:,} cached, {self.completion_tokens:,} answer"
        found = {
            "role": self.role,
            "model": self.model,
            "address": self.address,
            "response id": self.response_id,
            "stored": self.when,
            "settings sent": self.sent,
            "settings asked": self.sampling,
            "finish": self.raw_finish or self.finish,
            "may be a thought": "yes" if self.may_be_thought else "",
            "engine": self.engine,
            "precision": self.precision,
            "tokens": tokens,
            "key": self.key,
        }
        return {name: value for name, value in found.items() if value}

    def prompt(self, trunk: Trunk) -> Prompt:
        branch = tuple(Message(role, tuple(parts)) for role, *parts in json.loads(self.branch))
        return Prompt(trunk, branch)

    def settings(self) -> Sampling:
        asked = json.loads(self.sampling)
        if unknown := asked.keys() - Sampling.__dataclass_fields__.keys():
            raise StoreError(
                f"response {self.key[:12]} was asked for with {min(unknown)}, which this version does not know"
            )
        return Sampling(**asked)

    def as_json(self) -> dict[str, Any]:
        found = {name: getattr(self, name) for name in self.__slots__ if name not in ("hash", "stored_at")}
        found |= {name: json.loads(text) if (text := found[name]) else {} for name in ("sampling", "sent")}
        found["may_be_thought"] = bool(self.may_be_thought)
        return found | {"branch": json.loads(self.branch), "stored": self.when}


@dataclass(slots=True)
class Kind:
    """Responses of one model from one address for one role."""

    model: str
    address: str
    role: str
    responses: int = 0
    empty: int = 0
    finishes: dict[str, int] = field(default_factory=dict)
    first: str = ""
    last: str = ""

    def count(self, row: StoredResponse) -> None:
        self.responses += 1
        self.empty += not row.text.strip()
        finish = row.raw_finish or row.finish
        self.finishes[finish] = self.finishes.get(finish, 0) + 1
        self.first, self.last = min(self.first or row.day, row.day), max(self.last, row.day)


def kinds(path: Path, chosen: Chosen) -> list[Kind]:
    """Return how many responses of each kind there are."""
    found: dict[tuple[str, str, str], Kind] = {}
    for row in select(path, chosen):
        name = (row.model, row.address, row.role)
        found.setdefault(name, Kind(*name)).count(row)
    return sorted(found.values(), key=lambda kind: (kind.model, kind.address, kind.role))


def select(path: Path, chosen: Chosen) -> list[StoredResponse]:
    with opened_store(path, readonly=True) as store:
        return [row for row in map(_stored, store.rows()) if chosen.has(row)]


def show(path: Path, key: str) -> tuple[StoredResponse, tuple[Message, ...]]:
    """Return the response whose key begins like this, and its whole prompt."""
    _check_not_empty("KEY", key)
    with opened_store(path, readonly=True) as store:
        found = [row for row in map(_stored, store.rows()) if row.key.startswith(key)]
        if not found:
            raise UsageError(f"{path} has no response with key {key}")
        if len(found) > 1:
            raise UsageError(f"{path} has {len(found):,} responses whose key begins with {key}; give more of it")
        return found[0], found[0].prompt(trunk_of(store, found[0])).messages


def look_up(path: Path, keys: Iterable[str]) -> dict[str, StoredResponse]:
    """Return the responses with these keys, without those that are not there: within milliseconds, however large the
    store is."""
    with opened_store(path, readonly=True, quick=True) as store:
        found = {key: store.row(key) for key in keys}
    return {key: _stored(row) for key, row in found.items() if row is not None}


def models_in(path: Path) -> list[str]:
    """Return the identities of the models whose responses are stored; none if there is no store."""
    if not path.is_file():
        return []
    with opened_store(path, readonly=True, quick=True) as store:
        return store.models()


def trunk_of(store: Store, row: StoredResponse) -> Trunk:
    """Return the trunk of a response's prompt; raise StoreError without it."""
    messages = store.trunk(row.trunk)
    if messages is None:
        way_out = f"remove the response with bowstring store drop --key {row.key[:16]}"
        raise StoreError(f"{store.path}: the prompt of {row.key[:16]} is missing or damaged; {way_out}")
    return Trunk(messages)


def trunks_of(path: Path, rows: Iterable[StoredResponse]) -> dict[str, Trunk]:
    """Return the trunks of responses by their hash, without those that are missing or damaged."""
    with opened_store(path, readonly=True, quick=True) as store:
        found = {digest: store.trunk(digest) for digest in dict.fromkeys(row.trunk for row in rows)}
    return {digest: Trunk(messages) for digest, messages in found.items() if messages is not None}


def drop(path: Path, chosen: Chosen) -> int:
    """Remove responses; return how many."""
    keys = [row.key for row in select(path, chosen)]
    with opened_store(path) as store:
        return store.drop(keys)


def verify(path: Path) -> tuple[int, list[str]]:
    """Check all responses; return how many there are, and what is wrong. Damage of the file raises StoreError."""
    with opened_store(path, readonly=True) as store:
        trunks = {digest for digest, packed in store.trunks() if is_trunk(digest, packed)}
        n, problems = 0, []
        for row in map(_stored, store.rows()):
            n += 1
            if row.trunk not in trunks:
                problems.append(f"{row.key}: its prompt is missing or damaged")
        return n, problems


def check_store(path: Path) -> None:
    """Raise a UsageError if there is no such file."""
    if not path.is_file():
        raise UsageError(f"{path}: no such store; give one with --store PATH")


@contextmanager
def opened_store(path: Path, *, readonly: bool = False, make: bool = False, quick: bool = False) -> Iterator[Store]:
    if not make:
        check_store(path)
    store = Store(path, readonly=readonly, quick=quick)
    try:
        yield store
    finally:
        store.close_now()


# SQLite lets a column hold any type, and the checksum of a row that somebody else wrote fits it.
_TYPES = tuple(get_type_hints(StoredResponse)[name] for name in COLUMNS)


def _stored(row: Row) -> StoredResponse:
    try:
        for name, value, expected in zip(COLUMNS, row, _TYPES, strict=True):
            if not isinstance(value, expected):
                raise ValueError(f"its {name} is of type {type(value).__name__}")
        return StoredResponse(**dict(zip(COLUMNS, row, strict=True)))  # type: ignore[arg-type]
    except ValueError as error:
        raise StoreError(f"a response cannot be read: {error}") from error


def _fits(pattern: str | None, text: str) -> bool:
    return pattern is None or fnmatchcase(text, pattern.replace("[", "[[]"))


def _check_not_empty(name: str, value: object) -> None:
    """Refuse an empty text, which would select everything or nothing."""
    if isinstance(value, str) and not value.strip():
        raise UsageError(f"{name} {value!r}: expected text, got an empty one (is a shell variable unset?)")


def _moment(name: str, day: str | None) -> float | None:
    if day is None:
        return None
    try:
        return datetime.strptime(day, "%Y-%m-%d").replace(tzinfo=UTC).timestamp()
    except (ValueError, OverflowError) as error:
        raise UsageError(f"--{name} {day}: expected a day such as {_example()}") from error


def _example() -> str:
    return (datetime.now(UTC) - timedelta(days=7)).strftime("%Y-%m-%d")
