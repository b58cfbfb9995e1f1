"""CUPID's records: sessions with their context, the request after them, and a matcher's labels.

Three instances share a persona, so an instance is identified by persona and type; `key` is that identity as text. It is
never used as a path.
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
    """A CUPID session: a dialogue, its context, and the preference that applies in this context."""

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
    category: str | None = None  # of the preference, if the set has it; the published set does not
    preference_type: str | None = None  # within the category

    @property
    def key(self) -> str:
        return f"{self.persona_id}+{self.type}"

    @property
    def history(self) -> History:
        return tuple(session.dialogue for session in self.sessions)

    @property
    def evidence(self) -> tuple[int, ...]:
        """Ids of the sessions in the request's context, including those with an older preference."""
        return tuple(s.dialogue.id for s in self.sessions if s.context_factor == self.context_factor)


@dataclass(frozen=True, slots=True)
class Coverage:
    """A matcher's labels of how far a preference covers each item of a checklist: training data of matchers.

    For precision, the items of the inferred preference are matched with the gold preference; for recall, the gold items
    with the inferred preference. `transcript` is the text of the matcher, if it is known.
    """

    persona_id: str
    instance_type: InstanceType
    side: CoverageSide
    preference: str
    checklist: tuple[str, ...]
    labels: tuple[CoverageLabel, ...]
    transcript: str | None = None
