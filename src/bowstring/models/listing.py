"""What a server says of its models (GET /models), compared with what another server says: is it the same model?

Only what is unmistakable is a mismatch: one server has the name and the other does not, or llama.cpp gives other sizes.
Other differences may be harmless, such as the path of a file, and are for a note.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bowstring.files.escaping import one_line

_LONGEST = 80  # characters of a value in a message
_SHOWN = 3  # names of models in a message
_SIZES = ("n_params", "n_embd", "n_vocab", "size")  # llama.cpp's `meta`
_DESCRIPTIONS = ("owned_by", "root", "max_model_len")


@dataclass(frozen=True, slots=True)
class Listing:
    """The models of a server, and what it says of the one that is asked for, or of its only one."""

    ids: frozenset[str]
    sizes: Mapping[str, Any]
    descriptions: Mapping[str, Any]


def read_listing(answer: Any, model: str) -> Listing | None:
    """Return what an answer says; None if it is no list of models."""
    rows = answer.get("data") if isinstance(answer, dict) else None
    entries = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    named = {row["id"]: row for row in entries if isinstance(row.get("id"), str)}
    if not named:
        return None
    entry = named.get(model) or (next(iter(named.values())) if len(named) == 1 else {})
    meta = entry.get("meta")
    return Listing(frozenset(named), _scalars(meta, _SIZES), _scalars(entry, _DESCRIPTIONS))


def _scalars(row: Any, names: tuple[str, ...]) -> dict[str, Any]:
    if not isinstance(row, dict):
        return {}
    return {name: row[name] for name in names if isinstance(row.get(name), str | int | float)}


def mismatch(model: str, one: Listing, other: Listing) -> str | None:
    """Return in what way the second server has another model than the first, in words; None if it does not show."""
    if model in one.ids and model not in other.ids:
        return f"it has {_names(other.ids)}, not {model}"
    if model in other.ids and model not in one.ids:
        return f"it has {model}, and the other {_names(one.ids)}"
    return _difference(one.sizes, other.sizes)


def difference(model: str, one: Listing, other: Listing) -> str | None:
    """Return a difference that need not be one of the models."""
    if model not in one.ids and one.ids != other.ids:
        return f"its models are {_names(other.ids)}, not {_names(one.ids)}"
    return _difference(one.descriptions, other.descriptions)


def _difference(one: Mapping[str, Any], other: Mapping[str, Any]) -> str | None:
    for name in one.keys() & other.keys():
        if one[name] != other[name]:
            return f"its {name} is {_shown(other[name])}, not {_shown(one[name])}"
    return None


def _names(ids: frozenset[str]) -> str:
    first = sorted(ids)[:_SHOWN]
    return ", ".join(map(_shown, first)) + (" …" if len(ids) > _SHOWN else "")


def _shown(value: Any) -> str:
    return one_line(str(value))[:_LONGEST]
