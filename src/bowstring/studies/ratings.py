"""The judges of runs as raters, beside people and metrics: what `bowstring agree` compares.

HiCUPID   the judge's verdicts: win, tie or lose against the gold answer; yes or no on a schedule
CUPID     the judge's scores from 1 to 10; the matcher's coverage labels

Metrics rate by their sign: `win` where the answer is nearer to the personalized gold answer than to the general one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from bowstring.benchmarks.cupid.types import COVERAGE_SIDES
from bowstring.datasets.ratings import ReadRatings, Task, cluster_of, covered, item_id, read_ratings
from bowstring.errors import DataError, UsageError
from bowstring.metrics.scales import tidy
from bowstring.metrics.text import bleu, rouge_l
from bowstring.records import Rating
from bowstring.runs.folder import EndedRun, read_run
from bowstring.runs.runner import Record
from bowstring.runs.sweep import run_folders
from bowstring.studies.judgements import LABEL_OF

SWAPPED = ", sides swapped"


def _nearness_in_length(answer: str, reference: str) -> float:
    return -float(abs(len(answer.split()) - len(reference.split())))


METRICS: Mapping[str, Callable[[str, str], float]] = {"bleu": bleu, "rouge_l": rouge_l, "length": _nearness_in_length}


@dataclass(frozen=True, slots=True)
class Gathered:
    """Ratings of one task each, none of them twice; `left_out` counts others by task, rater and reason."""

    ratings: tuple[Rating, ...]
    left_out: Mapping[tuple[str, str, str], int]
    about: Mapping[str, str]
    sources: Mapping[str, int]

    def tasks(self) -> dict[str, list[Rating]]:
        found: dict[str, list[Rating]] = {}
        for rating in self.ratings:
            found.setdefault(rating.task, []).append(rating)
        return found


def gather(
    sources: Sequence[str], *, metrics: bool = False, raters: Sequence[str] = (), merge: Mapping[str, str] | None = None
) -> Gathered:
    """The ratings of runs, sweeps and files. NAME=PATH names the judge of a run.

    With `raters` only theirs; `merge` says which labels are to count as which others.
    """
    read = [one for source in sources for one in _read(source, metrics=metrics)]
    if metrics and not any(rating.rater in METRICS for one in read for _, rating in one.rows):
        raise UsageError("--metrics: no source is a HiCUPID run with judged comparisons")
    rows = [(place, _tidied(rating, merge or {})) for one in read for place, rating in one.rows]
    rows.sort(key=lambda row: row[1].rater in METRICS)  # those who think come first
    _check_raters(raters, {rating.rater for _, rating in rows})
    whole = _joined([(p, r) for p, r in rows if not raters or r.rater in raters])
    left_out: Counter[tuple[str, str, str]] = Counter()
    for one in read:
        left_out.update({key: n for key, n in one.left_out.items() if not raters or key[1] in raters})
    about = {item: text for one in read for item, text in one.about.items()}
    return Gathered(tuple(whole), left_out, about, {one.source: len(one.rows) for one in read})


def _read(source: str, *, metrics: bool) -> Iterator[ReadRatings]:
    path, name = Path(source), ""
    if not path.exists() and "=" in source:
        name, _, rest = source.partition("=")
        path = Path(rest)
    if not path.exists():
        raise UsageError(f"{path} is not there; expected the folder of a run, or a .jsonl or .csv file of ratings")
    if path.is_dir():
        yield from (run_ratings(read_run(folder), name=name, metrics=metrics) for folder in run_folders(path))
    elif name:
        raise UsageError(f"{source}: a file names its raters itself; give {path}")
    else:
        yield read_ratings(path)


def _tidied(rating: Rating, merge: Mapping[str, str]) -> Rating:
    label = tidy(rating.label)
    return replace(rating, label=merge.get(label, label))


def _check_raters(wanted: Sequence[str], known: set[str]) -> None:
    for name in wanted:
        if name not in known:
            raise UsageError(f"no rater is called {name!r}; there are {', '.join(sorted(known)) or 'none'}")


def _joined(rows: Sequence[tuple[str, Rating]]) -> Iterator[Rating]:
    """Each rating once, with the task and cluster that any rater of its item knows."""
    tasks: dict[str, tuple[str, str]] = {}
    clusters: dict[str, tuple[str, str]] = {}
    types: dict[str, str] = {}
    for place, rating in rows:
        for known, value, what in ((tasks, rating.task, "task"), (clusters, rating.cluster, "cluster")):
            if value and known.setdefault(rating.item, (value, place))[0] != value:
                other, there = known[rating.item]
                raise DataError(f"{place}: {what} of item {rating.item} is {value!r}, and {other!r} in {there}")
        if rating.type:
            types.setdefault(rating.item, rating.type)
    seen: dict[tuple[str, str], tuple[str, Rating]] = {}
    for place, rating in rows:
        there, first = seen.setdefault((rating.item, rating.rater), (place, rating))
        if first.label != rating.label:
            raise DataError(
                f"{place}: {rating.rater} says {rating.label!r} of item {rating.item}, and {first.label!r} in {there}; "
                "keep one, or name the judges of runs apart: NAME=RUN"
            )
        if first is rating:
            task, _ = tasks.get(rating.item, ("", ""))
            cluster, _ = clusters.get(rating.item, (None, ""))
            yield replace(rating, task=task, cluster=cluster, type=types.get(rating.item))


def run_ratings(run: EndedRun, *, name: str = "", metrics: bool = False) -> ReadRatings:
    """What the judge and the matcher of a run say, as raters of its items."""
    read = ReadRatings(str(run.path))
    judge = name or str(run.configuration["judge"])
    matcher = name or str(run.configuration.get("matcher", judge))
    for record in run.records():
        if run.configuration["benchmark"] == "hicupid":
            _of_hicupid(record, judge, read, metrics=metrics)
        else:
            _of_cupid(record, judge, matcher, read)
    return read


def _of_hicupid(record: Record, judge: str, read: ReadRatings, *, metrics: bool) -> None:
    task: Task = "satisfaction" if record["type"] == "schedule" else "compare"
    if "judgement" not in record:
        stage = record.get("failure", {}).get("stage")
        read.left_out[task, judge, f"failed ({stage})" if stage else "never judged"] += 1
        return
    add = _adder(read, task, record, item_id(task, record), record["question"])
    add(judge, record["verdict"])
    if "swapped_verdict" in record:
        add(f"{judge}{SWAPPED}", record["swapped_verdict"])
    if metrics and task == "compare":
        for metric, near in METRICS.items():
            gold, general = (near(record["answer"], record[f"{kind}_answer"]) for kind in ("personalized", "general"))
            add(metric, "win" if gold > general else "lose" if gold < general else "tie")


def _of_cupid(record: Record, judge: str, matcher: str, read: ReadRatings) -> None:
    generation, inference = record.get("generation"), record.get("inference")
    if generation is not None:
        if "judgement" in generation:
            score = generation["score"]
            label = None if score is None else f"{score:g}"
            _adder(read, "rate", record, item_id("rate", record), record["request"])(judge, label)
        else:
            read.left_out["rate", judge, _why_not(generation)] += 1
    if inference is not None:
        if "precision" not in inference:
            read.left_out["coverage", matcher, _why_not(inference)] += 1
            return
        for side in COVERAGE_SIDES:
            for place, score in enumerate(inference[side]):
                item = item_id("coverage", record, side=side, place=place)
                entry, preference = covered(record, side, place)
                _adder(read, "coverage", record, item, f"{entry} | {preference}")(matcher, LABEL_OF[score])


def _why_not(part: Mapping[str, Any]) -> str:
    return f"failed ({part['failure']['stage']})" if "failure" in part else f"unparsed ({part['unparsed']})"


def _adder(read: ReadRatings, task: Task, record: Record, item: str, about: str) -> Callable[[str, str | None], None]:
    read.about[item] = about

    def add(rater: str, label: str | None) -> None:
        if label is None:
            read.left_out[task, rater, "unparsed"] += 1
        else:
            rating = Rating(item, rater, label, cluster_of(record), task, record["type"])
            read.rows.append((read.source, rating))

    return add
