"""A sweep: one model under several settings, run together, with the curve of its score against what it saw.

Each point is a run with its own folder, the one that the same settings would have without a sweep. The sweep's folder
has sweep.json and report.html.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from bowstring.errors import UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.models.tokens import TokenCounter, counter_or_none
from bowstring.runs.codec import SCHEMA, problem_with_schema
from bowstring.runs.folder import RunFolder, fingerprint
from bowstring.runs.running import Evaluation, Run, Running, write_page
from bowstring.settings import options_of

_SAMPLE = 4000  # texts tokenized to estimate characters per token
_ABOUT = 4.0  # characters per token if no tokenizer is available


@dataclass(frozen=True, slots=True)
class SweepResult:
    """A sweep that has ended: its folder, and its runs by the names of their settings."""

    folder: Path
    points: dict[str, Run]
    summary: dict[str, Any]
    page_problem: str | None = None  # why report.html could not be drawn

    @property
    def stopped(self) -> str | None:
        return next((run.stopped for run in self.points.values() if run.stopped), None)


@dataclass(slots=True)
class Sweep:
    """A sweep that is ready to run: everything is checked, and no request has been sent."""

    evaluations: Mapping[str, Evaluation]
    running: Running
    folder: Path
    page: Callable[[Mapping[str, Any]], str]  # draws report.html
    tell: Callable[[str], None] = field(default=lambda line: None)

    def run(self) -> SweepResult:
        self._check_folder()
        runs = dict(zip(self.evaluations, self.running.run(), strict=True))
        summary = self._summary(runs)
        folder = RunFolder(self.folder)
        try:
            folder.write_json("sweep.json", summary)
            page_problem = write_page(folder, lambda: self.page(summary))
        finally:
            folder.close()
        return SweepResult(self.folder, runs, summary, page_problem)

    def _check_folder(self) -> None:
        """Raise an error if the folder holds a run or a different sweep; points can be added to the same sweep."""
        if (self.folder / "run.json").is_file():
            raise UsageError(f"{self.folder} contains a run; choose another --out for the sweep")
        path = self.folder / "sweep.json"
        if path.is_file():
            try:
                found = parse_strict_json(path.read_bytes())["fingerprint"]
            except (ParseError, KeyError, TypeError):
                return
            if found != self._fingerprint():
                raise UsageError(
                    f"{self.folder} contains a sweep of another model, judge, data set or shard; choose another --out"
                )

    def _fingerprint(self) -> str:
        """Return the fingerprint of what all points have in common."""
        first = next(iter(self.evaluations.values())).configuration
        thinking = {k: first[k] for k in ("template_args", "thinking_tokens") if k in first}
        shard = {"shard": self.running.options.shard} if self.running.options.shard else {}
        return fingerprint({k: first[k] for k in ("benchmark", "model", "judge", "data")} | thinking | shard)

    def _summary(self, runs: Mapping[str, Run]) -> dict[str, Any]:
        counter = counter_or_none("embedded", self.tell)
        density = self._characters_per_token(counter)
        points: dict[str, dict[str, Any]] = {}
        for name, run in runs.items():
            m = run.metrics
            characters = m.get("shown", {}).get("characters")  # a benchmark need not count it
            points[name] = {
                "folder": os.path.relpath(run.folder, self.folder),
                "settings": m["config"]["settings"],
                "complete": run.complete,
                **{k: m[k] for k in ("n", "unparsed", "failed")},
                **{k: m.get(k, 0) for k in ("truncated", "refused")},
                "context_tokens": None if characters is None else characters / density,
                "metrics": m["metrics"],
                **{k: m[k] for k in ("about", "unscored", "failures", "cut") if k in m},
                "usage": m["usage"],
            }
        first = next(iter(runs.values())).metrics
        return {
            "schema": SCHEMA,
            "benchmark": first["benchmark"],
            "fingerprint": self._fingerprint(),
            **({"shard": self.running.options.shard} if self.running.options.shard else {}),
            "points": points,
            "tokenizer": counter.name if counter else f"{_ABOUT:g} characters per token",
            "notes": _notes(runs),
            "config": {k: v for k, v in first["config"].items() if k != "settings"},
        }

    def _characters_per_token(self, counter: TokenCounter | None) -> float:
        """Measure characters per token on histories of this data set, to convert lengths to tokens."""
        if counter is None:
            return _ABOUT
        first = next(iter(self.evaluations.values()))
        texts = list(islice(first.items.texts(), _SAMPLE))
        tokens = sum(counter.count(texts))
        return sum(map(len, texts)) / tokens if tokens else _ABOUT


def _notes(runs: Mapping[str, Run]) -> list[str]:
    """Return the notes of all points; one that is not of all of them says of which."""
    found: dict[str, list[str]] = {}
    for name, run in runs.items():
        for note in run.metrics["notes"]:
            found.setdefault(note, []).append(name)
    return [note if len(names) == len(runs) else f"{'; '.join(names)}: {note}" for note, names in found.items()]


def run_folders(folder: Path) -> list[Path]:
    """Return the folders of a sweep's runs; for a run's folder, the folder itself."""
    if not (folder / "sweep.json").is_file():
        return [folder]
    return [folder / point["folder"] for point in read_sweep(folder)["points"].values()]


def read_sweep(folder: Path) -> dict[str, Any]:
    """Read sweep.json; its points have folders."""
    path = folder / "sweep.json"
    try:
        found = parse_strict_json(path.read_bytes())
        if problem := problem_with_schema(found):
            raise UsageError(f"{path} {problem}")
        if all(isinstance(point["folder"], str) for point in found["points"].values()):
            return dict(found)
    except (OSError, ParseError, KeyError, TypeError, AttributeError):
        pass
    raise UsageError(f"{path} cannot be read; give the run folders one by one, or run the sweep again")


def variant_name(one: Any, chosen: Sequence[Any]) -> str:
    """Return a point's name: its history, and any other setting that differs between points."""
    parts = [one.history]
    for axis in (option.field for option in options_of(type(one)) if option.axis and option.field != "history"):
        if len({getattr(other, axis) for other in chosen}) > 1:
            value = getattr(one, axis)
            parts.append(f"{value}-shot" if axis == "shots" else f"{value} {axis}")
    return ", ".join(parts)


def slug(name: str) -> str:
    """Return a name that is safe as a folder name."""
    return re.sub(r"[^A-Za-z0-9]+", "-", name).strip("-")
