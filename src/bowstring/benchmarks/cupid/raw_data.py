"""CUPID's raw data: per persona its context factors, its sessions and their conversations, as its pipeline stores them.

The three instances of a persona are put together as those of a synthetic set. Fields are those of the pipeline's
`data/PERSONA.json`; others are ignored. A list may also be given as JSON text.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from bowstring.benchmarks.cupid.pipeline_parts import PreferenceKind, Series, build_instances
from bowstring.benchmarks.cupid.preference_types import category_of, preference_type
from bowstring.benchmarks.cupid.published_form import PublishedScenario
from bowstring.benchmarks.cupid.types import Instance
from bowstring.judging.structured import Unreadable
from bowstring.records import Message

COLUMNS = ("context_factors", "sessions", "interactions")
IDS = ("persona_id", "id", "occupation")  # what a persona may be known by


def _decoded(value: Any) -> Any:
    """A list that is given as JSON text."""
    if not isinstance(value, str) or not value.lstrip().startswith("["):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


class _Raw(BaseModel):
    model_config = ConfigDict(extra="ignore")


class RawFactor(_Raw):
    factor: str
    preference_type: str | None = None
    related_factor: str | None = None


class RawSession(_Raw):
    id: int | str
    context_factor: str
    preference: str
    checklist: list[str] = []


class RawMessage(_Raw):
    role: Literal["user", "assistant"]
    content: str | None = None  # None follows the last request: nobody answers it


class RawInteraction(_Raw):
    session_id: int | str
    chat: Annotated[list[RawMessage], Field(min_length=1)]


class RawRow(_Raw):
    context_factors: Annotated[list[RawFactor], BeforeValidator(_decoded)]
    sessions: Annotated[list[RawSession], Field(min_length=1), BeforeValidator(_decoded)]
    interactions: Annotated[list[RawInteraction], Field(min_length=1), BeforeValidator(_decoded)]


def is_raw(fields: Collection[str]) -> bool:
    """Whether these are fields of raw data, complete or not, and not of an instance."""
    return "prior_interactions" not in fields and any(name in fields for name in COLUMNS)


def persona_id(raw: Mapping[str, Any], otherwise: str) -> str:
    """The id of a persona: its own, or its number and occupation, as the pipeline names its files."""
    if isinstance(raw.get("persona_id"), str) and raw["persona_id"].strip():
        return str(raw["persona_id"])
    if raw.get("id") is not None and isinstance(raw.get("occupation"), str):
        return f"{raw['id']}+{raw['occupation'].replace('/', ' and ').replace(' ', '_').lower()}"
    return otherwise


def to_instances(persona: str, row: RawRow) -> list[Instance]:
    """The instances of a persona. Raises Unreadable if the sessions do not suffice for them."""
    chats = {interaction.session_id: _messages(interaction) for interaction in row.interactions}
    *earlier, last = row.sessions
    if not chats.get(last.id):
        raise Unreadable("the last session, which has the request, has no interaction")
    main = last.context_factor
    before = [s for s in earlier if chats.get(s.id)]
    contrast = next((f.factor for f in row.context_factors if f.related_factor == main), "")
    old = next((s.preference for s in before if s.context_factor == main), None)
    if old is None:
        raise Unreadable(f"no earlier session has the context factor of the last one, {main!r:.60}")
    checklists = {s.preference: tuple(s.checklist) for s in row.sessions}
    if not (checklists[old] and checklists[last.preference]):
        raise Unreadable("the sessions of the request's context factor have no checklist")
    scenarios = tuple(
        PublishedScenario.model_construct(
            id=n,
            context_factor=s.context_factor,
            preference=s.preference,
            request_with_factor=chats[s.id][0].text,
        )
        for n, s in enumerate([*before, last], 1)
    )
    kinds = {f.factor: f.preference_type or "" for f in row.context_factors}
    kind = PreferenceKind(category_of(kinds.get(main, "")), preference_type(kinds.get(main, "")))
    series = Series(main, contrast, old, last.preference, scenarios)
    return build_instances(persona, series, [chats[s.id] for s in before], checklists, kind)


def _messages(interaction: RawInteraction) -> list[Message]:
    return [Message(m.role, (m.content,)) for m in interaction.chat if m.content and m.content.strip()]
