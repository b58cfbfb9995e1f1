"""Published results beside a run: those of the same setting, and what still differs.

A result is shown only if the run is on the published data, by name from the hub, and was judged by a model. What is
not known of a result is stated; it is never taken for equal.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from bowstring.benchmarks.interface import Benchmark
from bowstring.benchmarks.published_results import Known, PublishedResults, Row
from bowstring.prompts import PromptFolder
from bowstring.records import item_and_answer
from bowstring.runs.about import read_about, short_revision
from bowstring.runs.runner import Record

NAME = "published_results"
NOT_KNOWN = "not known"
# Settings that choose what is asked: they are matched, or the number of items shows them.
_CHOOSING = ("protocol", "splits", "types", "task")
_THINKING = ("thinking_tokens", "template_args")  # parts of a configuration that are no settings of a benchmark


def published_beside(
    benchmark: Benchmark,
    results: PublishedResults | None,
    prompts: PromptFolder,
    metrics: Mapping[str, Any],
    records: Sequence[Record],
) -> dict[str, Any]:
    """The entry of metrics.json with the published results beside a run; none if it is not as published."""
    configuration = metrics["config"]
    if results is None or not _is_as_published(benchmark, configuration):
        return {}
    found: dict[str, Any] = {
        "paper": results.paper,
        "arxiv": results.arxiv,
        "data": results.data,
        "known_settings": _known_settings(results),
        "settings": [dict(pairs) for pairs in dict.fromkeys(tuple(row.setting.items()) for row in results.rows)],
        "left_out": _why_left_out(benchmark, results, configuration),
    }
    if found["left_out"] is None:
        run = _Run(benchmark, results, prompts, metrics, records)
        found["beside"] = [run.beside(split) for split in run.splits]
        found["correlations"] = [one.model_dump(mode="json") for one in results.correlations]
    return {NAME: found}


def in_words(setting: Mapping[str, Known]) -> str:
    """A setting as text: "split test_1, history full (shots not known)"."""
    known = ", ".join(f"{name} {value}" for name, value in setting.items() if value is not None)
    unknown = [name for name, value in setting.items() if value is None]
    return f"{known} ({', '.join(unknown)} {NOT_KNOWN})" if unknown else known


def _is_as_published(benchmark: Benchmark, configuration: Mapping[str, Any]) -> bool:
    """Whether a run asks and counts as published; a benchmark without protocols has one way only."""
    if "protocol" not in _fields(benchmark):
        return configuration["judge"] is not None
    return bool(configuration["settings"].get("protocol") == "published")


def _fields(benchmark: Benchmark) -> set[str]:
    return {field.name for field in fields(benchmark.settings)}


def _why_left_out(benchmark: Benchmark, results: PublishedResults, configuration: Mapping[str, Any]) -> str | None:
    name, judge = str(configuration["data"]["name"]), configuration["judge"]
    path = Path(name).expanduser()
    if path.exists() or name.lower() != results.data.lower():
        kind = "the local folder " if path.is_dir() else "the local file " if path.exists() else ""
        return (
            f"the data is {kind}{name}, not {results.data} from the hub; no published result may be compared "
            "with these scores"
        )
    if judge in benchmark.judges:
        return f"the judge {judge} is not a model; no published result may be compared with these scores"
    return None


def _known_settings(results: PublishedResults) -> list[str]:
    """The settings of all published results, with the metrics of each."""
    found: dict[str, dict[str, None]] = {}
    for row in results.rows:
        found.setdefault(in_words(row.setting), {}).update(dict.fromkeys(row.values))
    return [f"{setting}: {', '.join(names)}" for setting, names in found.items()]


class _Run:
    """A run, as what published results are compared with."""

    def __init__(
        self,
        benchmark: Benchmark,
        results: PublishedResults,
        prompts: PromptFolder,
        metrics: Mapping[str, Any],
        records: Sequence[Record],
    ) -> None:
        self._benchmark = benchmark
        self._results = results
        self._prompts = prompts
        self._metrics = metrics
        self._configuration: Mapping[str, Any] = metrics["config"]
        whole = "" in results.items
        items = dict.fromkeys(
            ("" if whole else str(record.get("split", "")), item_and_answer(record)[0]) for record in records
        )
        self._items = Counter(split for split, _ in items)
        asked = {"protocol": "published", "history": self._configuration["settings"].get("history")}
        given = {name: value for name, value in asked.items() if name in _fields(benchmark)}
        settled = benchmark.settle(given, several=False)
        self._defaults: Mapping[str, Any] = json.loads(json.dumps(benchmark.settings(**settled).configuration()))

    @property
    def splits(self) -> list[str]:
        return list(self._items)

    def beside(self, split: str) -> dict[str, Any]:
        """The values of a split, the published rows of its setting, and what differs from all of them."""
        values = self._values(split)
        rows = [row for row in self._results.rows if self._fits(row.setting, split) and row.values.keys() & values]
        bounds = [b for b in self._results.bounds if self._fits(b.setting, split) and b.metric in values]
        changes = [c for c in self._results.changes if self._fits(c.setting, split)]
        unknown = [name for name in rows[0].setting if all(row.setting[name] is None for row in rows)] if rows else []
        return {
            "split": split,
            "setting": self._setting(split),
            "items": self._items[split],
            "of_items": self._results.items.get(split),
            "values": values,
            "rows": [self._shown(row, unknown) for row in rows],
            "bounds": [one.model_dump(mode="json") for one in bounds],
            "changes": [one.model_dump(mode="json") for one in changes],
            "differences": [
                *self._differences(split),
                *(self._differing_requests(rows) if rows else ()),
                *(self._unknown(name, split) for name in unknown),
            ],
        }

    def _values(self, split: str) -> dict[str, Any]:
        """The estimates of a split that the paper reports, too."""
        found = self._metrics["metrics"]
        if len(self._items) > 1:
            found = self._metrics["groups"].get("split", {}).get(split, {})
        reported = dict.fromkeys(name for row in self._results.rows for name in row.values)
        reported |= dict.fromkeys(one.metric for one in self._results.bounds)
        return {name: found[name] for name in reported if name in found and found[name]["value"] is not None}

    def _setting_of(self, name: str, split: str) -> Any:
        return split if name == "split" else self._configuration["settings"].get(name)

    def _setting(self, split: str) -> dict[str, Known]:
        names = [*dict.fromkeys(name for row in self._results.rows for name in row.setting), "task"]
        found = {name: self._setting_of(name, split) for name in names}
        return {name: value for name, value in found.items() if value is not None}

    def _fits(self, setting: Mapping[str, Known], split: str) -> bool:
        """Whether everything that is known of a published setting is equal here. Beside an unusual setting, results
        of which it is not known are left out: a source would have named it."""
        known = self._results.unless_named | {name: value for name, value in setting.items() if value is not None}
        return all(self._setting_of(name, split) == value for name, value in known.items() if name in setting)

    def _shown(self, row: Row, unknown: Sequence[str]) -> dict[str, Any]:
        not_known = [name for name, value in row.setting.items() if value is None and name not in unknown]
        return {
            **row.model_dump(mode="json", exclude={"requests"}),
            "not_known": [*not_known, *(["training"] if row.training is None else [])],
            "differences": self._requests_of(row),
        }

    def _differences(self, split: str) -> list[dict[str, Any]]:
        """What differs from all published results, or is not known of them."""
        of = self._configuration
        unnamed = f"their version, precision, quantization and engine are {NOT_KNOWN}"
        found = [_difference("model", of["model"], f"the models that are named with the results; {unnamed}")]
        for role, judge in self._results.judges.items():
            yours = str(of.get(role) or of["judge"])
            same = any(mark in yours.lower() for mark in judge.marks)
            published = NOT_KNOWN if judge.name is None else judge.name
            found.append(
                _difference(role, yours, f"{published}; equal by name, and no more is known" if same else published)
            )
        revision = about.revision if (about := read_about(self._metrics.get("about"))) else of["data"]["revision"]
        found.append(_difference("data revision", short_revision(revision) or NOT_KNOWN, NOT_KNOWN))
        found.append(
            _difference("prompts", self._imported_prompts(), f"a version of the authors' prompts that is {NOT_KNOWN}")
        )
        if self._items[split] != (whole := self._results.items.get(split)):
            all_of_them = NOT_KNOWN if whole is None else f"{whole:,}"
            found.append(_difference(self._benchmark.item.many, f"{self._items[split]:,}", all_of_them))
        if len(self._items) > 1:
            both = " and ".join(self._items)
            found.append(_difference("splits", f"{both}; compare {split} alone", "each split by itself"))
        if types := self._narrowed("types"):
            found.append(_difference("types", ", ".join(types), "all"))
        if repeats := self._metrics.get("repeats"):
            yours = ", ".join(f"{n} {name}" for name, n in repeats.items())
            found.append(_difference("repeats", f"{yours} each", NOT_KNOWN))
        if lost := {name: n for name in ("failed", "unparsed") if (n := self._metrics.get(name))}:
            found.append(_difference("lost", ", ".join(f"{n:,} {name}" for name, n in lost.items()), NOT_KNOWN))
        return found

    def _imported_prompts(self) -> str:
        changed = self._prompts.changed_since_import()
        if changed is None:
            return "the files of --prompts; nothing says how they were imported"
        imported = "imported from the authors' code"
        return f"{imported}, and then changed ({', '.join(changed)})" if changed else imported

    def _narrowed(self, name: str) -> Sequence[str] | None:
        yours, published = self._configuration["settings"].get(name), self._defaults.get(name)
        return yours if yours is not None and published and len(yours) < len(published) else None

    def _requests(self, *, but: Collection[str]) -> dict[str, Any]:
        """The run's settings of requests and searches."""
        yours = self._configuration["settings"] | {name: self._configuration.get(name) for name in _THINKING}
        left_out = {*_CHOOSING, *self._results.without_effect, *but}
        return {name: value for name, value in yours.items() if name not in left_out}

    def _differing_requests(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        """Settings in which the run differs from the published protocol, unless it asks as all of these rows did."""
        found = []
        for name, value in self._requests(but={name for row in rows for name in row.setting}).items():
            default = self._defaults.get(name)
            published = self._results.requests.get(name, default)
            as_rows = all(name in row.requests and row.requests[name] == value for row in rows)
            if value not in (published, default) and not as_rows:
                found.append(_difference(name.replace("_", " "), _plain(value), _plain(published)))
        return found

    def _requests_of(self, row: Row) -> list[dict[str, Any]]:
        """Settings in which the model of a row was asked in another way than the published protocol, and than yours."""
        yours = self._requests(but=row.setting)
        return [
            _difference(name.replace("_", " "), _plain(yours.get(name)), _plain(published))
            for name, published in row.requests.items()
            if yours.get(name) != published
        ]

    def _unknown(self, name: str, split: str) -> dict[str, Any]:
        return _difference(name, _plain(self._setting_of(name, split)), NOT_KNOWN)


def _difference(what: str, yours: Any, published: Any) -> dict[str, Any]:
    return {"what": what, "yours": yours, "published": published}


def _plain(value: Any) -> str:
    return "none" if value is None else str(value)
