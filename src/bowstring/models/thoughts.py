"""Thoughts as tokens: where generated tokens end a thought, and how a thought is closed when its budget is spent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

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
        rest, thoughts = list(tokens), []
        while True:
            format, start = (opened, 0) if opened else self._opening(rest)
            close = self._single.get(format.close) if format else None
            if close is None or close not in rest:
                break
            at = rest.index(close)
            thoughts.append(self._plain(rest[start:at]))
            rest, opened = rest[at + 1 :], None
        # Markers that are not tokens, or that the model has spelled out.
        text = _without(self._not_of_markers, self._decoded(rest))
        answer, thought = split_reasoning(text, opened=opened)
        answer = self._plain(rest) if answer == text else _without(self._special, answer).strip()
        thoughts.append(_without(self._special, thought or "").strip())
        return answer, "\n\n".join(filter(None, thoughts)) or None

    def _opening(self, tokens: Sequence[int]) -> tuple[ThoughtFormat | None, int]:
        """Return the format of the thought that tokens begin with, and where it begins."""
        for n, token in enumerate(tokens):
            for format in FORMATS:
                if self._single.get(format.open) == token:
                    return format, n + 1
            if self._decoded([token]).strip():
                break
        return None, 0

    def _opened(self, tokens: Sequence[int]) -> ThoughtEnd | None:
        if len(tokens) > _FIRST:
            return None
        text = self._decoded(tokens).lstrip()
        return next((self._end_of(format) for format in FORMATS if text.startswith(format.open)), None)

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
