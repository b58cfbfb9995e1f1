"""Runs -> units: what one page asks, with everything that it shows.

A unit's ids are those of `datasets.ratings`, so that people and judges meet on the same items. Its sources are kept
with it, and are nothing that a page ever sees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.ratings import GOLD, cluster_of, covered, item_id
from bowstring.errors import UsageError
from bowstring.records import Dialogue
from bowstring.runs.folder import EndedRun, read_run
from bowstring.runs.sweep import run_folders
from bowstring.studies.loading import data_name
from bowstring.studies.report import data_of
from bowstring.studies.run_names import folder_names
from bowstring.web.annotating.tasks import Task

Record = Mapping[str, Any]
Turns = tuple[tuple[str, str], ...]
COMPARED = ("persona", "profile")  # what HiCUPID compares with the gold answer
_PROFILE = {"age": "age", "gender": "gender", "personality": "personality", "occupation": "occupation"}
_INCOME = {"income_range": "income"}


@dataclass(frozen=True, slots=True)
class Unit:
    """What one page asks: `ids` has one name, or one for each entry of a checklist."""

    ids: tuple[str, ...]
    key: str  # of the record
    cluster: str
    type: str
    facts: tuple[tuple[str, str], ...]  # what is known of the user: a name and a text
    asked: str
    answers: tuple[str, ...]
    sources: tuple[str, ...] = ()  # where each answer comes from
    right: str = ""  # what is known to be good, where there is such a text
    entries: tuple[str, ...] = ()
    dialogues: tuple[Turns, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()  # texts that can be edited
    expected: tuple[tuple[str, ...], ...] = ()  # of a gold check, the labels that are right, for each id
    shared: bool = False


@dataclass(frozen=True, slots=True)
class Gathered:
    """The units of some runs, in the order of the data; `left_out` counts by reason."""

    benchmark: str
    runs: tuple[str, ...]
    units: tuple[Unit, ...]
    left_out: Mapping[str, int]


def read_runs(paths: Sequence[Path]) -> list[EndedRun]:
    """The runs, a sweep standing for its own; all of one benchmark and of the same data."""
    folders = {folder.resolve(): folder for path in paths for folder in run_folders(path)}
    runs = [read_run(folder) for folder in folders.values()]
    if not runs:
        raise UsageError("which runs? expected the folder of one, such as runs/NAME")
    first = runs[0]
    for other in runs[1:]:
        kinds = [str(run.configuration["benchmark"]) for run in (first, other)]
        if kinds[0] != kinds[1]:
            raise UsageError(f"{first.path} is a {kinds[0]} run and {other.path} a {kinds[1]} one; annotate them apart")
        _check_data(first, other)
    return runs


def _check_data(first: EndedRun, other: EndedRun) -> None:
    """Keys say nothing across data sets: somebody else's conversations would stand beside a question."""
    data, theirs = first.configuration["data"], other.configuration["data"]
    if data["fingerprint"] == theirs["fingerprint"]:
        return
    what, shown = "data", [data_name(data), data_name(theirs)]
    splits = [run.configuration["settings"].get("splits") for run in (first, other)]
    if [data["name"], data["revision"]] == [theirs["name"], theirs["revision"]] and splits[0] != splits[1]:
        what, shown = "splits", ["+".join(own or ()) or "all" for own in splits]
    raise UsageError(
        f"{first.path} and {other.path} cannot be annotated together: their {what} differ, {shown[0]} and {shown[1]}"
    )


def gather(runs: Sequence[EndedRun], task: Task) -> Gathered:
    """What these runs have for the task, each item once."""
    left_out: Counter[str] = Counter()
    if task.name == "compare" and len(runs) > 2:
        raise UsageError(
            f"compare takes one run, against the gold answers, or two, against each other; not {len(runs)}"
        )
    names = tuple(folder_names([run.path for run in runs]))
    if task.name == "compare" and len(runs) == 2:
        found = _against_each_other(runs[0], runs[1], (names[0], names[1]), left_out)
    else:
        found = (unit for run, name in zip(runs, names, strict=True) for unit in _units(run, name, task, left_out))
    units: dict[tuple[str, ...], Unit] = {}
    for unit in found:
        if unit.ids in units:
            left_out["there already, word for word"] += 1
        units.setdefault(unit.ids, unit)
    if not units:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in left_out.items())
        raise UsageError(f"{runs[0].path} has nothing for --task {task.name}: {reasons or 'no records'}")
    return Gathered(str(runs[0].configuration["benchmark"]), names, tuple(units.values()), left_out)


def _units(run: EndedRun, name: str, task: Task, left_out: Counter[str]) -> Iterator[Unit]:
    for record in run.records():
        unit = _BUILDERS[task.name](record, name)
        if isinstance(unit, str):
            left_out[unit] += 1
        else:
            yield unit


def _against_each_other(
    one: EndedRun, other: EndedRun, names: tuple[str, str], left_out: Counter[str]
) -> Iterator[Unit]:
    others = {record["key"]: record for record in other.records()}
    for record in one.records():
        against = others.get(record["key"])
        if against is None or any(against[f] != record[f] for f in ("question", "personalized_answer")):
            left_out["not in both runs"] += 1
        elif "answer" not in record or "answer" not in against:
            left_out["without an answer"] += 1
        elif legible(record["answer"]) == legible(against["answer"]):
            left_out["answered alike, word for word, by both runs"] += 1
        else:
            # The two texts that are seen name the item, as they do where the second is the gold answer.
            named = {**record, "personalized_answer": against["answer"]}
            answers = (record["answer"], against["answer"])
            yield _question(record, item_id("compare", named), answers, names)


def _compared(record: Record, run: str) -> Unit | str:
    if record["type"] not in COMPARED:
        return f"of type {record['type']}, which is not compared"
    if "answer" not in record:
        return "without an answer"
    answers = (record["answer"], record["personalized_answer"])
    return _question(record, item_id("compare", record), answers, (run, GOLD))


def _personal(record: Record, run: str) -> Unit | str:  # noqa: ARG001 - the answers are those of the data
    answers = (record["personalized_answer"], record["general_answer"])
    return _question(record, item_id("personal", record), answers, ("personalized answer", "general answer"))


def _satisfied(record: Record, run: str) -> Unit | str:
    if record["type"] in COMPARED:
        return f"of type {record['type']}, which is compared"
    if "answer" not in record:
        return "without an answer"
    return _question(record, item_id("satisfaction", record), (record["answer"],), (run,))


def _question(record: Record, named: str, answers: tuple[str, ...], sources: tuple[str, ...]) -> Unit:
    return Unit(
        ids=(named,),
        key=record["key"],
        cluster=cluster_of(record),
        type=record["type"],
        facts=tuple(facts_of(record)),
        asked=legible(record["question"]),
        answers=tuple(map(legible, answers)),
        sources=sources,
        right=legible(record["personalized_answer"]),
    )


def facts_of(record: Record) -> Iterator[tuple[str, str]]:
    """What is known of the user, as far as the question turns on it: what judges are told."""
    if persona := record["persona"]:
        yield persona["category"], f"The user {persona['relation']} {persona['entity']}."
    if profile := record["profile"]:
        for name, shown in (_PROFILE | _INCOME).items():
            yield shown, profile[name]
    if schedule := record["schedule"]:
        yield "calendar", f"{schedule['datetime']}: {schedule['event']}"


def _rated(record: Record, run: str) -> Unit | str:
    generation = record.get("generation", {})
    if "response" not in generation:
        return "without an answer"
    return Unit(
        ids=(item_id("rate", record),),
        key=record["key"],
        cluster=cluster_of(record),
        type=record["type"],
        facts=(("preference", legible(record["preference"])),),
        asked=legible(record["request"]),
        answers=(legible(generation["response"]),),
        sources=(run,),
        entries=tuple(map(legible, record["checklist"])),
    )


def _coverage(record: Record, run: str) -> Unit | str:
    if "preference" not in record.get("inference", {}):
        return "without an inferred preference"
    places = range(len(record["checklist"]))
    return Unit(
        ids=tuple(item_id("coverage", record, side="recall", place=n) for n in places),
        key=record["key"],
        cluster=cluster_of(record),
        type=record["type"],
        facts=(),
        asked=legible(record["request"]),
        answers=(legible(covered(record, "recall", 0)[1]),),
        sources=(run,),
        right=legible(record["preference"]),
        entries=tuple(legible(covered(record, "recall", n)[0]) for n in places),
    )


_BUILDERS = {
    "compare": _compared,
    "personal": _personal,
    "satisfaction": _satisfied,
    "rate": _rated,
    "coverage": _coverage,
}


def with_dialogues(units: Sequence[Unit], runs: Sequence[EndedRun]) -> tuple[list[Unit], str | None]:
    """The units with the dialogues that hold what an answer needs; or as they are, and why. Runs of one set may have
    read other splits of it."""
    keys = {unit.key for unit in units}
    found: dict[str, tuple[Turns, ...]] = {}
    for run in {str(run.configuration["settings"].get("splits")): run for run in runs}.values():
        data, why = data_of(run)
        if data is None:
            return list(units), f"the dialogues are not shown: {why}"
        found |= _evidence(data, keys)
    return [replace(unit, dialogues=found.get(unit.key, ())) for unit in units], None


def _evidence(data: DataSet, keys: set[str]) -> Iterator[tuple[str, tuple[Turns, ...]]]:
    if isinstance(data, HicupidSet):
        asked = [q for q in data.questions() if q.key in keys]
        by_user = {user: {d.id: d for d in data.history(user)} for user in {q.user_id for q in asked}}
        for question in asked:
            yield question.key, tuple(turns_of(by_user[question.user_id][n]) for n in question.evidence)
    else:
        assert isinstance(data, CupidSet)
        for instance in (i for i in data.instances if i.key in keys):
            yield instance.key, tuple(turns_of(instance.history[n]) for n in instance.evidence)


def turns_of(dialogue: Dialogue) -> Turns:
    return tuple((message.role, legible(message.text)) for message in dialogue.messages)


def legible(text: str) -> str:
    """A text without the blanks around it, which would tell its source; half a surrogate pair is a question mark."""
    return text.strip().encode("utf-8", "replace").decode()
