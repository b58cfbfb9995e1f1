"""Ratings from runs and files, collected for `bowstring agree`: judges, people and metrics.

The benchmark of a run turns its records into ratings (`People.ratings`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import require_part
from bowstring.benchmarks.of_run import open_run
from bowstring.benchmarks.people import NotRated
from bowstring.datasets.problems import join_choices
from bowstring.datasets.ratings import ReadRatings, read_ratings
from bowstring.errors import DataError, UsageError
from bowstring.metrics.scales import normalize_label, normalize_text
from bowstring.records import Rating, is_repeated
from bowstring.runs.folder import EndedRun
from bowstring.runs.sweep import run_folders

RATERS_NAMED = 20  # raters that an error message names


@dataclass(frozen=True, slots=True)
class RatingCollection:
    """Unique ratings of any task; `left_out` counts the others by task, rater and reason."""

    ratings: tuple[Rating, ...]
    left_out: Mapping[tuple[str, str, str], int]
    about: Mapping[str, str]
    sources: Mapping[str, int]
    judges: frozenset[str] = frozenset()  # raters that are judges of runs or metrics; the others are people
    text_metrics: tuple[str, ...] = ()  # metrics that could also rate the items of these runs

    def tasks(self) -> dict[str, list[Rating]]:
        found: dict[str, list[Rating]] = {}
        for rating in self.ratings:
            found.setdefault(rating.task, []).append(rating)
        return found


def collect_ratings(
    sources: Sequence[str],
    *,
    metrics: bool = False,
    raters: Sequence[str] = (),
    judges: Sequence[str] = (),
    merge: Mapping[str, str] | None = None,
) -> RatingCollection:
    """The ratings of runs, sweeps and files. NAME=PATH names the judge of a run.

    `raters` selects raters; `judges` are raters of files that are not people; `merge` maps labels to the labels that
    they count as.
    """
    read = [one for source in sources for one in _read(source, metrics=metrics)]
    by_title = text_metrics()
    metric_raters = {rater for raters in by_title.values() for rater in raters}
    if metrics and not any(rating.rater in metric_raters for one in read for _, rating in one.rows):
        raise UsageError(
            "--metrics: no source is a run with judged comparisons of a benchmark whose answers text metrics can rate "
            f"({join_choices(list(by_title))})"
        )
    rows = [(place, _tidied(rating, merge or {})) for one in read for place, rating in one.rows]
    rows.sort(key=lambda row: row[1].rater in metric_raters)  # people and judges before metrics
    known = {rating.rater for _, rating in rows}
    raters = _known_raters(raters, known)
    judging = {*_known_raters(judges, known), *(rating.rater for one in read if one.is_run for _, rating in one.rows)}
    whole = _joined([(p, r) for p, r in rows if not raters or r.rater in raters])
    left_out: Counter[tuple[str, str, str]] = Counter()
    for one in read:
        left_out.update({key: n for key, n in one.left_out.items() if not raters or key[1] in raters})
    about = {item: text for one in read for item, text in one.about.items()}
    offered = tuple(dict.fromkeys(name for one in read for name in one.text_metrics))
    counts = {one.source: len(one.rows) for one in read}
    return RatingCollection(tuple(whole), left_out, about, counts, frozenset(judging), offered)


def text_metrics() -> dict[str, tuple[str, ...]]:
    """The metrics that can be raters, by title of the benchmark whose answers they rate."""
    having = ((b.title, people) for b in registry.all_benchmarks() if (people := b.people()) is not None)
    return {title: people.metric_raters for title, people in having if people.metric_raters}


def _read(source: str, *, metrics: bool) -> Iterator[ReadRatings]:
    path, name = Path(source), ""
    if not path.exists() and "=" in source:
        name, _, rest = source.partition("=")
        name = normalize_text(name)
        path = Path(rest)
    if not path.exists():
        raise UsageError(f"{path} does not exist; expected the folder of a run, or a .jsonl or .csv file of ratings")
    if path.is_dir():
        yield from (run_ratings(open_run(folder), name=name, metrics=metrics) for folder in run_folders(path))
    elif name:
        raise UsageError(f"{source}: a file contains the names of its raters; give {path} without a name")
    else:
        yield read_ratings(path)


def _tidied(rating: Rating, merge: Mapping[str, str]) -> Rating:
    label = normalize_label(rating.label)
    return replace(rating, label=merge.get(label, label))


def _known_raters(wanted: Sequence[str], known: set[str]) -> list[str]:
    names = [normalize_text(name) for name in wanted]
    for name in names:
        if name not in known:
            raise UsageError(f"no rater is called {name!r}; {raters_in_words(known)}")
    return names


def raters_in_words(names: Collection[str]) -> str:
    """The raters there are, for an error message; of many, the first ones."""
    if len(names) <= RATERS_NAMED:
        return f"the raters are {', '.join(sorted(names)) or 'none'}"
    return f"there are {len(names):,} raters, such as {', '.join(sorted(names)[:RATERS_NAMED])}"


def _joined(rows: Sequence[tuple[str, Rating]]) -> Iterator[Rating]:
    """Each rating once, with the task and cluster known from any rating of its item."""
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
                "remove one, or give the judges of the runs different names: NAME=RUN"
            )
        if first is rating:
            task, _ = tasks.get(rating.item, ("", ""))
            cluster, _ = clusters.get(rating.item, (None, ""))
            yield replace(rating, task=task, cluster=cluster, type=types.get(rating.item))


def run_ratings(run: EndedRun, *, name: str = "", metrics: bool = False) -> ReadRatings:
    """The ratings by the judges of a run."""
    benchmark = registry.get(run.configuration["benchmark"])
    people = require_part(benchmark, benchmark.people(), f"ratings to compare; {run.path} is a run of it")
    judge = str(run.configuration["judge"])
    models = {"judge": judge} | {role: str(run.configuration.get(role, judge)) for role in benchmark.roles}
    raters = {role: name or normalize_text(model) for role, model in models.items()}
    read = ReadRatings(str(run.path), is_run=True, text_metrics=people.metric_raters)
    for record in (record for record in run.records() if not is_repeated(record)):
        for rated in people.ratings(record, raters, metrics=metrics):
            if isinstance(rated, NotRated):
                read.left_out[rated.task, rated.rater, rated.reason] += 1
                continue
            read.about[rated.item] = rated.about
            if rated.label is None:
                read.left_out[rated.task, rated.rater, "unparsed"] += 1
                continue
            cluster = normalize_text(benchmark.cluster_of(record))
            rating = Rating(rated.item, rated.rater, rated.label, cluster, rated.task, record["type"])
            read.rows.append((read.source, rating))
    return read
