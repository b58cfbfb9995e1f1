"""Where data comes from: a hub id, a folder, a file, or `mini`, made into files on this disk.

mini                    the bundled sets; mini/hicupid or mini/cupid where the benchmark is not clear
12kimih/HiCUPID         a data set on the hub
path/to/set             a folder in the published layout, or of CUPID's instance files
path/to/test.parquet    one file: a CUPID table or instance, or one split of a HiCUPID set
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bowstring.datasets import hub
from bowstring.datasets.layout import (
    BENCHMARKS,
    CUPID_CONFIG,
    HICUPID_CONFIGS,
    Benchmark,
    Parts,
    dialogue_splits_for,
    find_parts,
    missing_shards,
)
from bowstring.datasets.problems import one_of
from bowstring.errors import DataError, UsageError

MINI = "mini"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w][\w.-]*")
_EXPECTED = (
    "expected dialogue/ and qa/ parquet files (HiCUPID), or test.parquet or one JSON file an instance (CUPID)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """A data set's files: its name as the user wrote it, and where its parts lie under `root`."""

    name: str
    benchmark: Benchmark
    root: Path
    parts: Parts
    revision: str | None = None

    @property
    def splits(self) -> tuple[str, ...]:
        """The splits of questions or instances."""
        return tuple(self.parts.get("qa" if self.benchmark == "hicupid" else CUPID_CONFIG, {}))

    def files(self, config: str, split: str) -> list[str]:
        files = self.parts[config][split]
        if shard := missing_shards(files):
            raise DataError(f"{self.name} lacks {shard}, a part of {config} {split}; fetch or copy it again")
        return files

    def fingerprint(self) -> str:
        """A hash of the bytes of every file in use, in the order of their names."""
        whole = hashlib.sha256()
        for path in sorted(p for splits in self.parts.values() for files in splits.values() for p in files):
            with (self.root / path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape"))
        return whole.hexdigest()


def mini_benchmarks(name: str, benchmark: Benchmark | None) -> tuple[Benchmark, ...] | None:
    """Which bundled sets a name stands for; None where it is no name of theirs."""
    if name == MINI:
        return (benchmark,) if benchmark else BENCHMARKS
    for known in BENCHMARKS:
        if name == f"{MINI}/{known}":
            if benchmark not in (None, known):
                raise UsageError(f"{name} is not a {benchmark} data set; try --data {MINI}/{benchmark}")
            return (known,)
    return None


def locate(
    name: str,
    benchmark: Benchmark | None = None,
    *,
    revision: str | None = None,
    splits: Collection[str] = (),
    configs: Collection[str] = ("dialogue", "qa"),
) -> Source:
    """Find the files behind a name, fetching them from the hub where they are not here.

    Of a HiCUPID set, the given `configs` and what `splits` of questions need; of a CUPID set, `splits`.
    """
    path = Path(name).expanduser()
    if path.is_dir():
        source = _in_folder(name, path)
    elif path.is_file():
        source, splits = _around_file(name, path)
    elif _HUB_ID.fullmatch(name):
        source = _on_hub(name, revision, splits, configs)
    else:
        raise DataError(f"{name}: no such file or folder, and not a hub id; try --data {MINI}")
    if benchmark and source.benchmark != benchmark:
        raise DataError(f"{name} is a {source.benchmark} data set; expected a {benchmark} one")
    return _narrowed(source, splits, configs)


def pull(
    name: str,
    *,
    revision: str | None,
    configs: Collection[str],
    into: Path | None,
    tell: Callable[[str], None],
) -> Source:
    """Fetch a hub data set, all splits of these configs, into the cache or a folder of the user's."""
    if not _HUB_ID.fullmatch(name):
        raise UsageError(f"{name} is not a hub id; expected something like 12kimih/HiCUPID")
    tell(f"Fetching {name} …")
    return _on_hub(name, revision, (), configs, into)


def _in_folder(name: str, root: Path) -> Source:
    try:
        paths = [p.relative_to(root).as_posix() for p in root.rglob("*") if p.is_file()]
    except OSError as error:
        raise DataError(f"{name}: cannot be read: {error.strerror}") from error
    found = find_parts(paths)
    if found is None:
        what = "is an empty folder" if not paths else "holds no data set"
        raise DataError(f"{name}: {what}; {_EXPECTED}")
    return Source(name, found[0], root, found[1])


def _around_file(name: str, path: Path) -> tuple[Source, Sequence[str]]:
    """A file of a HiCUPID set stands for its split of the set around it; any other file is a CUPID table."""
    if path.suffix not in (".parquet", ".json"):
        raise DataError(f"{name}: expected a .parquet or .json file, or a folder")
    config = path.parent.name
    if config in HICUPID_CONFIGS and path.suffix == ".parquet":
        root = path.parent.parent
        source = replace(_in_folder(name, root), name=name)
        for split, files in source.parts.get(config, {}).items():
            if f"{config}/{path.name}" in files:
                return source, (split,) if config == "qa" else ()
    return Source(name, "cupid", path.parent, {CUPID_CONFIG: {"test": [path.name]}}), ()


def _on_hub(
    name: str,
    revision: str | None,
    splits: Collection[str],
    configs: Collection[str],
    into: Path | None = None,
) -> Source:
    def choose(listing: Iterable[str]) -> list[str]:
        found = find_parts(listing)
        if found is None:
            raise DataError(f"{name} on the hub holds no data set of a known layout; {_EXPECTED}")
        parts = _narrowed(Source(name, found[0], Path(), found[1]), splits, configs).parts
        return [path for part in parts.values() for files in part.values() for path in files]

    snapshot = hub.fetch(name, revision, choose, into=into)
    return replace(_in_folder(str(snapshot.folder), snapshot.folder), name=name, revision=snapshot.commit)


def _narrowed(source: Source, splits: Collection[str], configs: Collection[str]) -> Source:
    """Only what is asked for: a part that is not needed is neither fetched, read nor checked."""
    for split in splits:
        if split not in source.splits:
            have = one_of(source.splits) if source.splits else "no questions at all"
            raise UsageError(f"{source.name} has no split {split!r}; it has {have}")
    if source.benchmark == "cupid":
        chosen = {s: f for s, f in source.parts[CUPID_CONFIG].items() if not splits or s in splits}
        return replace(source, parts={CUPID_CONFIG: chosen})
    parts = {config: dict(source.parts[config]) for config in configs if config in source.parts}
    if splits:
        if "qa" in parts:
            parts["qa"] = {s: f for s, f in parts["qa"].items() if s in splits}
        if "dialogue" in parts:
            needed = dialogue_splits_for(splits, parts["dialogue"].keys())
            parts["dialogue"] = {s: f for s, f in parts["dialogue"].items() if s in needed}
    return replace(source, parts=parts)
