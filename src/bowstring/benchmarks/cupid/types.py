"""CUPID's records: sessions with their context, the request behind them, and what a matcher labelled.

An instance is identified by persona and type, for three instances share a persona; `key` is that identity as text, and
never a path.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bowstring.records import Dialogue, History

InstanceType = Literal["consistent", "contrastive", "changing"]
CoverageSide = Literal["precision", "recall"]
CoverageLabel = Literal["Fully Covered", "Partially Covered", "Not Covered"]
INSTANCE_TYPES: tuple[InstanceType, ...] = ("consistent", "contrastive", "changing")
COVERAGE_SIDES: tuple[CoverageSide, ...] = ("precision", "recall")
COVERAGE_LABELS: tuple[CoverageLabel, ...] = ("Fully Covered", "Partially Covered", "Not Covered")


@dataclass(frozen=True, slots=True)
class Session:
    """A CUPID session: a dialogue, the context it happened in, and the preference that held there."""

    context_factor: str
    preference: str
    dialogue: Dialogue


@dataclass(frozen=True, slots=True)
class Instance:
    """A CUPID instance: a request, the preference that applies to it, and the sessions before it."""

    persona_id: str
    type: InstanceType
    request: str
    context_factor: str
    preference: str
    checklist: tuple[str, ...]
    sessions: tuple[Session, ...]
    category: str | None = None  # of the preference, where the set says it; the published one does not

    @property
    def key(self) -> str:
        return f"{self.persona_id}+{self.type}"

    @property
    def history(self) -> History:
        return tuple(session.dialogue for session in self.sessions)

    @property
    def evidence(self) -> tuple[int, ...]:
        """Ids of the sessions that happened in the request's context, older preferences included."""
        return tuple(s.dialogue.id for s in self.sessions if s.context_factor == self.context_factor)


@dataclass(frozen=True, slots=True)
class Coverage:
    """How far a preference covers each item of a checklist, as a matcher labelled it: what matchers are trained on.

    For precision the items are those of an inferred preference, held against the gold one; for recall the gold items
    against the inferred preference. `transcript` is what the matcher wrote, where that is known.
    """

    persona_id: str
    instance_type: InstanceType
    side: CoverageSide
    preference: str
    checklist: tuple[str, ...]
    labels: tuple[CoverageLabel, ...]
    transcript: str | None = None
