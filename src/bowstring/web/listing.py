"""The list of runs with settings, differences and scores: filtered, sorted and paginated."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bowstring.benchmarks.of_run import find_installed, find_metrics
from bowstring.benchmarks.standing import about_of, abouts_of_points
from bowstring.metrics.measures import MetricSet
from bowstring.reports.points import lead_of
from bowstring.runs.catalogue import Catalogue, Entry, FileCache, Unreadable, read_json_object, read_progress

PAGE = 100  # rows
_LONG = 60  # characters of a setting's value
_HEADLINES = 20_000  # cached scores

# Name of a column in links -> its heading.
COLUMNS = {
    "name": "run",
    "benchmark": "benchmark",
    "model": "model",
    "judge": "judge",
    "history": "history",
    "score": "score",
    "n": "n",
    "status": "status",
    "when": "when",
}
_DOWNWARDS = ("score", "n", "when")  # sorted in descending order first


@dataclass(frozen=True, slots=True)
class Headline:
    """The main score of a run, with failed and unparsed counts. A sweep has a range and no interval."""

    metric: str  # empty if nothing was scored
    value: float | None
    low: float | None
    high: float | None
    n: int
    trusted: bool
    failed: int = 0
    unparsed: int = 0
    points: int = 0
    is_benchmark_data: bool | None = None  # whether it is of published test data


@dataclass(frozen=True, slots=True)
class Row:
    entry: Entry
    benchmark: str
    data: str
    model: str
    judge: str
    history: str
    others: Sequence[tuple[str, str]]
    headline: Headline | None = None
    problem: str = ""  # of the file with the score, if the entry itself is valid
    progress: Mapping[str, Any] | None = None

    @property
    def status(self) -> str:
        if self.problem:
            return "broken"
        scored = self.headline is None or self.headline.metric
        return self.entry.status if scored else "unscored"

    @property
    def metric_set(self) -> MetricSet:
        return _metric_set(self.entry.manifest if self.entry.kind == "sweep" else {}, self.entry.configuration)

    @property
    def clusters(self) -> str:
        """The clusters of its intervals; generic if the benchmark is not installed."""
        benchmark = find_installed(self.entry.configuration.get("benchmark"))
        return "clusters" if benchmark is None else benchmark.cluster.many

    @property
    def reason(self) -> str:
        return self.problem or self.entry.reason


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Filter, order and page of the list."""

    words: str = ""
    sort: str = "when"
    descending: bool = True
    page: int = 1

    @classmethod
    def read(cls, words: str, sort: str, page: str) -> ListQuery:
        """Parse query values: `sort` is a column, with - for descending order. Invalid values are ignored."""
        column = sort.removeprefix("-")
        number = int(page) if page.isascii() and page.isdecimal() and len(page) < 7 else 1
        if column not in COLUMNS:
            return cls(words, page=max(1, number))
        return cls(words, column, sort.startswith("-"), max(1, number))

    def sorting(self, column: str | None = None) -> str:
        """The sort value for a link; for a column, that of its heading, which reverses the current order."""
        if column is None:
            return ("-" if self.descending else "") + self.sort
        descending = not self.descending if column == self.sort else column in _DOWNWARDS
        return ("-" if descending else "") + column


@dataclass(frozen=True, slots=True)
class ListPage:
    rows: Sequence[Row]
    asked: ListQuery
    found: int
    total: int

    @property
    def clusters(self) -> str:
        """The clusters of the intervals of these rows."""
        return " or ".join(dict.fromkeys(row.clusters for row in self.rows)) or "clusters"

    @property
    def pages(self) -> int:
        return max(1, math.ceil(self.found / PAGE))


class Listing:
    """Reads run files only if needed: scores for the rows of a page, or for all rows when sorting by score."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._headlines = FileCache(_read_headline, ("metrics.json",), most=_HEADLINES)

    def listed(self, asked: ListQuery) -> ListPage:
        entries = self._catalogue.entries()
        wanted = [entry for entry in entries if _matches(entry, asked.words)]
        rows = _rows(wanted)
        if asked.sort in ("score", "n"):
            rows = [self._scored(row) for row in rows]
        rows = _sorted(rows, asked)
        page = min(asked.page, max(1, math.ceil(len(rows) / PAGE)))
        shown = [self._scored(row) for row in rows[(page - 1) * PAGE : page * PAGE]]
        return ListPage(shown, replace(asked, page=page), len(rows), len(entries))

    def rows(self, entries: Sequence[Entry]) -> list[Row]:
        """The rows of these entries, with the differences between them."""
        return [self._scored(row) for row in _rows(entries)]

    def _scored(self, row: Row) -> Row:
        entry = row.entry
        if entry.status in ("running", "interrupted", "failed"):
            return replace(row, progress=read_progress(entry.path))
        if entry.status == "broken":
            return row
        found = _headline_of_sweep(entry.manifest) if entry.kind == "sweep" else self._headlines.of(entry.path)
        return replace(row, problem=found) if isinstance(found, str) else replace(row, headline=found)


def _matches(entry: Entry, words: str) -> bool:
    """Whether every word occurs in the description of the entry."""
    if not words:
        return True
    config = entry.configuration
    told = (
        entry.name,
        entry.kind,
        entry.status,
        *(shown(config.get(k)) for k in ("benchmark", "model", "judge", "matcher")),
        *(f"{name} {shown(value)}" for part in ("data", "settings") for name, value in _part(config, part).items()),
    )
    text = "\n".join(told).casefold()
    return all(word in text for word in words.casefold().split())


def _rows(entries: Sequence[Entry]) -> list[Row]:
    settings = [_settings(entry) for entry in entries]
    of_benchmark: dict[str, list[Mapping[str, str]]] = {}
    for entry, own in zip(entries, settings, strict=True):
        if own and entry.kind == "run":
            of_benchmark.setdefault(shown(entry.configuration.get("benchmark")), []).append(own)
    differing = {name: _differing(several) for name, several in of_benchmark.items()}
    rows = []
    for entry, own in zip(entries, settings, strict=True):
        config = entry.configuration
        benchmark = shown(config.get("benchmark"))
        others = [(name, own[name]) for name in differing.get(benchmark, ()) if own.get(name) and name != "data"]
        rows.append(
            Row(
                entry,
                benchmark,
                shown(_part(config, "data").get("name")),
                (shown(config.get("model")) or "none: retrieval") if config else "",
                shown(config.get("judge")),
                _histories(entry),
                others if entry.kind == "run" else [],
            )
        )
    return rows


def _histories(entry: Entry) -> str:
    if entry.kind == "sweep":
        return ", ".join(entry.manifest.get("points", {}))
    return shown(_part(entry.configuration, "settings").get("history"))


def _part(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = config.get(name)
    return found if isinstance(found, dict) else {}


def _settings(entry: Entry) -> dict[str, str]:
    """All other parts of the configuration, by name."""
    config = entry.configuration
    if not config:
        return {}
    data = _part(config, "data")
    found = {name: shown(value) for name, value in _part(config, "settings").items() if name != "history"}
    return {
        "data": shown(data.get("name")),
        "revision": shown(data.get("revision")),
        "data fingerprint": shown(data.get("fingerprint"))[:8],
        "matcher": shown(config.get("matcher")),
        "retriever": shown(config.get("retriever")),
        **{name: shown(config[name]) for name in ("template_args", "thinking_tokens") if name in config},
        **found,
        **({"prompts": _digest(prompts)} if (prompts := config.get("prompts")) else {}),
    }


def _differing(several: Sequence[Mapping[str, str]]) -> list[str]:
    names = dict.fromkeys(name for own in several for name in own)
    # Between those that have it: a setting that a retrieval-only run lacks is no difference of the others.
    differ = [name for name in names if len({own[name] for own in several if name in own}) > 1]
    # Another set has another fingerprint: it is shown only if the names are equal.
    told = len({own["data"] for own in several}) == len({(own["data"], own["data fingerprint"]) for own in several})
    return [name for name in differ if not (name == "data fingerprint" and told)]


def shown(value: object) -> str:
    """A setting of any type as text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list) and all(isinstance(part, str) for part in value):
        text = ", ".join(value) or "all"
    else:
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def _digest(prompts: object) -> str:
    return hashlib.sha256(json.dumps(prompts, sort_keys=True).encode()).hexdigest()[:6] if prompts else ""


def _sorted(rows: Sequence[Row], asked: ListQuery) -> list[Row]:
    """Sort rows by a column; rows without a value come last in either order."""
    keys: dict[str, Callable[[Row], Any]] = {
        "name": lambda row: row.entry.name.casefold(),
        "score": lambda row: row.headline.value if row.headline else None,
        "n": lambda row: row.headline.n if row.headline else None,
        "status": lambda row: row.status,
        "when": lambda row: row.entry.when,
    }
    key: Callable[[Row], Any] = keys.get(asked.sort, lambda row: getattr(row, asked.sort).casefold() or None)
    having = [row for row in rows if key(row) is not None]
    return [*sorted(having, key=key, reverse=asked.descending), *(row for row in rows if key(row) is None)]


def _read_headline(folder: Path) -> Headline | str:
    """The headline of a run, or the problem with its metrics.json."""
    try:
        m = read_json_object(folder / "metrics.json")
    except Unreadable as problem:
        return str(problem)
    try:
        metric_set = find_metrics(m.get("benchmark"), _part(m, "config"))
        name = metric_set.lead(m["metrics"]) or next(iter(m["metrics"]), None)
        if name is None:  # nothing was scored; the counts show it
            return Headline("", None, None, None, 0, True, int(m["failed"]), int(m["unparsed"]))
        e = m["metrics"][name]
        value, low, high = (float(e[k]) for k in ("value", "low", "high"))
        counts = int(e["n"]), bool(e["trusted"]), int(m["failed"]), int(m["unparsed"])
        return Headline(name, value, low, high, *counts, is_benchmark_data=about_of(m).is_benchmark_data)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return "metrics.json is malformed"


def _metric_set(summary: Mapping[str, Any], config: Mapping[str, Any]) -> MetricSet:
    """The metrics of a run, or of a sweep with its summary (the settings are those of its points)."""
    points = _part(summary, "points").values()
    settings = _part(next((point for point in points if isinstance(point, dict)), config), "settings")
    return find_metrics(summary.get("benchmark", config.get("benchmark")), {**config, "settings": settings})


def _first_metric(points: Mapping[str, Any]) -> str | None:
    return next((name for point in points.values() for name in point["metrics"]), None)


def _headline_of_sweep(summary: Mapping[str, Any]) -> Headline | str:
    points = summary["points"]
    try:
        name = lead_of(points, _metric_set(summary, _part(summary, "config"))) or _first_metric(points)
        if name is None:
            failed, unparsed = (sum(int(point[k]) for point in points.values()) for k in ("failed", "unparsed"))
            return Headline("", None, None, None, 0, True, failed, unparsed, len(points))
        found = [point for point in points.values() if name in point["metrics"]]
        values = [float(point["metrics"][name]["value"]) for point in found]
        failed, unparsed = (sum(int(point[k]) for point in points.values()) for k in ("failed", "unparsed"))
        n = max(int(point["metrics"][name]["n"]) for point in found)
        known = next(iter(abouts_of_points(summary).values())).is_benchmark_data
        return Headline(name, max(values), min(values), max(values), n, True, failed, unparsed, len(points), known)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return "sweep.json is malformed"
