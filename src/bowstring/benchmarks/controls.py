"""Controls of a run: answers whose quality is known, scored by the judge in use, as floor and ceiling beside a result.

A floor is what can be had without knowing the user; a ceiling, what an answer that knows everything gets. They are
computed on the items of the run, by a judge that needs no model. They are shown in the terminal, on the page and in
metrics.json.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

ABOUT = "What answers of known quality get from this judge on these items"


@dataclass(frozen=True, slots=True)
class Control:
    name: str
    kind: Literal["floor", "ceiling"]
    about: str  # what is answered, in words
    scores: Mapping[str, float | None]  # by name of the metric; None if nothing of it could be scored


def controls_as_json(controls: Sequence[Control]) -> list[dict[str, Any]]:
    return [asdict(control) | {"scores": dict(control.scores)} for control in controls]


def columns_of(controls: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics that any control has, from metrics.json."""
    return list(dict.fromkeys(name for control in controls for name in control["scores"]))
