"""Load runs for a comparison: check that they use the same data, name them, and collect notes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

from bowstring.benchmarks.interface import Benchmark
from bowstring.benchmarks.of_run import installed_benchmark, open_run
from bowstring.benchmarks.standing import about_of
from bowstring.errors import UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.records import MODEL_ROLE, by_item, is_repeated, item_and_answer
from bowstring.runs.about import About
from bowstring.runs.cut_answers import in_words
from bowstring.runs.folder import EndedRun
from bowstring.runs.runner import Record
from bowstring.runs.sweep import run_folders
from bowstring.studies.run_names import short_names


@dataclass(frozen=True, slots=True)
class Contender:
    """A run in a comparison: its short name, its records by key, and counts of failed and unparsed items; `cut` counts
    the answers in all of the run that were cut at their limit, by role."""

    name: str
    folder: Path
    configuration: Mapping[str, Any]
    records: Mapping[str, Record]
    failed: int
    unparsed: int
    cut: Mapping[str, Mapping[str, Any]]
    about: About

    @property
    def benchmark(self) -> str:
        return str(self.configuration["benchmark"])

    def as_json(self) -> dict[str, Any]:
        counts = {"n": len(self.records), "failed": self.failed, "unparsed": self.unparsed, "cut": self.cut}
        found = {"name": self.name, "folder": str(self.folder), **counts, "config": self.configuration}
        return found | {"about": self.about.as_json()}


def open_contenders(paths: Sequence[Path], baseline: Path | None) -> tuple[list[Contender], str, list[str]]:
    """The runs, the name of the baseline, and notes. A sweep means all of its runs."""
    folders = {folder.resolve(): folder for path in paths for folder in run_folders(path)}
    if baseline is not None and baseline.resolve() not in folders:
        folders = {baseline.resolve(): baseline} | folders
    ended = [open_run(folder) for folder in folders.values()]
    if len(ended) < 2:
        raise UsageError(
            f"{'only one run' if ended else 'no run'} to compare; expected two or more, such as runs/A runs/B"
        )
    _check_benchmark(ended)
    records = [_records(run) for run in ended]
    benchmark = installed_benchmark(_benchmark_of(ended[0]))
    notes = _check_data(benchmark, ended, records)
    names = short_names([run.configuration for run in ended], [str(folder) for folder in folders.values()])
    shared = set(_shared(records))
    if not shared:
        raise UsageError(f"{_apart(ended, records)}; expected runs on the same items")
    contenders = []
    for name, run, own in zip(names, ended, records, strict=True):
        compared = [record for record in own.values() if item_and_answer(record)[0] in shared]
        cut = _saved(run.path).get("cut", {})
        counts, about = _counts(benchmark, compared), _about(run, own)
        contenders.append(Contender(name, run.path, run.configuration, own, *counts, cut, about))
    at = 0 if baseline is None else list(folders).index(baseline.resolve())
    return contenders, names[at], notes + _notes(benchmark, contenders, len(shared))


def _about(run: EndedRun, records: Mapping[str, Record]) -> About:
    """What the scores of a run are of. Only its records are compared, so metrics.json may be missing."""
    config = run.configuration
    otherwise = {"benchmark": config["benchmark"], "config": config, "n": len(by_item(records.values()))}
    try:
        found = parse_strict_json((run.path / "metrics.json").read_bytes())
    except (OSError, ParseError):
        found = None
    return about_of(otherwise | {"about": found.get("about") if isinstance(found, dict) else None})


def common_keys(contenders: Sequence[Contender]) -> list[str]:
    """The keys of the items that all runs have, in the order of the data; without those of repeated answers."""
    return _shared([run.records for run in contenders])


def _shared(records: Sequence[Mapping[str, Record]]) -> list[str]:
    """The keys of the items that all runs have."""
    return [key for key, record in records[0].items() if not is_repeated(record) and all(key in own for own in records)]


def _apart(ended: Sequence[EndedRun], records: Sequence[Mapping[str, Record]]) -> str:
    """Which two runs have no item in common; if any two have some, that all together have none."""
    for (one, own), (other, theirs) in combinations(zip(ended, records, strict=True), 2):
        if not own.keys() & theirs.keys():
            return f"{one.path} and {other.path} have no item in common"
    return "the runs have no item that all of them have"


def _records(run: EndedRun) -> dict[str, Record]:
    return {record["key"]: record for record in run.records()}


def _check_benchmark(ended: Sequence[EndedRun]) -> None:
    first, *others = ended
    for other in others:
        for what, of in (("benchmark", _benchmark_of), ("--protocol", _protocol_of)):
            if of(other) != of(first):
                raise UsageError(
                    f"{first.path} and {other.path} cannot be compared: their {what} differs: "
                    f"{of(first)} and {of(other)}"
                )


def _benchmark_of(run: EndedRun) -> str:
    return str(run.configuration["benchmark"])


def _protocol_of(run: EndedRun) -> str:
    return str(run.configuration["settings"].get("protocol", ""))


def _check_data(benchmark: Benchmark, ended: Sequence[EndedRun], records: Sequence[Mapping[str, Record]]) -> list[str]:
    """Check that the data is the same, by fingerprint, or that it is another split with the same shared items."""
    notes: list[str] = []
    first = ended[0]
    for other, own in zip(ended[1:], records[1:], strict=True):
        data, theirs = first.configuration["data"], other.configuration["data"]
        if data["fingerprint"] == theirs["fingerprint"]:
            continue
        named = [data["name"], data["revision"]] == [theirs["name"], theirs["revision"]]
        splits = first.configuration["settings"].get("splits"), other.configuration["settings"].get("splits")
        both = [(records[0][key], own[key]) for key in own if key in records[0]]
        alike = all(one.get(name) == two.get(name) for one, two in both for name in benchmark.item_fields)
        if not named or splits[0] == splits[1] or not alike:
            raise UsageError(
                f"{first.path} and {other.path} cannot be compared: their data differs: "
                f"{data_name(data)} and {data_name(theirs)}"
            )
        notes = [
            f"the runs use different splits of one set; only the shared {benchmark.item.many} could be "
            "checked for equality, not the histories"
        ]
    return notes


def data_name(data: Mapping[str, Any]) -> str:
    """The data of a run for a message: its name and the start of its fingerprint."""
    revision = f" at {data['revision']}" if data["revision"] else ""
    return f"{data['name']}{revision} ({data['fingerprint'][:8]})"


def _counts(benchmark: Benchmark, records: Sequence[Record]) -> tuple[int, int]:
    """The numbers of failed and unparsed items."""
    tasks = [benchmark.tasks_of(record) for record in records]
    failed = sum(any("failure" in task for task in own) for own in tasks)
    return failed, sum(any(_is_unparsed(task) for task in own) for own in tasks)


def _is_unparsed(task: Mapping[str, Any]) -> bool:
    judged = task.get("score", task.get("verdict"))
    return task.get("unparsed") is not None or ("judgement" in task and judged is None)


def _notes(benchmark: Benchmark, contenders: Sequence[Contender], shared: int) -> list[str]:
    notes = []
    items = {run.name: len(by_item(run.records.values())) for run in contenders}
    if any(n != shared for n in items.values()):
        sizes = ", ".join(f"{name} {n:,}" for name, n in items.items())
        notes.append(f"compared on the {shared:,} items that all runs have (of {sizes})")
    notes += _judging_notes(benchmark, contenders)
    for run in contenders:
        if run.failed or run.unparsed:
            as_published = run.configuration["settings"].get("protocol") == "published"
            treated = "counted as published" if as_published else "left out of the differences that need them"
            lost = f"{run.failed:,} failed and {run.unparsed:,} unparsed of {_compared(run, shared)}"
            notes.append(f"{run.name}: {lost}; {treated}")
        if MODEL_ROLE in run.cut:
            notes.append(f"{run.name}: {in_words(MODEL_ROLE, run.cut[MODEL_ROLE])}")
    own = {run.name: list(map(str, _saved(run.folder).get("notes", ()))) for run in contenders}
    for note in dict.fromkeys(note for found in own.values() for note in found):
        whose = [name for name, found in own.items() if note in found]
        notes.append(note if len(whose) == len(own) else f"{'; '.join(whose)}: {note}")
    return notes


def _compared(run: Contender, shared: int) -> str:
    if len(run.records) == len(by_item(run.records.values())):
        return f"{shared:,} items"
    return f"the answers and judgements of {shared:,} items"


def _judging_notes(benchmark: Benchmark, contenders: Sequence[Contender]) -> list[str]:
    notes = []
    comparable = f", only {benchmark.without_judge}" if benchmark.without_judge else ""
    for role in benchmark.roles:
        judges = {run.name: run.configuration.get(role) for run in contenders}
        if len(set(judges.values())) > 1:
            who = ", ".join(f"{name}: {judge or 'none'}" for name, judge in judges.items())
            notes.append(f"different {role}s ({who}): their scores are not comparable{comparable}")
    templates: dict[str, set[str]] = {}
    for run in contenders:
        for name, words in run.configuration.get("prompts", {}).items():
            if any(word in name for word in benchmark.judge_prompts):
                templates.setdefault(name, set()).add(words)
    if changed := sorted(name for name, words in templates.items() if len(words) > 1):
        notes.append(f"the judges had different prompts: {', '.join(changed)}")
    if len({bool(run.configuration["settings"].get("both_orders")) for run in contenders}) > 1:
        notes.append("some runs were judged in both orders, others in one order")
    return notes


def _saved(folder: Path) -> dict[str, Any]:
    """The metrics.json of a run; empty if it cannot be read: only the records are compared."""
    try:
        return dict(parse_strict_json((folder / "metrics.json").read_bytes()))
    except (OSError, ParseError, TypeError, ValueError):
        return {}
