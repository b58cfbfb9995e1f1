"""What the judges of finished runs wrote, as training data for judges of one's own.

HiCUPID   a judge's transcripts    -> rows of the `evaluation` config
CUPID     a matcher's labels       -> rows of a `coverage` table

What failed or could not be read is left out and counted: nobody should learn from it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import pyarrow.parquet as pq

from bowstring.benchmarks.cupid.coverage import coverage_table
from bowstring.benchmarks.cupid.layout import COVERAGE_CONFIG
from bowstring.benchmarks.cupid.types import COVERAGE_LABELS, COVERAGE_SIDES, Coverage
from bowstring.benchmarks.hicupid import truth
from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.judging import question_of
from bowstring.benchmarks.hicupid.layout import JUDGEMENTS_CONFIG
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.errors import UsageError
from bowstring.files.writing import make_parent
from bowstring.judging import builtin
from bowstring.judging.structured import LABELS
from bowstring.records import Side
from bowstring.runs.folder import EndedRun, read_run
from bowstring.runs.runner import Record
from bowstring.runs.sweep import run_folders

RULES = (builtin.NAME, truth.NAME)  # judges that are no models
LABEL_OF = {LABELS[label.lower()]: label for label in COVERAGE_LABELS}

T = TypeVar("T", Judgement, Coverage)


@dataclass(frozen=True, slots=True)
class Exported:
    """What was written where; `teachers` are the judges whose words it is, `left_out` counts by reason."""

    path: Path
    benchmark: str
    rows: int
    runs: int
    teachers: tuple[str, ...]
    left_out: Mapping[str, int]


def export_judgements(runs: Sequence[Path], out: Path) -> Exported:
    """Write what the judges of these runs wrote into a .parquet file, or a folder. A sweep stands for its runs."""
    folders = {folder.resolve(): folder for path in runs for folder in run_folders(path)}
    ended = [read_run(folder) for folder in folders.values()]
    benchmark = _common_benchmark(ended)
    path = _new_file(out, JUDGEMENTS_CONFIG if benchmark == "hicupid" else COVERAGE_CONFIG)
    left_out: Counter[str] = Counter()
    if benchmark == "hicupid":
        table = evaluation_table(_gather(ended, _judgements, left_out))
    else:
        table = coverage_table(_gather(ended, _coverage, left_out))
    if not table.num_rows:
        reasons = ", ".join(f"{n:,} {reason}" for reason, n in left_out.items())
        raise UsageError(f"{runs[0]} has nothing to learn from: {reasons or 'no records'}")
    make_parent(path)
    pq.write_table(table, path)
    teachers = dict.fromkeys(t for run in ended if (t := _teacher(run.configuration)))
    return Exported(path, benchmark, table.num_rows, len(ended), tuple(teachers), left_out)


def _common_benchmark(runs: Sequence[EndedRun]) -> str:
    first, *others = runs
    benchmark = str(first.configuration["benchmark"])
    for other in others:
        if (another := other.configuration["benchmark"]) != benchmark:
            raise UsageError(f"{first.path} is a {benchmark} run and {other.path} a {another} one; export them apart")
    return benchmark


def _teacher(configuration: Mapping[str, Any]) -> str | None:
    """Whose words are exported: CUPID's labels are the matcher's, where there was one."""
    teacher: str | None = configuration.get("matcher", configuration["judge"])
    return teacher


def _new_file(out: Path, config: str) -> Path:
    """The file to write. What lies in a folder's config is one set: nothing is added to another's."""
    if out.suffix == ".parquet":
        if out.exists() or out.is_symlink():
            raise UsageError(f"{out} is there already; choose another --out")
        return out
    if out.suffix in (".json", ".jsonl", ".csv") or out.is_file():
        raise UsageError(f"--out {out}: expected a .parquet file or a folder")
    folder = out / config
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link, and nothing is written to where it leads; choose another --out")
    if folder.is_dir() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; choose another --out")
    return folder / "train.parquet"


def _gather(
    runs: Sequence[EndedRun], read: Callable[[Record, Counter[str]], Iterator[T]], left_out: Counter[str]
) -> list[T]:
    """The rows of all runs, each once; what gives none is counted."""
    found: dict[T, None] = {}
    for run in runs:
        for record in run.records():
            for row in read(record, left_out):
                if row in found:
                    left_out["duplicate"] += 1
                found[row] = None
    return list(found)


def _judgements(record: Record, left_out: Counter[str]) -> Iterator[Judgement]:
    if "failure" in record:
        left_out[f"failed ({record['failure']['stage']})"] += 1
        return
    if "judgement" not in record:  # retrieval alone
        left_out["never judged"] += 1
        return
    question = question_of(record)
    side: Side = record["answer_is"]
    said = [(side, record["judgement"], record["verdict"])]
    if "swapped_judgement" in record:
        said.append(("B" if side == "A" else "A", record["swapped_judgement"], record["swapped_verdict"]))
    for answer_is, judgement, verdict in said:
        if verdict is None:
            left_out["unparsed"] += 1
        else:
            yield Judgement(question, record["answer"], judgement, None if question.type == "schedule" else answer_is)


def _coverage(record: Record, left_out: Counter[str]) -> Iterator[Coverage]:
    inference = record.get("inference")
    if inference is None:
        left_out["without inference"] += 1
    elif "failure" in inference:
        left_out[f"failed ({inference['failure']['stage']})"] += 1
    elif "unparsed" in inference:
        left_out[f"unparsed ({inference['unparsed']})"] += 1
    else:
        # Each side's items are held against the preference of the other.
        held = {
            "precision": (record["preference"], inference["checklist"]),
            "recall": (inference["preference"], record["checklist"]),
        }
        for side in COVERAGE_SIDES:
            preference, checklist = held[side]
            yield Coverage(
                persona_id=record["persona"],
                instance_type=record["type"],
                side=side,
                preference=preference,
                checklist=tuple(checklist),
                labels=tuple(LABEL_OF[score] for score in inference[side]),
                transcript=inference.get("transcripts", {}).get(side),
            )
