"""How long an answer may grow. Thoughts may have a budget of their own: when it is spent, the thought is closed by
force, and the answer follows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Literal

_LAST = 64  # tokens among which a marker is looked for


@dataclass(slots=True)
class Generated:
    tokens: list[int] = field(default_factory=list)
    finish: Literal["stop", "length"] = "length"


@dataclass(frozen=True, slots=True)
class ThoughtEnd:
    """The end of a thought: the tokens that close it, and whether its last tokens have closed it."""

    tokens: tuple[int, ...]
    reached: Callable[[Sequence[int]], bool]


@dataclass(frozen=True, slots=True)
class ThinkingBudget:
    """`inside` is the end of the thought that the prompt has opened, if it has. `opened` returns the end of the thought
    that the first tokens of an answer have opened. `markers` is the most tokens that opening and closing take."""

    tokens: int
    inside: ThoughtEnd | None
    opened: Callable[[Sequence[int]], ThoughtEnd | None]
    markers: int


class Growth:
    """An answer that grows token by token."""

    def __init__(self, max_tokens: int, thinking: ThinkingBudget | None = None) -> None:
        self.drawn = Generated()
        self.ended = False
        self._max_tokens = max_tokens
        self._most = most_tokens(max_tokens, thinking)
        self._thinking = thinking
        self._end = thinking.inside if thinking else None  # of the thought that it is in
        self._left = thinking.tokens if thinking else 0  # of the budget
        self._forced: list[int] = []  # to be taken next
        self._was_forced = False
        self._start = 0  # where the thought begins that it is in, or else the answer
        self._close_if_spent()

    @property
    def forced(self) -> int | None:
        """The token that must be taken next; None if it is to be sampled."""
        return self._forced[0] if self._forced and not self.ended else None

    @property
    def room(self) -> int:
        """How many tokens can be sampled before the answer ends or a thought is closed by force."""
        return self._left if self._end is not None else self._max_tokens - (len(self.drawn.tokens) - self._start)

    def take(self, token: int, ends: Collection[int]) -> bool:
        """Add a token; return whether the answer continues."""
        if self.ended:
            return False
        tokens = self.drawn.tokens
        if self._forced:
            tokens.append(self._forced.pop(0))
            self._start = len(tokens)
            return True
        if token in ends:
            self.drawn.finish = "stop"
            self.ended = True
            return False
        tokens.append(token)
        if self._end is not None:
            self._left -= 1
            if self._end.reached(tokens[max(self._start, len(tokens) - _LAST) :]):
                self._end, self._start = None, len(tokens)
        elif self._thinking and not self._was_forced:
            self._end = self._thinking.opened(tokens[self._start : self._start + _LAST])
            self._start = self._start if self._end is None else len(tokens)
        self._close_if_spent()
        if self._end is None and not self._forced:
            self.ended = len(tokens) - self._start >= self._max_tokens
        self.ended = self.ended or len(tokens) >= self._most
        return not self.ended

    def extend(self, tokens: Sequence[int], ends: Collection[int] = ()) -> bool:
        """Add tokens that were sampled in one go, and close a thought whose budget is spent; return whether all of them
        were taken. Those after the end of the answer or of the budget are dropped."""
        taken = 0
        for token in tokens:
            if self.ended or self._forced:
                break
            self.take(token, ends)
            taken += 1
        while (forced := self.forced) is not None:
            self.take(forced, ends)
        return taken == len(tokens)

    def _close_if_spent(self) -> None:
        if self._end is not None and self._left <= 0:
            self._forced, self._end, self._was_forced = list(self._end.tokens), None, True


def most_tokens(max_tokens: int, thinking: ThinkingBudget | None) -> int:
    """Return how many tokens an answer can have, with its thoughts."""
    return max_tokens + (thinking.tokens + thinking.markers if thinking else 0)
