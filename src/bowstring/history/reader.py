"""One user's history and everything derived from it, computed once: units, indexes, rankings, token counts.

reader = Reader(history, count)
reader.show(view, evidence=question.evidence, query=question.question)
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from bowstring.history.bm25 import TOKENS, Bm25
from bowstring.history.units import Unit, select_units, units_of
from bowstring.history.views import View
from bowstring.records import History

# Returns the tokens per text.
Count = Callable[[Sequence[str]], list[int]]


class Reader:
    def __init__(self, history: History, count: Count, *, tokens: str = "stems") -> None:
        self.history = history
        self._count = count
        self._tokens = TOKENS[tokens]
        self._units: dict[str, list[Unit]] = {}
        self._indexes: dict[str, Bm25] = {}
        self._message_terms: dict[tuple[int, int], list[str]] = {}
        self._orders: dict[tuple[str, str, str], list[int]] = {}
        self._lengths: dict[str, list[int]] = {}

    def show(self, view: View, *, evidence: Collection[int], query: str) -> History:
        """Return the dialogues that a view shows, in history order."""
        match view.kind:
            case "full" | "summary" | "python":
                return self.history
            case "none":
                return ()
            case "gold":
                return tuple(dialogue for dialogue in self.history if dialogue.id in evidence)
            case "last":
                return select_units(
                    self.history, self._newest(view) if view.in_tokens else self.units(view.unit)[-view.number :]
                )
            case "bm25" | "dense":
                units = self.units(view.unit)
                return select_units(self.history, [units[n] for n in sorted(self.order(view, query)[: view.number])])

    def units(self, unit: str) -> list[Unit]:
        if unit not in self._units:
            self._units[unit] = units_of(self.history, unit)
        return self._units[unit]

    def set_order(self, kind: str, unit: str, query: str, order: list[int]) -> None:
        """Set the order of units, best first, from an external ranking such as dense search."""
        self._orders[kind, unit, query] = order

    def has_order(self, kind: str, unit: str, query: str) -> bool:
        """Return whether `set_order` was called for this query."""
        return (kind, unit, query) in self._orders

    def order(self, view: View, query: str) -> list[int]:
        """Return the units that a view searches, best first."""
        key = (view.kind, view.unit, query)
        if key not in self._orders:
            if view.kind == "dense":
                raise LookupError(f"no order of {view.unit}s was set for {query!r}")
            self._orders[key] = self._index(view.unit).order(self._tokens(query))
        return self._orders[key]

    def _index(self, unit: str) -> Bm25:
        if unit not in self._indexes:
            self._indexes[unit] = Bm25([self._terms(u) for u in self.units(unit)])
        return self._indexes[unit]

    def _terms(self, unit: Unit) -> list[str]:
        """Return a unit's terms. Those of a message are computed once, for all units it is part of."""
        terms: list[str] = []
        for n in range(unit.first, unit.searched):
            place = (unit.place, n)
            if place not in self._message_terms:
                self._message_terms[place] = self._tokens(self.history[unit.place].messages[n].text)
            terms += self._message_terms[place]
        return terms

    def _newest(self, view: View) -> list[Unit]:
        """Return the newest consecutive units that fit into the view's token limit."""
        units, left = self.units(view.unit), view.number
        kept = len(units)
        for length in reversed(self._unit_lengths(view.unit)):
            left -= length
            if left < 0:
                break
            kept -= 1
        return units[kept:]

    def _unit_lengths(self, unit: str) -> list[int]:
        if unit not in self._lengths:
            texts = [m.text for u in self.units(unit) for m in self.history[u.place].messages[u.first : u.end]]
            counts = iter(self._count(texts))
            self._lengths[unit] = [sum(next(counts) for _ in range(u.first, u.end)) for u in self.units(unit)]
        return self._lengths[unit]
