"""What a data set is to its benchmark: bundled, synthetic, published, or of unknown origin; and what a run's scores are
of.

Nothing here names a benchmark: published sets come from `Benchmark.origins`, synthetic ones are known by the file that
`bowstring synth` writes beside them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks.interface import Benchmark
from bowstring.benchmarks.loading import bundled_sets
from bowstring.benchmarks.of_run import find_installed
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.sources import Source
from bowstring.records import item_and_answer
from bowstring.runs.about import About, Kind, Standing, read_about
from bowstring.runs.items import Items
from bowstring.runs.runner import Record
from bowstring.runs.shards import Shard, part_of_a_run
from bowstring.synthesis.finishing import made_of

_UNCOMPARABLE = "Scores on it cannot be compared with published ones."
_UNKNOWN: Mapping[Kind, str] = {
    "folder": "a local folder",
    "file": "a local file",
    "hub": "another set on the hub",
}
_EARLIER = "This run is of an earlier version of Bowstring, which did not note where its data set came from."


def standing_of(benchmark: Benchmark, data: DataSet) -> Standing:
    """What a data set is to its benchmark, from its files and its name."""
    source = data.source
    if source is None:
        return Standing(data.name, "bundled", None, False, _bundled_note(benchmark.title, data.name))
    if (made := made_of(_folders(source))) is not None:
        note = _not_the_benchmark(benchmark.title, f"{source.name} was {made.how}")
        return Standing(source.name, made.kind, source.revision or None, False, note)
    origin = benchmark.origins.get(source.name.lower()) if source.revision is not None else None
    if origin is None:
        return _of_unknown_origin(benchmark, data, source)
    why = _why_not_the_benchmark(benchmark, data, source, origin)
    note = _not_the_benchmark(benchmark.title, why) if why else ""
    return Standing(source.name, "published", source.revision or None, not why, note)


def _why_not_the_benchmark(benchmark: Benchmark, data: DataSet, source: Source, origin: Origin) -> str:
    """Why a set of the authors, by its name on the hub, is not what published scores are of; empty if it is."""
    if origin.not_the_benchmark:
        return f"{source.name} {origin.not_the_benchmark}"
    if other := _other_count(benchmark, data, origin, "as published"):
        return f"at this revision {source.name} has {other}"
    training = [split for split in data.splits if split in benchmark.choice({}).leave_out]
    return f"the split {training[0]} of {source.name} is for training" if training else ""


def _of_unknown_origin(benchmark: Benchmark, data: DataSet, source: Source) -> Standing:
    """A set that nothing says the origin of: its number of items is compared with those of the published sets."""
    kind: Kind = "hub"
    if source.revision is None:
        kind = "folder" if Path(source.name).expanduser().is_dir() else "file"
    what = f"{source.name} is {_UNKNOWN[kind]}"
    known = [origin for origin in benchmark.origins.values() if origin.items and not origin.not_the_benchmark]
    others = [_other_count(benchmark, data, origin, f"as in {origin.name} on the hub") for origin in known]
    if others and all(others):
        note = _not_the_benchmark(benchmark.title, f"{what}, with {others[0]}")
        return Standing(source.name, kind, source.revision or None, False, note)
    note = f"{what}; whether it is published data of {benchmark.title} was not checked."
    if known:
        like = next(origin.name for origin, other in zip(known, others, strict=True) if not other)
        note += f" It has as many {benchmark.item.many} as {like}; their content was not compared."
    return Standing(source.name, kind, source.revision or None, None, note)


def _other_count(benchmark: Benchmark, data: DataSet, origin: Origin, as_where: str) -> str:
    """The first split whose number of items is not the published one, in words; empty if all are equal."""
    counts = Counter(data.split_of(item) for item in data.items())
    for split in data.splits:
        found, expected = f"{counts[split]:,} {benchmark.item.many} in {split}", origin.items.get(split)
        if counts[split] != expected:
            return f"{found}, {'a split of its own' if expected is None else f'not {expected:,} {as_where}'}"
    return ""


def _bundled_note(title: str, name: str) -> str:
    return _not_the_benchmark(title, f"{name} is a small set bundled with Bowstring for trying it out")


def _not_the_benchmark(title: str, why: str) -> str:
    return f"Not the {title} benchmark: {why}. {_UNCOMPARABLE}"


def _folders(source: Source) -> Iterator[Path]:
    """The folder of a set and those of its files, the outermost first."""
    yield source.root
    paths = (path for splits in source.parts.values() for files in splits.values() for path in files)
    yield from dict.fromkeys(
        source.root / folder for path in paths for folder in reversed(Path(path).parents) if folder != Path()
    )


def about_run(
    benchmark: Benchmark,
    data: DataSet,
    standing: Standing,
    items: Items,
    configuration: Mapping[str, Any],
    shard: Shard | None = None,
) -> Callable[[Mapping[str, Any], Sequence[Record]], dict[str, Any]]:
    """What makes the block `about` of a run's metrics.json from its records."""
    whose = _whose(items)
    settings = configuration["settings"]
    kinds = {str(item.type) for item in data.items()}
    types = [kind for kind in settings.get("types") or () if kind in kinds]
    chosen = types if types and len(types) < len(kinds) else None

    def about(metrics: Mapping[str, Any], records: Sequence[Record]) -> dict[str, Any]:  # noqa: ARG001 - of records only
        seen = {str(record["split"]) for record in records if "split" in record}
        splits = [split for split in data.splits if split in seen] or list(data.splits)
        inside = [cluster for cluster, split in whose if split in splits or not split]
        n = len({item_and_answer(record)[0] for record in records})
        note = standing.note
        if standing.is_benchmark_data and (chosen is not None or n < len(inside)):
            note = _part_note(n, len(inside), chosen, benchmark.item.many)
        if shard is not None:
            note = f"{note} {part_of_a_run(shard)}".strip()
        found = About(
            benchmark=benchmark.title,
            data=standing.name,
            kind=standing.kind,
            revision=standing.revision,
            splits=splits,
            types=chosen,
            n=n,
            of=len(inside),
            items=benchmark.item.many,
            clusters_n=len({benchmark.cluster_of(record) for record in records}),
            clusters_of=len(set(inside)) if all(inside) else None,
            clusters=benchmark.cluster.many,
            protocol=settings.get("protocol"),
            judge=configuration.get("judge"),
            matcher=configuration.get("matcher"),
            is_benchmark_data=standing.is_benchmark_data,
            whole=n == len(inside) and chosen is None and shard is None,
            note=note,
            shard=None if shard is None else str(shard),
        )
        return {"about": found.as_json()}

    return about


def _whose(items: Items) -> list[tuple[str, str]]:
    """The cluster and the split of every item that is evaluated without a limit; empty where they are not known."""
    everything = [item for group in items.groups(None) for item in group]
    return [items.whose(item) if hasattr(items, "whose") else ("", "") for item in everything]


def _part_note(n: int, of: int, types: Sequence[str] | None, items: str) -> str:
    parts = [f"{' and '.join(types)} {items} only"] if types else []
    parts += [f"{n:,} of {of:,} {items}"] if n < of else []
    return f"A part of the published set: {'; '.join(parts)}. Published scores are of all of it."


def about_of(metrics: Mapping[str, Any]) -> About:
    """What the scores of a run are of, from its metrics.json. For a run of an earlier version: what its files say."""
    found = read_about(metrics.get("about"))
    return _about_earlier(metrics) if found is None else found


def abouts_of_points(summary: Mapping[str, Any]) -> dict[str, About]:
    """What the scores of each point of a sweep are of, from its sweep.json."""
    found = {}
    for name, point in summary["points"].items():
        config = summary["config"] | {"settings": point.get("settings", {})}
        found[name] = about_of(point | {"benchmark": summary["benchmark"], "config": config})
    return found


def _about_earlier(metrics: Mapping[str, Any]) -> About:
    config = metrics["config"]
    name, settings = str(config["data"]["name"]), config.get("settings", {})
    benchmark = find_installed(metrics.get("benchmark"))
    title = str(metrics.get("benchmark")) if benchmark is None else benchmark.title
    # Such a name always was that of a bundled set; any other may have been a folder.
    bundled = benchmark is not None and bundled_sets(name, benchmark.name) is not None
    return About(
        benchmark=title,
        data=name,
        kind="bundled" if bundled else "unknown",
        revision=None,
        splits=list(map(str, metrics.get("splits") or settings.get("splits") or ())),
        types=None,
        n=int(metrics["n"]),
        of=None,
        items="items" if benchmark is None else benchmark.item.many,
        clusters_n=0,
        clusters_of=None,
        clusters="clusters" if benchmark is None else benchmark.cluster.many,
        protocol=metrics.get("protocol") or settings.get("protocol"),
        judge=config.get("judge"),
        matcher=config.get("matcher"),
        is_benchmark_data=False if bundled else None,
        whole=None,
        note=_bundled_note(title, name) if bundled else _EARLIER,
    )
