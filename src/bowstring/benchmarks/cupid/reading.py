"""Reading and checking of the files of a CUPID set, or of a matcher's labels only."""

from __future__ import annotations

from bowstring.benchmarks.cupid import data
from bowstring.benchmarks.cupid.coverage import COLUMNS, check_coverage, to_coverage
from bowstring.benchmarks.cupid.layout import CONFIG, COVERAGE_CONFIG
from bowstring.benchmarks.cupid.types import Coverage
from bowstring.datasets.layout import Choice
from bowstring.datasets.problems import Problem, raise_if_any
from bowstring.datasets.reading import Locate, Reading, problems_of_shards, read_parts
from bowstring.datasets.sources import locate_config


def read(locate: Locate, choice: Choice) -> Reading[data.CupidSet]:
    source = locate(choice)
    files = [f for split in source.parts[CONFIG].values() for f in split]
    problems = problems_of_shards(files)
    left_out: list[Problem] = []
    instances = data.read(source.root, files, problems, left_out)
    if not instances and not problems:
        problems += left_out or [Problem(files[0], None, None, "has no rows; expected one instance per row")]
    found = None if problems else data.CupidSet(source.name, instances, source.parts, fingerprint=source.fingerprint())
    return Reading(found, problems, [*left_out, *data.check_evidence(instances)])


def load_coverage(name: str, *, revision: str | None = None) -> tuple[Coverage, ...]:
    """A matcher's labels, in the order of the files.

    The source is a file, a folder with `coverage/*.parquet`, or such a set on the hub. Its other files are not read.
    """
    problems: list[Problem] = []
    source = locate_config(name, COVERAGE_CONFIG, "cupid", revision=revision)
    parts, _ = read_parts(source, COVERAGE_CONFIG, COLUMNS, problems)
    for rows in parts.values():
        problems += check_coverage(rows)
    raise_if_any(problems)
    return tuple(coverage for rows in parts.values() for coverage in to_coverage(rows.table))
