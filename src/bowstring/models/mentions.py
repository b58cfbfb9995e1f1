"""Mentions of markers: where a text speaks of a marker of thoughts, and does not use it.

>>> Mentions("Use `</think>` to close it.").is_quoted(5, 13)
True

Each question takes logarithmic time: texts of models may repeat a marker thousands of times in one line.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cached_property

_AFTER_A_WORD = tuple(".,;:!?)，。；：！？）、")  # no answer begins with these
_FENCE = re.compile(r"^[ \t>]*+(?:`{3,}+|~{3,}+)([^`\n]*+)$", re.MULTILINE)
_FENCE_OR_TICKS = re.compile(rf"{_FENCE.pattern}|(`+)", re.MULTILINE)
# Marks that open and close in the same form. A star of a list, and an underscore in a name, do neither.
_DOUBLE_QUOTE = re.compile('"')
_STARS = re.compile(r"(?<=[^\s*])\*++|(?<!\*)\*++(?=\S)")
_UNDERSCORES = re.compile(r"(?<![A-Za-z0-9_])_++|(?<!_)_++(?![A-Za-z0-9])")
_CLOSING = {"“": "”", "„": "“”", "«": "»", "「": "」", "『": "』"}
_TYPOGRAPHIC = re.compile(f"[{''.join(_CLOSING)}{''.join(_CLOSING.values())}]")
_SINGLE = {"'": "'", "‘": "’"}  # also apostrophes, so only next to the marker
_NOT_BEFORE_AN_OPENING = re.compile(r"[A-Za-z0-9.,!?]")
_NOT_AFTER_A_CLOSING = re.compile(r"[A-Za-z0-9]")

_NEAR = 40  # characters before a marker that are looked at
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»」』)\]*_`]*[ \t]+\Z")
_SPACE_BEFORE = re.compile(r"[^\s][ \t]+\Z")
_SPACE_AFTER = re.compile(r"[ \t]+[^\s]")
_REST_OF_LINE = re.compile(r"[ \t]*(?:[\r\n]|\Z)")
_STARTS_LINE = re.compile(r"(?:\A|\n)[ \t]*\Z")


class Mentions:
    """What stands around the markers of one text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def is_quoted(self, start: int, end: int) -> bool:
        """Return whether text[start:end] stands in quotes, code or emphasis, or is a word of a sentence."""
        if self._text.startswith(_AFTER_A_WORD, end):
            return True
        before, after = self._text[start - 1 : start], self._text[end : end + 1]
        if after and _SINGLE.get(before) == after and self._may_open(start - 1):
            return True
        return (
            self._is_in_fence(start)
            or self._is_between(self._ticks, start, end)
            or self._is_in_typographic_quotes(start, end)
            or any(self._is_between_marks(*marks, start, end) for marks in self._marks)
        )

    def is_in_sentence(self, start: int, end: int) -> bool:
        """Return whether text[start:end] stands between two spaces of a line, and not after the end of a sentence."""
        before = self._near(start)
        between = _SPACE_BEFORE.search(before) is not None and _SPACE_AFTER.match(self._text, end) is not None
        return between and _SENTENCE_END.search(before) is None

    def ends_line(self, end: int) -> bool:
        return _REST_OF_LINE.match(self._text, end) is not None

    def is_apart(self, start: int) -> bool:
        """Return whether text[start:] begins its line, or follows its last word without a space."""
        return not self._text[start - 1 : start].isspace() or _STARTS_LINE.search(self._near(start)) is not None

    def _near(self, start: int) -> str:
        return self._text[max(0, start - _NEAR) : start]

    @cached_property
    def _lines(self) -> list[int]:
        return [match.start() for match in re.finditer("\n", self._text)]

    def _line(self, at: int) -> tuple[int, int]:
        n = bisect_left(self._lines, at)
        return self._lines[n - 1] + 1 if n else 0, self._lines[n] if n < len(self._lines) else len(self._text)

    @cached_property
    def _fences(self) -> tuple[list[int], list[bool]]:
        """Where lines of fences start, and whether they name a language: then they open a block."""
        found = list(_FENCE.finditer(self._text))
        return [match.start() for match in found], [bool(match[1].strip()) for match in found]

    def _is_in_fence(self, at: int) -> bool:
        """A fence that nothing closes may be a rest of a thought: then what follows has fences in pairs."""
        starts, opens = self._fences
        n = bisect_left(starts, at)
        return n % 2 == 1 and (len(starts) - n) % 2 == 1 and not opens[n]

    @cached_property
    def _ticks(self) -> list[int]:
        return [match.start() for match in _FENCE_OR_TICKS.finditer(self._text) if match[2]]

    @cached_property
    def _marks(self) -> list[tuple[list[int], list[int]]]:
        """Where marks of each kind start, and where they end."""
        kinds = [list(kind.finditer(self._text)) for kind in (_DOUBLE_QUOTE, _STARS, _UNDERSCORES)]
        return [([match.start() for match in marks], [match.end() for match in marks]) for marks in kinds]

    def _is_between(self, places: Sequence[int], start: int, end: int) -> bool:
        """Return whether an odd number of marks stands before the marker in its line, and after it."""
        first, last = self._line(start)
        before = bisect_left(places, start) - bisect_left(places, first)
        return before % 2 == 1 and (bisect_left(places, last) - bisect_left(places, end)) % 2 == 1

    def _is_between_marks(self, starts: Sequence[int], ends: Sequence[int], start: int, end: int) -> bool:
        """The same for marks that are also something else, such as inches: their neighbours must not say so."""
        if not self._is_between(starts, start, end):
            return False
        opening, closing = starts[bisect_left(starts, start) - 1], ends[bisect_left(starts, end)]
        return self._may_open(opening) and _NOT_AFTER_A_CLOSING.match(self._text, closing) is None

    def _may_open(self, at: int) -> bool:
        return at == 0 or _NOT_BEFORE_AN_OPENING.match(self._text, at - 1) is None

    @cached_property
    def _typographic(self) -> list[int]:
        return [match.start() for match in _TYPOGRAPHIC.finditer(self._text)]

    def _is_in_typographic_quotes(self, start: int, end: int) -> bool:
        places, (first, last) = self._typographic, self._line(start)
        before, after = bisect_left(places, start) - 1, bisect_left(places, end)
        if before < 0 or after >= len(places) or places[before] < first or places[after] >= last:
            return False
        return self._text[places[after]] in _CLOSING.get(self._text[places[before]], "")
