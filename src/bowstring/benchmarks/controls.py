"""Controls of a run: answers whose quality is known, scored by the judge in use, as floor and ceiling beside a result.

A floor is what can be had without knowing the user; a ceiling, what an answer that knows everything gets. Judges that
ask no model score them on the items of every run. Other judges score them in an audit, on its sample of these items.
They are shown in the terminal, on the page and in metrics.json.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Literal

from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import write_file

ABOUT = "What answers of known quality get from this judge on these items"
FOLDER = "controls"  # beside the store of responses
Kind = Literal["floor", "ceiling"]


@dataclass(frozen=True, slots=True)
class Control:
    name: str
    kind: Kind
    about: str  # what is answered, in words
    scores: Mapping[str, float | None]  # by name of the metric; None if nothing of it could be scored
    intervals: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # of those that have a score
    n: int = 0  # answers that were judged


def scored_control(
    name: str, kind: Kind, about: str, estimates: Mapping[str, Mapping[str, Any]], names: Sequence[str], n: int
) -> Control:
    """A control with the scores of these names, from estimates as they are in metrics.json."""
    values = {one: estimates[one]["value"] if one in estimates else None for one in names}
    intervals = {one: (estimates[one]["low"], estimates[one]["high"]) for one in names if values[one] is not None}
    return Control(name, kind, about, values, intervals, n)


def controls_as_json(controls: Sequence[Control]) -> list[dict[str, Any]]:
    made: list[dict[str, Any]] = json.loads(json.dumps([asdict(control) for control in controls]))
    return made


def columns_of(controls: Sequence[Mapping[str, Any]]) -> list[str]:
    """The metrics that any control has, from metrics.json."""
    return list(dict.fromkeys(name for control in controls for name in control["scores"]))


def stored_controls(
    folder: Path, basis: Mapping[str, Any] | None, make: Callable[[], Sequence[Control]]
) -> list[dict[str, Any]]:
    """The controls as JSON, from a file in `folder` if they were made before on the same basis."""
    if basis is None:
        return controls_as_json(make())
    text = json.dumps(basis, sort_keys=True)
    path = folder / f"{sha256(text.encode()).hexdigest()[:16]}.json"
    with suppress(OSError, ParseError, KeyError, TypeError):
        stored = parse_strict_json(path.read_bytes())
        if stored["basis"] == json.loads(text):
            found: list[dict[str, Any]] = stored["controls"]
            return found
    found = controls_as_json(make())
    if found:
        folder.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps({"basis": basis, "controls": found}, indent=1))
    return found


@cache
def code_fingerprint(package: str) -> str:
    """A hash of the files of a package: controls that it scored are of its version."""
    digest = sha256()
    for name, file in sorted(_files(files(package), "")):
        digest.update(name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()[:16]


def _files(folder: Traversable, at: str) -> Iterator[tuple[str, Traversable]]:
    for one in folder.iterdir():
        if one.is_dir():
            yield from _files(one, f"{at}{one.name}/")
        elif one.name.endswith((".py", ".yaml")):
            yield at + one.name, one
