"""CUPID synthesis as its authors' code does it: for the same inputs, requests equal theirs.

What is filled in, how answers are read, and the temperatures and token limits are theirs. Sessions are named A (the
main factor), B (the contrastive one) and A' (A with its changed preference); the model decides which of the pair is A.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import yaml
from pydantic import Field

from bowstring.benchmarks.cupid.attributes import Attributes, balanced
from bowstring.benchmarks.cupid.checkout import line_of, load_attributes, load_structure
from bowstring.benchmarks.cupid.pipeline_parts import (
    FactorOut,
    PersonaOut,
    ScenarioOut,
    Series,
    Simulated,
)
from bowstring.benchmarks.cupid.synthesis_form import Step, Steps, flaw_of_message
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.judging.structured import Unreadable
from bowstring.prompts import PromptFolder
from bowstring.synthesis.making import validate_entry
from bowstring.synthesis.quality import Flaw

_NONE = "N/A"
_DECISION, _SELECTION, _MESSAGE = "Continue or End?", "Selected Checklist Items", "Your Message"
# The headings of the simulated user, with what stands under them in its first message.
_OPENING = {
    "Evaluation of AI Assistant's Response": _NONE,
    "Evaluation Score": _NONE,
    _DECISION: "CONTINUE",
    _SELECTION: _NONE,
    "Thinking": _NONE,
}
# What the authors' code reads of an answer; other fields may hold anything.
_FACTOR = ("factor", "preference", "task_types", "preference_type", "related_factor")
_SCENARIO = ("id", "context_factor", "preference", "request_with_factor", "resource")


class PublishedPersona(PersonaOut):
    description: str = Field(min_length=1)
    occupation: str = Field(min_length=1)


class PublishedFactor(FactorOut):
    factor: str = Field(min_length=1)
    preference: str = Field(min_length=1)
    task_types: list[str]
    related_factor: str | None


class PublishedScenario(ScenarioOut):
    context_factor: str = Field(min_length=1)
    preference: str = Field(min_length=1)
    request_with_factor: str = Field(min_length=1)

    @property
    def request(self) -> str:
        """The request with its resource, as it is sent: not stripped, and any resource is pasted, also "N/A"."""
        if self.resource is None:
            return self.request_with_factor
        return self.request_with_factor.replace("[resource]", self.resource)


class PublishedForm:
    steps = Steps(
        persona=Step(4096, 0.7),
        factors=Step(8192, 1.0),
        sessions=Step(8192, 0.7),
        checklist=Step(4096, 0),
        reply=Step(2048, 0.7),
        user=Step(8192, 0.3),
    )
    verbatim = True
    batch = 4
    last_reply: str | None = None

    def __init__(self, prompts: PromptFolder) -> None:
        self._options = load_attributes(prompts)
        self._lines = load_structure(prompts)

    def attributes(self, n: int, seed: int) -> list[Attributes]:
        return balanced(n, seed, self._options)

    def seed_descriptions(self, drawn: Sequence[tuple[int, str, Attributes]]) -> str:
        return "\n".join(
            f"{k}. {attributes.as_published(number, seed)}" for k, (number, seed, attributes) in enumerate(drawn, 1)
        )

    def read_personas(self, text: str, n: int) -> tuple[PersonaOut, ...]:
        found = _json(text, "personas")
        if len(found) != n:
            raise Unreadable(f"expected {n} personas; there are {len(found)}")
        return tuple(validate_entry(PublishedPersona, raw) for raw in found)

    def persona_id(self, number: int, occupation: str) -> str:
        return f"{number}+{occupation.replace('/', ' and ').replace(' ', '_').lower()}"

    def read_factors(self, text: str, n: int) -> tuple[FactorOut, ...]:  # noqa: ARG002 - not checked by the authors
        """The factors in their order; exactly two of them name each other."""
        found = tuple(validate_entry(PublishedFactor, _fields(raw, _FACTOR)) for raw in _yaml(text, "context_factors"))
        pairs = [
            (one, other)
            for k, one in enumerate(found)
            for other in found[k + 1 :]
            if one.related_factor not in (_NONE, None)
            and (one.related_factor, one.factor) == (other.factor, other.related_factor)
        ]
        if len(pairs) != 1:
            raise Unreadable(f"expected exactly one contrastive pair; there are {len(pairs)}")
        return found

    def session_values(self, n: int, factors: Sequence[FactorOut], rng: random.Random) -> Mapping[str, str]:
        first, second, *_ = (f.factor for f in factors if f.related_factor != _NONE)
        listed = [
            {"context_factor": f.factor, "preference": f.preference, "task_types": list(f.task_types)} for f in factors
        ]
        return {
            "series_structure": self._structure(n, rng),
            "first_factor": first,
            "second_factor": second,
            "context_factors": yaml.safe_dump({"factors": listed}, default_flow_style=False),
        }

    def _structure(self, n: int, rng: random.Random) -> str:
        """Where A, A' and B stand: A four times before the last session but not directly before it, B twice."""
        mains = sorted(rng.sample(range(n - 2), 4))
        others = [k for k in range(n - 1) if k not in mains]
        kinds = dict.fromkeys(rng.sample(others, 2), "contrastive")
        kinds |= dict.fromkeys(mains[:2], "original") | dict.fromkeys((*mains[2:], n - 1), "changed")
        return "\n".join(line_of(self._lines[kinds[k]], k + 1) for k in sorted(kinds))

    def read_series(self, text: str, n: int, factors: Sequence[FactorOut]) -> Series:
        raw = _yaml(text, "scenarios")
        if len(raw) != n:
            raise Unreadable(f"expected exactly {n} sessions; there are {len(raw)}")
        found = tuple(validate_entry(PublishedScenario, _fields(one, _SCENARIO)) for one in raw)
        if len({s.id for s in found}) < n:
            raise Unreadable("two sessions have the same id")
        return _checked(found, factors)

    def read_checklist(self, text: str) -> tuple[str, ...]:
        found = _json(text, "checklist")
        if not found or not all(isinstance(item, str) and item.strip() for item in found):
            raise Unreadable('expected {"checklist": [...]} with a list of texts')
        return tuple(found)

    def simulated_preference(self, preference: str) -> str:
        return preference

    def opening(self, request: str) -> str:
        sections = {**_OPENING, _MESSAGE: request.strip()}
        return "\n\n".join(f"#### {heading}\n\n{text}" for heading, text in sections.items())

    def read_simulated(self, text: str, items: int) -> Simulated:  # noqa: ARG002 - items are not checked by the authors
        """The decision, and the message after the selected items. Only END, alone, ends the session."""
        rest = _under(text, _DECISION)
        decision = rest.partition(f"#### {_SELECTION}")[0]
        message = _under(_under(rest, _SELECTION), _MESSAGE).strip()
        if not message:
            raise Unreadable(f'there is nothing under "#### {_MESSAGE}"')
        return Simulated(None, decision.strip() == "END", frozenset(), message, text.strip())

    def check_simulated(
        self,
        checklist: tuple[str, ...],
        touched: frozenset[int],  # noqa: ARG002
        *,
        last: bool,  # noqa: ARG002
    ) -> Callable[[Simulated], Flaw | None]:
        return lambda found: flaw_of_message(found.message, checklist)

    def simulator_message(self, found: Simulated) -> str:
        return found.text


def _checked(found: tuple[ScenarioOut, ...], factors: Sequence[FactorOut]) -> Series:
    """The sessions, by the authors' rules. Factors and preferences are in the list if they are but for full stops."""
    *before, last = found
    listed = {_undotted(f.factor) for f in factors}
    preferences = {_undotted(f.preference) for f in factors}
    contrast = _contrast_of(last.context_factor, factors)
    opposite = {f.factor: f.preference for f in factors}.get(contrast or "")
    for s in before:
        if _undotted(s.context_factor) not in listed:
            raise Unreadable(f"session {s.id}: {s.context_factor!r:.60} is not one of the listed factors")
        if s.context_factor == contrast and s.preference != opposite:
            raise Unreadable(f"session {s.id}: the preference is not the listed one of {contrast}")
        if s.context_factor != last.context_factor and _undotted(s.preference) not in preferences:
            raise Unreadable(f"session {s.id}: the preference is not a listed one")
    mains = [s.preference for s in before if s.context_factor == last.context_factor]
    if len(mains) != 4:
        raise Unreadable(f"{last.context_factor} must occur four times before the last session")
    if _undotted(mains[0]) not in preferences:
        raise Unreadable(f"the first preference of {last.context_factor} is not a listed one")
    if contrast is None or not 1 <= sum(s.context_factor == contrast for s in before) <= 2:
        raise Unreadable(f"the factor that contrasts with {last.context_factor} must occur once or twice")
    old, new = mains[0], last.preference
    if mains != [old, old, new, new] or old == new:
        raise Unreadable(f"sessions of {last.context_factor} must have its preference old, old, new, new, and last new")
    return Series(last.context_factor, contrast, old, new, found)


def _contrast_of(main: str, factors: Sequence[FactorOut]) -> str | None:
    found = None
    for f in factors:
        if f.related_factor != _NONE and main in (f.factor, f.related_factor):
            found = f.related_factor if f.factor == main else f.factor
    return found


def _undotted(text: str) -> str:
    return text.replace(".", "").strip()


def _fields(raw: Any, names: Sequence[str]) -> Any:
    return {name: raw[name] for name in names if name in raw} if isinstance(raw, dict) else raw


def _under(text: str, heading: str) -> str:
    """What follows the first heading of this title, up to the next one of the same title."""
    parts = text.split(f"#### {heading}")
    if len(parts) < 2:
        raise Unreadable(f'there is no heading "#### {heading}"')
    return parts[1]


def _json(text: str, key: str) -> list[Any]:
    try:
        value = json.loads(_fenced(text, "json"))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"not JSON that can be read: {str(error)[:160]}") from error
    return _listed(value, key)


def _yaml(text: str, key: str) -> list[Any]:
    try:
        value = parse_safe_yaml(_fenced(text, "yaml"))
    except ParseError as error:
        raise Unreadable(f"not YAML that can be read: {str(error)[:160]}") from error
    return _listed(value, key)


def _listed(value: Any, key: str) -> list[Any]:
    found = value.get(key) if isinstance(value, dict) else None
    if not isinstance(found, list):
        raise Unreadable(f"expected {key} with a list")
    return found


def _fenced(text: str, language: str) -> str:
    """The first block in this language up to its last fence, or the whole text if there is none."""
    _, opened, rest = text.partition(f"```{language}")
    block = rest.partition(f"```{language}")[0] if opened else text
    return (block.rpartition("```")[0] if opened and "```" in block else block).strip()
