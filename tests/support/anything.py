"""Arbitrary file contents, for property tests of everything that is read.

value = data.draw(ANYTHING); damaged(document, data.draw) has one place of it replaced
"""

import copy
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from bowstring.errors import BowstringError

LONG = "long " * 200_000
ODD_TEXTS = ["", " ", "\x00", "\ud800", "\u202e", "../../x", "=1+1", "<script>", "9" * 5000, "NaN", "win", "A", "-1"]
ODD_NUMBERS = [0, -1, 1, 0.5, 2**63, 10**400, -0.0, 1e308, math.nan, math.inf, -math.inf]
LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from(ODD_NUMBERS),
    st.integers(-5, 5),
    st.sampled_from(ODD_TEXTS),
    st.text(max_size=6),
    st.just(LONG),
)
ANYTHING = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
NO_DOCUMENTS = st.binary(max_size=60) | st.sampled_from(
    [
        *(b"", b"null", b"NaN", b"[]", b"{}", b'"x"', b"\xff\xfe", b"\xef\xbb\xbf{}", b"[" * 100_000),
        *(b'{"a":' * 100_000, b"9" * 10_000, b'{"a": "\\ud800"}', b'"' + b"x" * 1_000_000, b"a: &a [*a]", b"\x00" * 9),
    ]
)


def places(document: Any, before: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path to every value in a document, except the document itself."""
    inside = document.items() if isinstance(document, dict) else enumerate(document) if _is_list(document) else ()
    return [way for key, value in inside for way in ((*before, key), *places(value, (*before, key)))]


def damaged(document: Any, draw: Any) -> Any:
    """The document with one value removed or replaced by anything."""
    way = draw(st.sampled_from(places(document)))
    changed = copy.deepcopy(document)
    at = changed
    for key in way[:-1]:
        at = at[key]
    if draw(st.integers(0, 4)) == 0:
        del at[way[-1]]
    else:
        at[way[-1]] = draw(ANYTHING)
    return changed


def said_or_read(read: Callable[[], object], path: Path) -> None:
    """Read, or rejected with one line that names the file; nothing else may happen."""
    try:
        read()
    except BowstringError as error:
        said = str(error)
    else:
        return
    assert "\n" not in said
    assert len(said) < 2000
    assert path.name in said, said


def as_bytes(document: Any) -> bytes:
    return json.dumps(document).encode("utf-8", "surrogatepass")


def _is_list(value: Any) -> bool:
    return isinstance(value, list)
