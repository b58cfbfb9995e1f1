"""Where data comes from: a hub id, a folder, a file, or `mini`, made into files on this disk.

mini                    the bundled sets; mini/hicupid or mini/cupid where the benchmark is not clear
12kimih/HiCUPID         a data set on the hub
path/to/set             a folder in the published layout, or of CUPID's instance files
path/to/test.parquet    one file: a CUPID table or instance, or one split of a HiCUPID set
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from bowstring.datasets import hub
from bowstring.datasets.layout import (
    BENCHMARKS,
    COVERAGE_CONFIG,
    CUPID_CONFIG,
    HICUPID_CONFIGS,
    Benchmark,
    Parts,
    dialogue_splits_for,
    find_configs,
    find_parts,
)
from bowstring.datasets.problems import one_of
from bowstring.errors import DataError, FetchError, MissingSplit, UsageError

MINI = "mini"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w][\w.-]*")
_EXPECTED = "expected dialogue/ and qa/ parquet files (HiCUPID), or test.parquet or one JSON file an instance (CUPID)"


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

    def fingerprint(self) -> str:
        """A hash of the bytes of every file in use, in the order of their names."""
        whole = hashlib.sha256()
        for path in sorted(p for splits in self.parts.values() for files in splits.values() for p in files):
            with (self.root / path).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            whole.update(f"{path}\0{digest}\n".encode("utf-8", "surrogateescape"))
        return whole.hexdigest()


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of a data set is wanted. What is not wanted is neither fetched, read nor checked."""

    splits: tuple[str, ...] = ()  # of questions or instances; none means all
    leave_out: tuple[str, ...] = ()  # of these, unless they are all there is
    configs: tuple[str, ...] | None = None  # of HiCUPID's; None: all that is here, on the hub not the transcripts
    all_dialogues: bool = False  # not only those that the names of the splits suggest

    def of(self, available: Collection[str]) -> list[str]:
        wanted = [s for s in available if (s in self.splits if self.splits else s not in self.leave_out)]
        return wanted or list(available)


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
    choice: Choice | None = None,
) -> Source:
    """Find the files behind a name, fetching them from the hub where they are not here."""
    choice = choice or Choice()
    path = _as_path(name)
    if path is not None and path.exists():
        if revision is not None:
            raise UsageError(f"--revision is for hub data sets; {name} is on this disk")
        source, choice = (_in_folder(name, path), choice) if path.is_dir() else _around_file(name, path, choice)
        if choice.configs is None:
            choice = replace(choice, configs=HICUPID_CONFIGS)
    elif _HUB_ID.fullmatch(name):
        choice = replace(choice, configs=choice.configs or ("dialogue", "qa"))
        source = _on_hub(name, revision, choice)
    else:
        raise DataError(f"{name or repr(name)}: no such file or folder, and not a hub id; try {MINI}")
    if benchmark and source.benchmark != benchmark:
        raise DataError(f"{name} is a {source.benchmark} data set; expected a {benchmark} one")
    return _narrowed(source, choice)


def locate_config(name: str, config: str, *, revision: str | None = None) -> Source:
    """The files of one config alone, whatever else is there: in a folder, on the hub, or the one file that is named."""
    benchmark: Benchmark = "cupid" if config == COVERAGE_CONFIG else "hicupid"

    def parts_of(listing: Iterable[str]) -> Source:
        parts = find_configs(listing, (config,))
        if not parts:
            raise DataError(f"{name} holds no {config}/*.parquet; expected it there, or the file itself")
        return Source(name, benchmark, Path(), parts)

    path = _as_path(name)
    if path is not None and path.exists():
        if revision is not None:
            raise UsageError(f"--revision is for hub data sets; {name} is on this disk")
        if path.is_dir():
            return replace(parts_of(_files_below(path)), root=path)
        return Source(name, benchmark, path.parent, {config: {path.stem: [path.name]}})
    if _HUB_ID.fullmatch(name):
        return _fetched(name, revision, parts_of)
    raise DataError(f"{name or repr(name)}: no such file or folder, and not a hub id")


def _as_path(name: str) -> Path | None:
    try:
        return Path(name).expanduser() if name else None
    except (RuntimeError, ValueError):  # ~nobody/x, or a NUL
        return None


def pull(
    name: str,
    *,
    revision: str | None,
    configs: tuple[str, ...],
    into: Path | None,
    tell: Callable[[str], None],
) -> Source:
    """Fetch a hub data set, all splits of these configs, into the cache or a folder of the user's."""
    if not _HUB_ID.fullmatch(name):
        raise UsageError(f"{name} is not a hub id; expected something like 12kimih/HiCUPID")
    choice = Choice(configs=configs)
    if into is None:
        tell(f"Fetching {name} …")
        return _on_hub(name, revision, choice)
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError(f"{into} is not an empty folder; choose another for --to")
    # Whole or not at all: what a broken connection leaves is not a data set. The next try goes on from it.
    unfinished = into.with_name(f".{into.name}.unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    tell(f"Fetching {name} …")
    source = _on_hub(name, revision, choice, unfinished)
    if into.exists():
        into.rmdir()
    unfinished.rename(into)
    return replace(source, root=into)


def _in_folder(name: str, root: Path) -> Source:
    paths = _files_below(root)
    found = find_parts(paths)
    if found is None:
        what = "is an empty folder" if not paths else "holds no data set"
        raise DataError(f"{name}: {what}; {_EXPECTED}")
    return Source(name, found[0], root, found[1])


def _files_below(root: Path, depth: int = 4) -> list[str]:
    """Relative paths of files, linked ones too; no deeper than a data set goes, so that a loop of links ends."""
    found = []
    for folder, folders, names in os.walk(root, followlinks=True):
        inside = Path(folder).relative_to(root)
        if len(inside.parts) >= depth:
            folders.clear()
        found += [(inside / n).as_posix() for n in names]
    return found


def _around_file(name: str, path: Path, choice: Choice) -> tuple[Source, Choice]:
    """A file of questions stands for its split of the HiCUPID set around it; any other file is a CUPID table."""
    if path.suffix not in (".parquet", ".json"):
        raise DataError(f"{name}: expected a .parquet or .json file, or a folder")
    full = path.absolute()
    for root in list(full.parents)[1:3]:  # qa/test_1.parquet, qa/test_1/0000.parquet
        inside = full.relative_to(root).as_posix()
        if inside.split("/")[0] not in HICUPID_CONFIGS:
            continue
        found = find_parts(_files_below(root))
        if found is None or found[0] != "hicupid":
            continue
        for config, splits in found[1].items():
            for split, files in splits.items():
                if inside in files and config == "qa":
                    return Source(name, "hicupid", root, found[1]), replace(choice, splits=(split,))
                if inside in files:
                    raise DataError(f"{name} is the {config} part of a HiCUPID set; give its folder: {root}")
    return Source(name, "cupid", path.parent, {CUPID_CONFIG: {"test": [path.name]}}), choice


def _on_hub(name: str, revision: str | None, choice: Choice, into: Path | None = None) -> Source:
    def parts_of(listing: Iterable[str]) -> Source:
        found = find_parts(listing)
        if found is None:
            raise DataError(f"{name} on the hub holds no data set of a known layout; {_EXPECTED}")
        return _narrowed(Source(name, found[0], Path(), found[1]), choice)

    return _fetched(name, revision, parts_of, into)


def _fetched(
    name: str, revision: str | None, parts_of: Callable[[Iterable[str]], Source], into: Path | None = None
) -> Source:
    """The parts that are wanted of a repository's listing, with their files on this disk."""

    def choose(listing: Iterable[str]) -> list[str]:
        return [path for part in parts_of(listing).parts.values() for files in part.values() for path in files]

    snapshot = hub.fetch(name, revision, choose, into=into)
    listing = snapshot.listing if snapshot.listing is not None else _files_below(snapshot.folder)
    source = replace(parts_of(listing), root=snapshot.folder, revision=snapshot.commit)
    for path in choose(listing):
        if not (snapshot.folder / path).is_file():
            raise FetchError(f"{path} of {name} was never fetched, and the hub cannot be reached now")
    return source


def _narrowed(source: Source, choice: Choice) -> Source:
    for split in choice.splits:
        if split not in source.splits:
            have = one_of(source.splits) if source.splits else "no questions at all"
            raise MissingSplit(f"{source.name} has no split {split!r}; it has {have}", source.splits)
    wanted = choice.of(source.splits)
    if source.benchmark == "cupid":
        chosen = {s: f for s, f in source.parts[CUPID_CONFIG].items() if s in wanted}
        return replace(source, parts={CUPID_CONFIG: chosen})
    configs = choice.configs or HICUPID_CONFIGS
    parts = {config: dict(files) for config, files in source.parts.items() if config in configs}
    if "qa" in parts:
        parts["qa"] = {s: f for s, f in parts["qa"].items() if s in wanted}
    if "dialogue" in parts and not choice.all_dialogues and len(wanted) < len(source.splits):
        needed = dialogue_splits_for(wanted, parts["dialogue"].keys())
        parts["dialogue"] = {s: f for s, f in parts["dialogue"].items() if s in needed}
    return replace(source, parts=parts)
