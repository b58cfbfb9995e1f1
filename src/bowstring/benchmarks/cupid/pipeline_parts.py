"""Parsing of the parts of CUPID data that models write, with the rules of the benchmark; and assembly of instances.

factors     n different ones; the last two are a contrastive pair that name each other
sessions    n; main factor A has its old preference twice, then its new one twice, and the new one again in the last
            session, which does not directly follow another A; B occurs once or twice; the others are from the list
instances   consistent (2 old A + 6 others), contrastive (2 of the 6 replaced by B), changing (2 replaced by new A)
"""

from __future__ import annotations

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, Field

from bowstring.benchmarks.cupid.preference_types import category_of, preference_type
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance, InstanceType, Session
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.judging.structured import Unreadable, read_keyed
from bowstring.records import Dialogue, Message
from bowstring.synthesis.making import validate_entry

M = TypeVar("M", bound=BaseModel)
OTHERS = 6  # sessions of other factors in a consistent instance
FEWEST_SESSIONS = 2 + 2 + 2 + OTHERS + 1
_FENCE = re.compile(r"```[a-zA-Z]*\n(.*?)(?:```|\Z)", re.DOTALL)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s*(.+?)\s*$")
_TITLES = (
    "evaluation of ai assistant s response",
    "evaluation score",
    "continue or end",
    "selected checklist items",
    "thinking",
    "your message",
)
_LARGEST = 200_000  # maximum characters of YAML to parse


class PersonaOut(BaseModel):
    description: str = Field(min_length=80)
    occupation: str = Field(min_length=3, max_length=80)


class PreferenceKind(NamedTuple):
    """The category and the type of a preference, where they are known."""

    category: str | None = None
    type: str | None = None


class FactorOut(BaseModel):
    factor: str = Field(min_length=2, max_length=120)
    preference: str = Field(min_length=15, max_length=400)
    factor_type: str = ""
    background: str = ""
    task_types: list[str] = []
    preference_type: str = ""
    related_factor: str | None = None

    @property
    def kind(self) -> PreferenceKind:
        return PreferenceKind(category_of(self.preference_type), preference_type(self.preference_type))


class ScenarioOut(BaseModel):
    id: int
    context_factor: str = Field(min_length=2)
    preference: str = Field(min_length=15)
    request_with_factor: str = Field(min_length=20)
    task_type: str = ""
    story: str = ""
    request_with_factor_and_preference: str = ""
    resource: str | None = None

    @property
    def pasted(self) -> str:
        """The text that the user pastes into the request; empty if there is none."""
        resource = (self.resource or "").strip()
        return "" if resource.lower() in ("n/a", "none", "na") else resource

    @property
    def request(self) -> str:
        """The first message of the session, with the text that the user pastes into it."""
        resource = self.pasted
        if not resource:
            return " ".join(self.request_with_factor.replace("[resource]", "").split())
        if "[resource]" in self.request_with_factor:
            return self.request_with_factor.replace("[resource]", resource).strip()
        return f"{self.request_with_factor.strip()}\n\n{resource}"


@dataclass(frozen=True, slots=True)
class Series:
    """The checked sessions of a persona. `main` is factor A, whose preference changes from `old` to `new`."""

    main: str
    contrast: str
    old: str
    new: str
    scenarios: tuple[ScenarioOut, ...]


def read_persona(text: str) -> tuple[PersonaOut, ...]:
    def convert(value: Any) -> tuple[PersonaOut, ...]:
        found = value["personas"] if isinstance(value, dict) else value
        if not isinstance(found, list) or len(found) != 1:
            raise Unreadable('expected {"personas": [...]} with one entry')
        return (validate_entry(PersonaOut, found[0]),)

    return read_keyed(text, "personas", convert)


def read_factors(text: str, n: int) -> tuple[FactorOut, ...]:
    """The factors; the contrastive pair comes last."""
    found = [validate_entry(FactorOut, raw) for raw in _yaml_list(text, "context_factors")]
    if len(found) != n:
        raise Unreadable(f"expected exactly {n} context factors; there are {len(found)}")
    for name in ("factor", "preference"):
        plain = [_plain(getattr(f, name)) for f in found]
        if len(set(plain)) < n:
            raise Unreadable(f"two context factors have the same {name}")
    paired = [f for f in found if f.related_factor and _plain(f.related_factor) not in ("n a", "na", "none", "")]
    names = {_plain(f.factor) for f in paired}
    if len(paired) != 2 or {_plain(f.related_factor or "") for f in paired} != names:
        raise Unreadable("expected exactly one contrastive pair: two factors that name each other in related_factor")
    if _plain(paired[0].factor) == _plain(paired[0].related_factor or ""):
        raise Unreadable("a factor names itself in related_factor")
    return (*(f for f in found if f not in paired), *paired)


def structure(n: int, factors: Sequence[FactorOut], rng: random.Random) -> list[tuple[str, str]]:
    """A random order of sessions that follows the rules: for each, a factor's name and which preference applies."""
    *others, contrast, main = (f.factor for f in factors)
    a = [(main, "its listed preference")] * 2 + [(main, "its changed preference")] * 2
    rest = [(contrast, "its listed preference")] * 2
    rest += [(others[k % len(others)], "its listed preference") for k in range(n - 7)]
    rng.shuffle(rest)
    while True:
        places = sorted(rng.sample(range(n - 1), 4))
        if places[-1] != n - 2:  # an A directly before the last session would reveal its preference
            break
    remaining, order = iter(rest), []
    mains = iter(a)
    for place in range(n - 1):
        order.append(next(mains) if place in places else next(remaining))
    return [*order, (main, "its changed preference")]


def read_series(text: str, n: int, factors: Sequence[FactorOut]) -> Series:
    """The sessions, checked by the rules; names and preferences of factors are replaced by their exact listed text."""
    found = [validate_entry(ScenarioOut, raw) for raw in _yaml_list(text, "scenarios")]
    if len(found) != n:
        raise Unreadable(f"expected exactly {n} sessions; there are {len(found)}")
    if [s.id for s in found] != list(range(1, n + 1)):
        raise Unreadable(f"expected the ids 1 to {n} in order")
    listed = {_plain(f.factor): f for f in factors}
    contrast, main = factors[-2], factors[-1]
    scenarios = []
    for s in found:
        factor = listed.get(_plain(s.context_factor))
        if factor is None:
            raise Unreadable(f"session {s.id}: {s.context_factor!r:.60} is not one of the listed factors")
        same = _plain(s.preference) == _plain(factor.preference)
        if not same and factor is not main:
            raise Unreadable(f"session {s.id}: the preference is not the listed one of {factor.factor}")
        if len(s.request.split()) < 4:
            raise Unreadable(f"session {s.id}: request_with_factor asks for nothing")
        preference = factor.preference if same else " ".join(s.preference.split())
        scenarios.append(s.model_copy(update={"context_factor": factor.factor, "preference": preference}))
    mains = [s for s in scenarios if s.context_factor == main.factor]
    if [_plain(s.preference) == _plain(main.preference) for s in mains] != [True, True, False, False, False]:
        raise Unreadable(f"sessions of {main.factor} must have its preference old, old, new, new, and last new again")
    if len({_plain(s.preference) for s in mains[2:]}) > 1:
        raise Unreadable(f"the changed preference of {main.factor} must be the same sentence each time")
    if _plain(mains[-1].preference) in {_plain(f.preference) for f in factors}:
        raise Unreadable(f"the changed preference of {main.factor} must be a new one")
    if scenarios[-1] is not mains[-1] or scenarios[-2] is mains[-2]:
        raise Unreadable(f"the last session must be of {main.factor}, and the one before it must not")
    if not 1 <= sum(s.context_factor == contrast.factor for s in scenarios) <= 2:
        raise Unreadable(f"{contrast.factor} must occur once or twice")
    new = mains[-1].preference
    scenarios = [s.model_copy(update={"preference": new}) if s in mains[2:] else s for s in scenarios]
    return Series(main.factor, contrast.factor, main.preference, new, tuple(scenarios))


@dataclass(frozen=True, slots=True)
class Simulated:
    """The parsed output of the simulated user: score, decision, selected items, message, and the whole text."""

    score: float | None
    ends: bool
    selected: frozenset[int]  # numbers of the checklist items that the message touches, from 1
    message: str
    text: str


def read_simulated(text: str, items: int) -> Simulated:
    sections = _sections(text)
    message = "\n".join(sections.get("your message", [])).strip().strip('"')
    if not message:
        raise Unreadable('there is nothing under "#### Your Message"')
    score = _score(sections.get("evaluation score", []))
    if score is None:
        raise Unreadable('expected a number from 1 to 10 under "#### Evaluation Score"')
    decision = re.findall(r"\b(continue|end)\b", " ".join(sections.get("continue or end", [])).lower())
    if len(set(decision)) != 1:
        raise Unreadable('expected CONTINUE or END under "#### Continue or End?"')
    if score == 10 and decision[0] != "end":
        raise Unreadable("a score of 10 means that the conversation ends: END")
    numbers = {int(x) for x in re.findall(r"\b\d{1,2}\b", " ".join(sections.get("selected checklist items", [])))}
    selected = frozenset(k for k in numbers if 1 <= k <= items)
    return Simulated(score, decision[0] == "end", selected, message, text.strip())


def build_instances(
    persona_id: str,
    series: Series,
    dialogues: Sequence[Sequence[Message]],
    checklists: Mapping[str, tuple[str, ...]],
    kind: PreferenceKind,
) -> list[Instance]:
    """The three instances, which all have the request of the last session.

    Consistent and contrastive instances end before the preference changes, so their gold preference is the old one;
    that of the changing instance is the new one.
    """
    *before, last = series.scenarios
    sessions = list(zip(before, dialogues, strict=True))
    old = [n for n, (s, _) in enumerate(sessions) if s.context_factor == series.main and s.preference == series.old]
    new = [n for n, (s, _) in enumerate(sessions) if s.context_factor == series.main and s.preference == series.new]
    contrast = [n for n, (s, _) in enumerate(sessions) if s.context_factor == series.contrast]
    others = [n for n in range(len(sessions)) if n not in (*old, *new, *contrast)]
    if len(others) < OTHERS:
        raise Unreadable(f"there are {len(others)} other sessions; expected at least {OTHERS}")
    chosen: dict[InstanceType, list[int]] = {
        "consistent": old + others[-OTHERS:],
        "contrastive": old + contrast + others[-(OTHERS - len(contrast)) :],
        "changing": old + new + others[-(OTHERS - len(new)) :],
    }
    found = []
    for instance_type in INSTANCE_TYPES:
        shown = [sessions[n] for n in sorted(chosen[instance_type])]
        preference = series.new if instance_type == "changing" else series.old
        found.append(
            Instance(
                persona_id,
                instance_type,
                last.request.strip(),
                series.main,
                preference,
                checklists[preference],
                tuple(
                    Session(s.context_factor, s.preference, Dialogue(n, "session", tuple(messages)))
                    for n, (s, messages) in enumerate(shown)
                ),
                kind.category,
                kind.type,
            )
        )
    return found


def _yaml_list(text: str, key: str) -> list[Any]:
    """The list under a key, in the last fenced block that has the key, or else in the text from the key on."""
    blocks = [block for block in _FENCE.findall(text[:_LARGEST]) if f"{key}:" in block]
    start = text.find(f"{key}:")
    if start < 0:
        raise Unreadable(f"no YAML with {key} was found")
    for block in (*reversed(blocks), text[start:_LARGEST]):
        try:
            found = parse_safe_yaml(block)
        except ParseError as error:
            problem = str(error)[:160]
            continue
        value = found.get(key) if isinstance(found, dict) else None
        if isinstance(value, list):
            return value
        problem = f"{key} is not a list"
    raise Unreadable(f"not YAML that can be read: {problem}")


def _sections(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    current: list[str] = []
    for line in text.splitlines():
        if (match := _HEADING.match(line)) and _plain(match[1]) in _TITLES:
            current = found[_plain(match[1])] = []
        else:
            current.append(line)
    return found


def _score(lines: Sequence[str]) -> float | None:
    """The first number of a section if it is from 1 to 10, else None."""
    found = re.search(r"\d+(?:\.\d+)?", " ".join(lines))
    score = float(found[0]) if found else None
    return score if score is not None and 1 <= score <= 10 else None


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.lower()))
