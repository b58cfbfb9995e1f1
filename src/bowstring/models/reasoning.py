"""Separate the thoughts of a model from its answer, by the markers that families of models put around them.

>>> split_reasoning("<think>They avoid beetroot.</think>Try lentils.")
('Try lentils.', 'They avoid beetroot.')

A text without an answer is all thought, and its answer is empty: it was truncated, or the model stopped too early.
A marker that a text only mentions does not count.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from bowstring.models.channels import BLANKS, Part, bare_channel_parts, channel_parts, starts_in_channel
from bowstring.models.mentions import Mentions


@dataclass(frozen=True, slots=True)
class ThoughtFormat:
    """What a family of models writes before and after its thoughts."""

    open: str
    close: str


# gpt-oss writes each thought and the answer in a channel.
HARMONY = ThoughtFormat("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>")
FORMATS = (
    *(ThoughtFormat(f"<{tag}>", f"</{tag}>") for tag in ("think", "thinking", "reasoning", "thought", "seed:think")),
    ThoughtFormat("[THINK]", "[/THINK]"),  # Magistral
    ThoughtFormat("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ThoughtFormat("◁think▷", "◁/think▷"),  # Kimi
    ThoughtFormat("<|channel>thought", "<channel|>"),  # Gemma
    HARMONY,
)
_OPENING = {format.open: format for format in FORMATS}
_CLOSING = {format.close: format for format in FORMATS}
_MARKER = re.compile("|".join(map(re.escape, [*_OPENING, *_CLOSING])))


def opened_format(prompt: str) -> ThoughtFormat | None:
    """Return the format of the thought that a prompt ends with the opening of; None if it ends outside of thoughts."""
    end = prompt.rstrip()
    return next((format for format in FORMATS if end.endswith(format.open)), None)


def split_reasoning(text: str, *, opened: ThoughtFormat | None = None, cut: bool = False) -> tuple[str, str | None]:
    """Return the answer, and the thoughts before it and inside of it, if any.

    `opened` is the format of a thought that the prompt has opened. Where that is not known, a closing marker without an
    opening one ends a thought if it stands where models write it. `cut` says that the text ended at its limit.
    """
    if opened is not None:
        text = opened.open + text
    if starts_in_channel(text):
        parts = channel_parts(text)
    else:
        parts = bare_channel_parts(text, cut=cut) or _Splitting(text, cut=cut).parts()
    if not parts:
        return text, None
    thoughts = (part.text.strip() for part in parts if part.is_thought)
    return _joined([part.text for part in parts if not part.is_thought]), "\n\n".join(filter(None, thoughts)) or None


def _joined(pieces: Sequence[str]) -> str:
    """Join the pieces of an answer that has thoughts inside of it, with the white space around these."""
    joined: list[str] = []
    for piece in filter(str.strip, pieces):
        start = piece.lstrip()
        if joined:
            before = joined[-1].rstrip()
            spaces = joined[-1][len(before) :], piece[: len(piece) - len(start)]
            joined[-1:] = [before, max(spaces, key=len) or " "]
        joined.append(start)
    ends_in_thought = not (pieces and pieces[-1].strip())
    return "".join(joined).rstrip() if ends_in_thought else "".join(joined)


@dataclass(slots=True, eq=False)
class _Marker:
    format: ThoughtFormat
    opens: bool
    start: int
    end: int
    is_used: bool = False  # not only mentioned
    closed_by: _Marker | None = None


class _Splitting:
    """The thoughts of one text, by pairs of markers. It looks at every marker a fixed number of times."""

    def __init__(self, text: str, *, cut: bool) -> None:
        self._text = text
        self._cut = cut
        self._mentions = Mentions(text)
        self._markers = [_marker(match) for match in _MARKER.finditer(text)]
        self._find_used()
        self._pair()
        self._parts: list[Part] = []
        self._undecided = 0  # the first part that a closing marker would turn into a thought
        self._format: ThoughtFormat | None = None  # of the last thought
        self._is_blank = True  # the answer so far
        self._move(0)

    def parts(self) -> list[Part]:
        """Return the parts of the text in their order; nothing if it has no thoughts."""
        for marker in self._markers:
            if marker.start < self._at:  # inside of a thought
                continue
            if marker.opens:
                close = self._closing(marker)
                if not self._begins_thought(marker, close):
                    continue
                self._end_answer(marker.start)
            elif self._ends_thought(marker):
                close = marker
                self._turn_into_thoughts(marker.start)
            else:
                continue
            self._format = marker.format
            if marker.format is HARMONY:
                return [*self._parts, *channel_parts(self._text, marker.start)]
            if marker.opens:
                end = close.start if close else len(self._text)
                self._parts.append(Part(True, self._text[self._after_repeated(marker) : end]))
            self._move(close.end if close else len(self._text))
        return [*self._parts, Part(False, self._text[self._at :])] if self._parts else []

    def _find_used(self) -> None:
        """Find the markers that are not only mentioned. Within a sentence, an opening one is; a closing one is if
        another one follows."""
        closes_next: dict[ThoughtFormat, bool] = {}
        for marker in reversed(self._markers):
            place = marker.start, marker.end
            if self._mentions.is_quoted(*place):
                continue
            if (marker.opens or closes_next.get(marker.format)) and self._mentions.is_in_sentence(*place):
                continue
            marker.is_used = True
            closes_next[marker.format] = not marker.opens

    def _pair(self) -> None:
        """Find the closing marker of each opening one. Thoughts may be nested."""
        unclosed: dict[ThoughtFormat, list[_Marker]] = {format: [] for format in FORMATS}
        for marker in self._markers:
            if marker.is_used and marker.opens:
                unclosed[marker.format].append(marker)
            elif marker.is_used and unclosed[marker.format]:
                unclosed[marker.format].pop().closed_by = marker
        self._closes = {f: [m for m in self._markers if m.format is f and not m.opens] for f in FORMATS}
        self._used_closes = {f: [m for m in closes if m.is_used] for f, closes in self._closes.items()}

    def _closing(self, opening: _Marker) -> _Marker | None:
        """Return what closes a thought. A marker that is only mentioned does so if there is no other one, if the text
        begins with the thought, and if it was not cut."""
        used = opening.closed_by or _first_after(self._used_closes[opening.format], opening)
        if used or self._cut or not self._leads(opening):
            return used
        return _first_after(self._closes[opening.format], opening)

    def _leads(self, marker: _Marker) -> bool:
        """Return whether there is nothing of the answer before a marker."""
        return self._is_blank and marker.start <= self._text_from

    def _begins_thought(self, opening: _Marker, close: _Marker | None) -> bool:
        """Return whether a thought begins at an opening marker. After text, one that nothing closes must not stand
        among words: an answer may be about it."""
        if self._leads(opening):
            return True
        return opening.is_used and (close is not None or self._mentions.is_apart(opening.start))

    def _ends_thought(self, close: _Marker) -> bool:
        """Return whether a thought ends at a closing marker whose opening is not in the text. After another thought,
        the marker must end its line, or begin the answer: an answer may be about it."""
        if self._format not in (None, close.format):
            return False
        if not close.is_used or self._mentions.is_in_sentence(close.start, close.end):
            return False
        return self._format is None or self._leads(close) or self._mentions.ends_line(close.end)

    def _end_answer(self, end: int) -> None:
        """Add what precedes a thought."""
        if self._text_from < end:
            self._is_blank = False
            self._parts.append(Part(False, self._text[self._at : end]))

    def _turn_into_thoughts(self, end: int) -> None:
        """Make thoughts of all that precedes a closing marker."""
        self._parts[self._undecided :] = [Part(True, part.text) for part in self._parts[self._undecided :]]
        self._parts.append(Part(True, self._text[self._at : end]))
        self._undecided = len(self._parts)
        self._is_blank = True

    def _after_repeated(self, opening: _Marker) -> int:
        """Return where a thought begins. Models repeat the marker with which the template has opened it."""
        end = opening.end
        while self._text.startswith(opening.format.open, at := self._skip_blanks(end)):
            end = at + len(opening.format.open)
        return end

    def _move(self, at: int) -> None:
        self._at = at
        self._text_from = self._skip_blanks(at)

    def _skip_blanks(self, at: int) -> int:
        blanks = BLANKS.match(self._text, at)
        return blanks.end() if blanks else at


def _marker(match: re.Match[str]) -> _Marker:
    opened = _OPENING.get(match[0])
    return _Marker(opened or _CLOSING[match[0]], opened is not None, *match.span())


def _first_after(markers: Sequence[_Marker], opening: _Marker) -> _Marker | None:
    n = bisect_left(markers, opening.end, key=lambda marker: marker.start)
    return markers[n] if n < len(markers) else None
