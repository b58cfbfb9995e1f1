"""From a source's name to a checked data set in memory."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import Any

from bowstring.benchmarks.cupid import data as cupid
from bowstring.benchmarks.cupid import mini as cupid_mini
from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.hicupid import checks as hicupid_checks
from bowstring.benchmarks.hicupid import mini as hicupid_mini
from bowstring.benchmarks.hicupid.data import DIALOGUE_COLUMNS, EVALUATION_COLUMNS, QA_COLUMNS, HicupidSet
from bowstring.datasets.layout import CUPID_CONFIG, Benchmark, missing_shards
from bowstring.datasets.problems import Problem, raise_if_any
from bowstring.datasets.sources import Choice, Source, locate, mini_benchmarks
from bowstring.datasets.tables import Column, Rows, read_rows
from bowstring.errors import UsageError

DataSet = HicupidSet | CupidSet


@dataclass(slots=True)
class Reading:
    """A data set as it was read: None where it cannot be used, and then `problems` says why."""

    data: DataSet | None
    problems: list[Problem]
    warnings: list[Problem] = field(default_factory=list)
    lacks_histories: bool = False  # some user who is asked has no dialogue here


def load(
    name: str = "mini",
    benchmark: Benchmark | None = None,
    *,
    revision: str | None = None,
    splits: Collection[str] = (),
    leave_out: Collection[str] = (),
    configs: tuple[str, ...] | None = ("dialogue", "qa"),
) -> DataSet:
    """The data set of this name, checked; a DataError names the first thing that is wrong with it.

    Only `splits`, or all but those to `leave_out`; None for `configs` takes HiCUPID's judge transcripts too.
    """
    names = mini_benchmarks(name, benchmark)
    if names and len(names) > 1:
        raise UsageError(f"{name} is two data sets; say which: {name}/hicupid or {name}/cupid")
    choice = Choice(tuple(splits), tuple(leave_out), configs)
    reading = read(name, benchmark, revision=revision, choice=choice)[0]
    raise_if_any(reading.problems, name)
    assert reading.data is not None
    return reading.data


def load_hicupid(name: str = "mini", **choice: Any) -> HicupidSet:
    data = load(name, "hicupid", **choice)
    assert isinstance(data, HicupidSet)
    return data


def load_cupid(name: str = "mini", **choice: Any) -> CupidSet:
    data = load(name, "cupid", **choice)
    assert isinstance(data, CupidSet)
    return data


def read(
    name: str, benchmark: Benchmark | None = None, *, revision: str | None = None, choice: Choice | None = None
) -> list[Reading]:
    """Read and check everything behind a name, collecting problems instead of raising them."""
    choice = choice or Choice()
    if bundled := mini_benchmarks(name, benchmark):
        if revision is not None:
            raise UsageError(f"--revision is for hub data sets; {name} comes with the install")
        of: dict[str, Callable[[Collection[str]], DataSet]] = {"hicupid": hicupid_mini.load, "cupid": cupid_mini.load}
        return [Reading(of[b](choice.splits), []) for b in bundled]
    source = locate(name, benchmark, revision=revision, choice=choice)
    if source.benchmark == "cupid":
        return [_read_cupid(source)]
    reading = _read_hicupid(source)
    if reading.lacks_histories and not choice.all_dialogues:
        # The dialogues are not in the split that the name of the questions' split suggests.
        everything = replace(choice, all_dialogues=True)
        reading = _read_hicupid(locate(name, benchmark, revision=revision, choice=everything))
    return [reading]


def _read_cupid(source: Source) -> Reading:
    problems: list[Problem] = []
    files = [f for split in source.parts[CUPID_CONFIG].values() for f in split]
    problems += _missing_shards(files)
    instances = cupid.read(source.root, files, problems)
    if not instances and not problems:
        problems.append(Problem(files[0], None, None, "has no rows; expected an instance a row"))
    data = None if problems else CupidSet(source.name, instances, source.parts, fingerprint=source.fingerprint())
    return Reading(data, problems, list(cupid.check_evidence(instances)))


def _read_hicupid(source: Source) -> Reading:
    problems = [
        Problem(f"{config}/", None, None, f"is not there; expected {config}/*.parquet beside the other part")
        for config in ("dialogue", "qa")
        if config not in source.parts
    ]
    dialogues, all_dialogues = read_parts(source, "dialogue", DIALOGUE_COLUMNS, problems)
    questions, _ = read_parts(source, "qa", QA_COLUMNS, problems)
    judgements, _ = read_parts(source, "evaluation", EVALUATION_COLUMNS, problems)
    problems += hicupid_checks.check_dialogues(dialogues)
    # Evidence can only be looked up where every dialogue was read.
    readable = all_dialogues and all(rows.has("user_id", "dialogue_id") for rows in dialogues.values())
    known = dialogues if readable else {}
    for rows in questions.values():
        problems += hicupid_checks.check_questions(rows, known)
    for rows in judgements.values():
        problems += hicupid_checks.check_judgements(rows, known)
    problems += hicupid_checks.check_across_splits(questions)
    if problems:
        lacks = any(p.column == "user_id" and "history is empty" in p.message for p in problems)
        return Reading(None, problems, lacks_histories=lacks)
    data = HicupidSet(
        source.name, dialogues, questions, judgements, parts=source.parts, fingerprint=source.fingerprint()
    )
    return Reading(data, problems)


def read_parts(
    source: Source, config: str, columns: tuple[Column, ...], problems: list[Problem]
) -> tuple[dict[str, Rows], bool]:
    """The splits of a config that could be read, and whether these are all of them."""
    parts: dict[str, Rows] = {}
    splits = source.parts.get(config, {})
    for split, files in splits.items():
        problems += _missing_shards(files)
        rows = read_rows(source.root, files, columns, problems)
        if rows is not None:
            parts[split] = rows
    return parts, len(parts) == len(splits)


def _missing_shards(files: list[str]) -> list[Problem]:
    shard = missing_shards(files)
    return [Problem(shard, None, None, "is not there, though its name and its neighbours say so")] if shard else []
