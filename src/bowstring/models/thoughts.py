"""Thoughts as tokens: where generated tokens end a thought, and how a thought is closed when its budget is spent."""

from __future__ import annotations

from bisect import bisect
from collections.abc import Sequence
from functools import cached_property
from typing import Any

from bowstring.models.channels import BLANKS
from bowstring.models.reasoning import FORMATS, ThoughtFormat, split_reasoning
from bowstring.tree.limits import ThinkingBudget, ThoughtEnd

_FIRST = 24  # tokens of an answer among which an opening marker is looked for


class ThoughtTokens:
    """The markers of thoughts, as a tokenizer has them: as one token each, or spelled out."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer

    @cached_property
    def _single(self) -> dict[str, int]:
        """Markers that are one token."""
        markers = {marker for format in FORMATS for marker in (format.open, format.close)}
        ids = {marker: self._tokenizer.convert_tokens_to_ids(marker) for marker in markers}
        return {m: id for m, id in ids.items() if id is not None and self._decoded([id]).strip() == m}

    @cached_property
    def _special(self) -> list[str]:
        return [token.content for token in self._tokenizer.added_tokens_decoder.values() if token.special]

    @cached_property
    def _not_of_markers(self) -> list[str]:
        markers = [marker for format in FORMATS for marker in (format.open, format.close)]
        return [special for special in self._special if not any(special in marker for marker in markers)]

    def budget(self, tokens: int, opened: ThoughtFormat | None) -> ThinkingBudget:
        return ThinkingBudget(tokens, self._end_of(opened) if opened else None, self._opened, self.markers)

    @cached_property
    def markers(self) -> int:
        """The most tokens that the markers around a thought take."""
        return max(len(self._ids(format.open)) + len(self._ids(format.close)) for format in FORMATS)

    def split(self, tokens: Sequence[int], opened: ThoughtFormat | None) -> tuple[str, str | None]:
        """Return the answer in generated tokens, and the thoughts before it, if any. `opened` is the format of a
        thought that the prompt has opened."""
        at, thoughts = 0, []
        ends = {opened: self._ends(tokens, opened, opened=True)} if opened else {}
        while True:
            format, start = (opened, at) if opened else self._opening(tokens, at)
            if format and format not in ends:
                ends[format] = self._ends(tokens, format)
            end = ends[format].get(start - 1) if format else None
            if end is None:
                break
            thoughts.append(self._plain(tokens[start:end]))
            at, opened = end + 1, None
        # Thoughts inside of the answer, and markers that are not tokens, or that the model has spelled out.
        rest = tokens[at:]
        text = _without(self._not_of_markers, self._decoded(rest))
        answer, thought = split_reasoning(text, opened=opened)
        answer = self._plain(rest) if answer == text else _without(self._special, answer).strip()
        thoughts.append(_without(self._special, thought or "").strip())
        return answer, "\n\n".join(filter(None, thoughts)) or None

    def _opening(self, tokens: Sequence[int], at: int) -> tuple[ThoughtFormat | None, int]:
        """Return the format of the thought that tokens begin with from `at` on, and where it begins."""
        for n in range(at, len(tokens)):
            for format in FORMATS:
                if self._single.get(format.open) == tokens[n]:
                    return format, n + 1
            if not BLANKS.fullmatch(self._decoded([tokens[n]])):
                break
        return None, at

    def _ends(self, tokens: Sequence[int], format: ThoughtFormat, *, opened: bool = False) -> dict[int, int]:
        """Return where thoughts are closed, by the place of their opening marker; -1 is that of the prompt. One whose
        own closing marker is missing ends at the next one."""
        unclosed, ends = [-1] if opened else [], dict[int, int]()
        closes = [n for n, token in enumerate(tokens) if token == self._single.get(format.close)]
        for n, token in enumerate(tokens):
            if token == self._single.get(format.open):
                unclosed.append(n)
            elif token == self._single.get(format.close) and unclosed:
                ends[unclosed.pop()] = n
        following = {start: bisect(closes, start) for start in unclosed}
        return ends | {start: closes[n] for start, n in following.items() if n < len(closes)}

    def _opened(self, tokens: Sequence[int]) -> ThoughtEnd | None:
        if len(tokens) > _FIRST:
            return None
        text = self._decoded(tokens)
        blanks = BLANKS.match(text)
        start = blanks.end() if blanks else 0
        return next((self._end_of(format) for format in FORMATS if text.startswith(format.open, start)), None)

    def _end_of(self, format: ThoughtFormat) -> ThoughtEnd:
        close = self._ids(format.close)
        if len(close) == 1:
            return ThoughtEnd(close, lambda tokens: tokens[-1] == close[0])
        tail = 2 * len(close) + 4  # it may be spelled in other tokens
        return ThoughtEnd(close, lambda tokens: format.close in self._decoded(tokens[-tail:]))

    def _ids(self, marker: str) -> tuple[int, ...]:
        return tuple(self._tokenizer(marker, add_special_tokens=False)["input_ids"])

    def _decoded(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=False)
        return text

    def _plain(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True)
        return text.strip()


def _without(specials: Sequence[str], text: str) -> str:
    for special in specials:
        text = text.replace(special, "")
    return text
