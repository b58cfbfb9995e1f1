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
from bowstring.synthesis.finishing import writer_of

_UNCOMPARABLE = "Scores on it cannot be compared with published ones."
_EARLIER = "This run is of an earlier version of Bowstring, which did not note where its data set came from."


def standing_of(benchmark: Benchmark, data: DataSet) -> Standing:
    """What a data set is to its benchmark, from its files and its name."""
    source = data.source
    if source is None:
        return Standing("bundled", None, False, _bundled_note(benchmark.title, data.name))
    if (writer := writer_of(_folders(source))) is not None:
        by = "offline, without a model" if writer == "offline" else f"with {writer}"
        made = f"{data.name} was made by bowstring synth, {by}"
        return Standing("synthetic", source.revision, False, _not_the_benchmark(benchmark.title, made))
    if source.revision is None:
        return _unknown(benchmark, data, "folder" if Path(data.name).expanduser().is_dir() else "file")
    origin = benchmark.origins.get(data.name.lower())
    return _unknown(benchmark, data, "hub") if origin is None else _published(benchmark, data, origin)


def _published(benchmark: Benchmark, data: DataSet, origin: Origin) -> Standing:
    """A set of the authors, by its name on the hub; the number of its items is checked."""
    revision = data.source.revision if data.source is not None else None
    title = benchmark.title
    if origin.not_the_benchmark:
        note = _not_the_benchmark(title, f"{data.name} is {origin.not_the_benchmark}")
        return Standing("published", revision, False, note)
    if other := _other_counts(benchmark, data, origin):
        note = _not_the_benchmark(title, f"at this revision {data.name} has {other} published ones")
        return Standing("published", revision, False, note)
    training = [split for split in data.splits if split in benchmark.choice({}).leave_out]
    if training:
        what = f"the split {training[0]} of {data.name} is for training"
        return Standing("published", revision, False, _not_the_benchmark(title, what))
    return Standing("published", revision, True, "")


def _unknown(benchmark: Benchmark, data: DataSet, kind: Kind) -> Standing:
    """A set that nothing says the origin of: its counts are compared with those of the published sets."""
    what = {"folder": "a local folder", "file": "a local file", "hub": "on the hub, but not under a published name"}
    revision = data.source.revision if data.source is not None else None
    known = [origin for origin in benchmark.origins.values() if origin.items and not origin.not_the_benchmark]
    begin = f"{data.name} is {what[kind]}"
    if not known:
        return Standing(kind, revision, None, f"{begin}; whether it is a published set was not checked.")
    equal = next((origin for origin in known if not _other_counts(benchmark, data, origin)), None)
    if equal is None:
        other = _other_counts(benchmark, data, known[0])
        note = _not_the_benchmark(benchmark.title, f"{begin} with {other} of {known[0].name}")
        return Standing(kind, revision, False, note)
    many = benchmark.item.many
    checked = f"It has as many {many} as {equal.name}; their content was not compared."
    return Standing(kind, revision, None, f"{begin}; whether it is the published set was not checked. {checked}")


def _other_counts(benchmark: Benchmark, data: DataSet, origin: Origin) -> str:
    """The first split whose number of items is not the published one, as text; empty if all are equal."""
    counts = Counter(data.split_of(item) for item in data.items())
    for split in data.splits:
        expected = origin.items.get(split)
        if counts[split] != expected:
            of = "no" if expected is None else f"{expected:,}"
            return f"{counts[split]:,} {benchmark.item.many} in {split}, instead of the {of}"
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
    benchmark: Benchmark, data: DataSet, items: Items, configuration: Mapping[str, Any]
) -> Callable[[Sequence[Record]], dict[str, Any]]:
    """What makes the block `about` of a run's metrics.json from its records."""
    standing = standing_of(benchmark, data)
    whose = _whose(items)
    settings = configuration["settings"]
    kinds = {str(item.type) for item in data.items()}
    types = [kind for kind in settings.get("types") or () if kind in kinds]
    chosen = types if types and len(types) < len(kinds) else None

    def about(records: Sequence[Record]) -> dict[str, Any]:
        seen = {str(record["split"]) for record in records if "split" in record}
        splits = [split for split in data.splits if split in seen] or list(data.splits)
        inside = [cluster for cluster, split in whose if split in splits or not split]
        n = len({item_and_answer(record)[0] for record in records})
        note = standing.note
        if standing.is_benchmark and (chosen is not None or n < len(inside)):
            note = _part_note(n, len(inside), chosen, benchmark.item.many)
        found = About(
            benchmark=benchmark.title,
            data=data.name,
            kind=standing.kind,
            revision=standing.revision or None,
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
            is_benchmark=standing.is_benchmark,
            whole=n == len(inside) and chosen is None,
            note=note,
        )
        return found.as_json()

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
    config = summary["config"]
    return {
        name: about_of(
            {**point, "benchmark": summary["benchmark"], "config": {**config, "settings": point["settings"]}}
        )
        for name, point in summary["points"].items()
    }


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
        is_benchmark=False if bundled else None,
        whole=None,
        note=_bundled_note(title, name) if bundled else _EARLIER,
    )
