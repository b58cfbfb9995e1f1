"""From a source's name to a checked data set in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from bowstring.datasets import cupid, hicupid_checks, mini
from bowstring.datasets.cupid import CupidSet
from bowstring.datasets.hicupid import DIALOGUE_COLUMNS, EVALUATION_COLUMNS, QA_COLUMNS, HicupidSet
from bowstring.datasets.layout import CUPID_CONFIG, Benchmark
from bowstring.datasets.problems import Problem, raise_if_any
from bowstring.datasets.sources import Source, locate, mini_benchmarks
from bowstring.datasets.tables import Column, Rows, read_rows
from bowstring.errors import DataError, UsageError

DataSet = HicupidSet | CupidSet


@dataclass(slots=True)
class Reading:
    """A data set as it was read: None where it cannot be used, and then `problems` says why."""

    data: DataSet | None
    problems: list[Problem]
    warnings: list[Problem] = field(default_factory=list)


def load(
    name: str = "mini",
    benchmark: Benchmark | None = None,
    *,
    revision: str | None = None,
    splits: Collection[str] = (),
) -> DataSet:
    """The data set of this name, checked; a DataError names the first thing that is wrong with it."""
    names = mini_benchmarks(name, benchmark)
    if names and len(names) > 1:
        raise UsageError(f"{name} is two data sets; say which: {name}/hicupid or {name}/cupid")
    reading = read(name, benchmark, revision=revision, splits=splits)[0]
    raise_if_any(reading.problems, name)
    assert reading.data is not None
    return reading.data


def load_hicupid(name: str = "mini", *, revision: str | None = None, splits: Collection[str] = ()) -> HicupidSet:
    data = load(name, "hicupid", revision=revision, splits=splits)
    assert isinstance(data, HicupidSet)
    return data


def load_cupid(name: str = "mini", *, revision: str | None = None) -> CupidSet:
    data = load(name, "cupid", revision=revision)
    assert isinstance(data, CupidSet)
    return data


def read(
    name: str,
    benchmark: Benchmark | None = None,
    *,
    revision: str | None = None,
    splits: Collection[str] = (),
    configs: Collection[str] = ("dialogue", "qa"),
) -> list[Reading]:
    """Read and check everything behind a name, collecting problems instead of raising them."""
    if bundled := mini_benchmarks(name, benchmark):
        return [Reading(mini.load(b, splits), []) for b in bundled]
    source = locate(name, benchmark, revision=revision, splits=splits, configs=configs)
    return [_read_hicupid(source) if source.benchmark == "hicupid" else _read_cupid(source)]


def _read_cupid(source: Source) -> Reading:
    problems: list[Problem] = []
    files = [f for split in source.parts[CUPID_CONFIG] for f in source.files(CUPID_CONFIG, split)]
    instances = cupid.read(source.root, files, problems)
    if not instances and not problems:
        problems.append(Problem(files[0], None, None, "has no rows; expected an instance a row"))
    data = None if problems else CupidSet(source.name, instances, fingerprint=source.fingerprint())
    return Reading(data, problems, list(cupid.check_evidence(instances)))


def _read_hicupid(source: Source) -> Reading:
    for config in ("dialogue", "qa"):
        if config not in source.parts:
            raise DataError(f"{source.name} has no {config}/ part; expected dialogue/ and qa/ parquet files")
    problems: list[Problem] = []
    dialogues, all_dialogues = _read_parts(source, "dialogue", DIALOGUE_COLUMNS, problems)
    questions, all_questions = _read_parts(source, "qa", QA_COLUMNS, problems)
    judgements, _ = _read_parts(source, "evaluation", EVALUATION_COLUMNS, problems)
    problems += hicupid_checks.check_dialogues(dialogues)
    # Evidence can only be looked up where every dialogue was read.
    known = dialogues if all_dialogues else {}
    for rows in questions.values():
        problems += hicupid_checks.check_questions(rows, known)
    for rows in judgements.values():
        problems += hicupid_checks.check_questions(rows, {}, unique=False)
    warnings = list(hicupid_checks.check_across_splits(questions)) if all_questions else []
    if problems:
        return Reading(None, problems, warnings)
    data = HicupidSet(source.name, dialogues, questions, judgements, fingerprint=source.fingerprint())
    return Reading(data, problems, warnings)


def _read_parts(
    source: Source, config: str, columns: tuple[Column, ...], problems: list[Problem]
) -> tuple[dict[str, Rows], bool]:
    """The splits of a config that could be read, and whether these are all of them."""
    parts: dict[str, Rows] = {}
    splits = source.parts.get(config, {})
    for split in splits:
        rows = read_rows(source.root, source.files(config, split), columns, problems)
        if rows is not None:
            parts[split] = rows
    return parts, len(parts) == len(splits)
