"""Export of what judges of finished runs wrote, as training data for your own judges.

The benchmark defines the rows and the name of the table (`Benchmark.judgement_export`). Failed and unparsed judgements
are left out and counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Benchmark, JudgementExport, Noun, require_part
from bowstring.benchmarks.of_run import open_run
from bowstring.errors import UsageError
from bowstring.files.writing import make_parent, replace_file
from bowstring.runs.folder import EndedRun
from bowstring.runs.sweep import run_folders


@dataclass(frozen=True, slots=True)
class ExportResult:
    """The result of an export. `teachers` are the judges, `rules` those that are not models; `left_out` counts by
    reason."""

    path: Path
    row: Noun
    rows: int
    runs: int
    teachers: tuple[str, ...]
    rules: tuple[str, ...]
    left_out: Mapping[str, int]


def export_judgements(runs: Sequence[Path], out: Path) -> ExportResult:
    """Write what the judges of these runs wrote to a .parquet file or a folder. A sweep means all of its runs."""
    folders = {folder.resolve(): folder for path in runs for folder in run_folders(path)}
    ended = [open_run(folder) for folder in folders.values()]
    benchmark = _common_benchmark(ended)
    export = require_part(benchmark, benchmark.judgement_export(), "judgements that can be exported")
    path = _new_file(out, export.config)
    left_out: Counter[str] = Counter()
    table = export.table(_gather(ended, export, left_out))
    if not table.num_rows:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in left_out.items())
        raise UsageError(f"{runs[0]} has nothing to export: {reasons or 'no records'}")
    make_parent(path)
    with replace_file(path) as file:
        pq.write_table(table, file)
    teachers = tuple(dict.fromkeys(t for run in ended if (t := _teacher(run.configuration, export.roles))))
    rules = tuple(teacher for teacher in teachers if teacher in benchmark.judges)
    return ExportResult(path, export.row, table.num_rows, len(ended), teachers, rules, left_out)


def _common_benchmark(runs: Sequence[EndedRun]) -> Benchmark:
    first, *others = runs
    benchmark = str(first.configuration["benchmark"])
    for other in others:
        if (another := other.configuration["benchmark"]) != benchmark:
            raise UsageError(
                f"{first.path} is a {benchmark} run and {other.path} a {another} one; export them separately"
            )
    return registry.get(benchmark)


def _teacher(configuration: Mapping[str, Any], roles: Sequence[str]) -> str | None:
    """The judge whose output is exported."""
    return next((configuration[role] for role in roles if role in configuration), None)


def _new_file(out: Path, config: str) -> Path:
    """The file to write. An existing set in the folder is never extended."""
    if out.suffix == ".parquet":
        if out.exists() or out.is_symlink():
            raise UsageError(f"{out} exists already; choose another --out")
        return out
    if out.suffix in (".json", ".jsonl", ".csv") or out.is_file():
        raise UsageError(f"--out {out}: expected a .parquet file or a folder")
    folder = out / config
    if folder.is_symlink():
        raise UsageError(f"{folder} is a symbolic link; Bowstring does not write through links: choose another --out")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; choose another --out")
    return folder / "train.parquet"


def _gather(runs: Sequence[EndedRun], export: JudgementExport, left_out: Counter[str]) -> list[Hashable]:
    """The unique rows of all runs; records without a row are counted."""
    found: dict[Hashable, None] = {}
    for run in runs:
        for record in run.records():
            for row in export.rows(record, left_out):
                if row in found:
                    left_out["duplicate"] += 1
                found[row] = None
    return list(found)
