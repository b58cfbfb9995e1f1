"""What judges and matchers are trained on, from where `bowstring data export-judgements` or others put it.

    load_judgements("transcripts.parquet"), load_judgements("12kimih/HiCUPID"), load_coverage("labels")

A source is a file, a folder with `evaluation/*.parquet` (judgements) or `coverage/*.parquet`, or such a set on the hub.
Nothing else of the set is read, or need be there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bowstring.benchmarks.cupid.coverage import COLUMNS, check_coverage, to_coverage
from bowstring.benchmarks.cupid.types import Coverage
from bowstring.benchmarks.hicupid.checks import check_judgements
from bowstring.benchmarks.hicupid.data import EVALUATION_COLUMNS, to_judgements
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.datasets.layout import COVERAGE_CONFIG, JUDGEMENTS_CONFIG
from bowstring.datasets.loading import read_parts
from bowstring.datasets.problems import Problem, raise_if_any
from bowstring.datasets.sources import locate_config
from bowstring.datasets.tables import Column, Rows


def load_judgements(name: str, *, revision: str | None = None) -> tuple[Judgement, ...]:
    """Judge transcripts on answers to HiCUPID questions, in the order of the files; `question.split` is their split."""
    parts = _checked(name, revision, JUDGEMENTS_CONFIG, EVALUATION_COLUMNS, lambda rows: check_judgements(rows, {}))
    return tuple(judgement for split, rows in parts.items() for judgement in to_judgements(rows.table, split))


def load_coverage(name: str, *, revision: str | None = None) -> tuple[Coverage, ...]:
    """Labels of CUPID's matcher, in the order of the files."""
    parts = _checked(name, revision, COVERAGE_CONFIG, COLUMNS, check_coverage)
    return tuple(coverage for rows in parts.values() for coverage in to_coverage(rows.table))


def _checked(
    name: str,
    revision: str | None,
    config: str,
    columns: tuple[Column, ...],
    check: Callable[[Rows], Iterable[Problem]],
) -> dict[str, Rows]:
    problems: list[Problem] = []
    parts, _ = read_parts(locate_config(name, config, revision=revision), config, columns, problems)
    for rows in parts.values():
        problems += check(rows)
    raise_if_any(problems)
    return parts
