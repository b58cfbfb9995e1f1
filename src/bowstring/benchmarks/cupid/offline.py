"""CUPID data without a model: logs of the published size for load tests, from word banks. A seed fixes the result.

Feedback hints at one missing point of a draft at a time. The drafts are neutral, so only the feedback reveals the
preference.
"""

from __future__ import annotations

import random
from typing import Any

from bowstring.benchmarks.cupid.banks import work
from bowstring.benchmarks.cupid.pipeline_parts import (
    FactorOut,
    PreferenceKind,
    ScenarioOut,
    Series,
    build_instances,
    structure,
)
from bowstring.benchmarks.cupid.preference_types import category_of
from bowstring.benchmarks.cupid.types import Instance
from bowstring.records import Message
from bowstring.synthesis.banks import fill

_SESSIONS = 13
_FACTORS = 8
_PARAGRAPHS = 4  # per draft


class OfflineCupid:
    """Generates personas one by one; each depends only on the seed and its number."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def persona(self, number: int) -> list[Instance]:
        rng = random.Random(f"{self._seed}/cupid/{number}")  # noqa: S311 - repeatable on purpose
        bank = work()
        occupation = rng.choice(bank["occupations"])
        main, *others = rng.sample(bank["preferences"], _FACTORS - 1)
        names = rng.sample(bank["factors"], _FACTORS)
        factors = [
            FactorOut(factor=factor["name"], preference=preference["says"])
            for factor, preference in zip(names[:-2], others, strict=True)
        ]
        contrast = FactorOut(factor=names[-2]["name"], preference=main["opposite"], related_factor=names[-1]["name"])
        first = FactorOut(factor=names[-1]["name"], preference=main["says"], related_factor=names[-2]["name"])
        factors += [contrast, first]
        kinds = {factor["name"]: factor["kind"] for factor in names}
        scenarios, matters = [], rng.sample(bank["matters"], _SESSIONS)
        for n, (factor, which) in enumerate(structure(_SESSIONS, factors, rng), 1):
            listed = next(f for f in factors if f.factor == factor)
            preference = main["changed"] if "changed" in which else listed.preference
            request = _request(factor, kinds[factor], matters[n - 1], rng)
            scenarios.append(
                ScenarioOut(id=n, context_factor=factor, preference=preference, request_with_factor=request)
            )
        series = Series(first.factor, contrast.factor, main["says"], main["changed"], tuple(scenarios))
        known = _checklists_and_hints([main, *others])
        dialogues = [
            _converse(s, m, known[s.preference][1], rng) for s, m in zip(scenarios[:-1], matters, strict=False)
        ]
        checklists = {preference: tuple(items) for preference, (items, _) in known.items()}
        persona_id = f"{number}+{occupation['name'].replace(' ', '_').lower()}"
        kind = PreferenceKind(category_of(main["type"]), main["type"])
        return build_instances(persona_id, series, dialogues, checklists, kind)


def _checklists_and_hints(preferences: list[dict[str, Any]]) -> dict[str, tuple[list[str], list[str]]]:
    """Checklist and hints of every preference that can apply, listed, opposite or changed."""
    found = {}
    for p in preferences:
        for says, part in (("says", ""), ("opposite", "opposite_"), ("changed", "changed_")):
            found[p[says]] = (p[f"{part}checklist"], p[f"{part}hints"])
    return found


def _request(factor: str, kind: str, matter: str, rng: random.Random) -> str:
    bank = work()
    fitting = [task for task in bank["tasks"] if kind in task.get("kinds", [kind])]
    request = fill(rng.choice(fitting)["request"], {"factor": factor, "matter": matter})
    return request if factor in request else f"{request} It is for {factor}."


def _converse(scenario: ScenarioOut, matter: str, hints: list[str], rng: random.Random) -> list[Message]:
    """A request, drafts with a hint after each, and a closing message that refers to the hints."""
    bank = work()
    values = {"factor": scenario.context_factor, "matter": matter}
    paragraphs = rng.sample(bank["paragraphs"], _PARAGRAPHS)
    messages = [Message("user", (scenario.request,))]
    hints = rng.sample(hints, len(hints))
    for n in range(len(hints) + 1):
        draft = [rng.choice(bank["openings"]), *rng.sample(paragraphs, _PARAGRAPHS), rng.choice(bank["closings"])]
        text = "\n\n".join(fill(line, values) for line in draft)
        handed = f"{rng.choice(bank['assistant_acks'])}\n\n{text}" if n else text
        messages.append(Message("assistant", (handed,)))
        said = hints[n] if n < len(hints) else rng.choice(bank["praise"])
        messages.append(Message("user", (said,)))
    return messages
