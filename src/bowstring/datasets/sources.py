"""Locate a data set by name: a hub id, a folder, a file, or `mini`, as files on this disk.

mini                    the bundled sets; mini/NAME if the benchmark is ambiguous
12kimih/HiCUPID         a data set on the hub
path/to/set             a folder in a benchmark's layout
path/to/test.parquet    one file: a table, an instance, or one split of a set
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from bowstring.datasets import hub
from bowstring.datasets.layout import Choice, Format, Parts, find_configs
from bowstring.datasets.problems import join_choices
from bowstring.errors import DataError, FetchError, MissingData, MissingSplit, UsageError
from bowstring.files.redaction import error_line
from bowstring.files.writing import replace_folder

MINI = "mini"
_log = logging.getLogger("bowstring")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w][\w.-]*")


@dataclass(frozen=True, slots=True)
class Source:
    """A data set's files: its name as the user wrote it, and where its parts are under `root`."""

    name: str
    benchmark: str
    root: Path
    parts: Parts
    splits: tuple[str, ...] = ()  # all splits of its items
    revision: str | None = None

    def fingerprint(self) -> str:
        """A hash of the bytes of every file in use, in name order."""
        return fingerprint_of(digests_of(self.root, self.parts))


def paths_of(parts: Parts) -> list[str]:
    """The paths of all files, sorted."""
    return sorted(path for splits in parts.values() for files in splits.values() for path in files)


def digests_of(root: Path, parts: Parts) -> dict[str, str]:
    """A hash of the bytes of every file, by path."""
    found = {}
    for path in paths_of(parts):
        with (root / path).open("rb") as file:
            found[path] = hashlib.file_digest(file, "sha256").hexdigest()
    return found


def fingerprint_of(digests: Mapping[str, str]) -> str:
    """The fingerprint of a set whose files have these hashes."""
    whole = hashlib.sha256()
    for path in sorted(digests):
        whole.update(f"{path}\0{digests[path]}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()


def locate(
    name: str,
    formats: Sequence[Format],
    benchmark: str | None = None,
    *,
    revision: str | None = None,
    choice: Choice | None = None,
) -> Source:
    """Find the files of a named data set, downloading them from the hub if needed.

    `formats` are tried in order, the one of `benchmark` first.
    """
    choice = choice or Choice()
    asked = sorted(formats, key=lambda form: form.benchmark != benchmark)
    path = _as_path(name)
    if path is not None and path.exists():
        if revision is not None:
            raise UsageError(f"--revision is only for hub data sets; {name} is on this disk")
        form, source, choice = (
            _in_folder(name, path, asked, choice) if path.is_dir() else _of_file(name, path, asked, choice)
        )
    elif _HUB_ID.fullmatch(name):
        choice = replace(choice, configs="every" if choice.configs == "every" else "default")
        source = _on_hub(name, revision, asked, choice)
        form = next(form for form in asked if form.benchmark == source.benchmark)
    else:
        raise MissingData(f"{name or repr(name)}: no such file or folder, and not a hub id")
    if benchmark and source.benchmark != benchmark:
        raise DataError(f"{name} is a {source.benchmark} data set; expected a {benchmark} one")
    return _narrowed(form, source, choice)


def locate_config(name: str, config: str, benchmark: str, *, revision: str | None = None) -> Source:
    """Find the files of one config, ignoring the rest: in a folder, on the hub, or a single named file."""

    def parts_of(listing: Iterable[str]) -> Source:
        parts = find_configs(listing, (config,))
        if not parts:
            raise DataError(f"{name} contains no {config}/*.parquet; expected it there, or the file itself")
        return Source(name, benchmark, Path(), parts)

    path = _as_path(name)
    if path is not None and path.exists():
        if revision is not None:
            raise UsageError(f"--revision is only for hub data sets; {name} is on this disk")
        if path.is_dir():
            return replace(parts_of(files_below(path)), root=path)
        return Source(name, benchmark, path.parent, {config: {path.stem: [path.name]}})
    if _HUB_ID.fullmatch(name):
        return _fetched(name, revision, parts_of)
    raise MissingData(f"{name or repr(name)}: no such file or folder, and not a hub id")


def _as_path(name: str) -> Path | None:
    try:
        return Path(name).expanduser() if name else None
    except (RuntimeError, ValueError):  # ~nobody/x, or a NUL
        return None


def folder_of(name: str, parts: Parts) -> Path | None:
    """The folder of a set on this disk, from its name and its parts; None for a bundled set or one on the hub."""
    path = _as_path(name)
    paths = paths_of(parts)
    if path is None or not path.exists() or not paths:
        return None
    folders = (path, *list(path.absolute().parents)[:3])
    return next((folder for folder in folders if all((folder / one).is_file() for one in paths)), None)


def pull(
    name: str,
    formats: Sequence[Format],
    *,
    revision: str | None,
    every_config: bool,
    into: Path | None,
    tell: Callable[[str], None],
) -> Source:
    """Download a hub data set, all splits of its default configs or of all configs, into the cache or a given
    folder."""
    if not _HUB_ID.fullmatch(name):
        raise UsageError(f"{name} is not a hub id; expected OWNER/NAME")
    choice = Choice(configs="every" if every_config else "default")
    if into is None:
        tell(f"Fetching {name} …")
        return _on_hub(name, revision, formats, choice)
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise UsageError(f"{into} is not an empty folder; choose another for --to")
    # All or nothing: an interrupted download is not a data set. The next attempt resumes it.
    with replace_folder(into, resume=True) as draft:
        tell(f"Fetching {name} …")
        source = _on_hub(name, revision, formats, choice, draft)
    return replace(source, root=into)


def _expected(formats: Sequence[Format]) -> str:
    return "expected " + ", or ".join(form.expected for form in formats)


def _matching_format(paths: Sequence[str], formats: Sequence[Format]) -> tuple[Format, Parts] | None:
    """Return the first format that the files match. A format of a plugin may raise; the others still get their turn."""
    for form in formats:
        try:
            parts = form.find_parts(paths)
        except Exception as error:
            _log.warning("The layout of %s was not checked: %s", form.benchmark, error_line(error, with_type=True))
            continue
        if parts is not None:
            return form, parts
    return None


def _in_folder(name: str, root: Path, formats: Sequence[Format], choice: Choice) -> tuple[Format, Source, Choice]:
    paths = files_below(root)
    if (found := _matching_format(paths, formats)) is None:
        what = "is an empty folder" if not paths else "contains no data set"
        raise DataError(f"{name}: {what}; {_expected(formats)}")
    form, parts = found
    return form, _source(name, form, root, parts), choice


def _source(name: str, form: Format, root: Path, parts: Parts) -> Source:
    return Source(name, form.benchmark, root, parts, tuple(parts.get(form.items, {})))


def files_below(root: Path, depth: int = 4) -> list[str]:
    """Return relative paths of files, following links, to a limited depth, so that a loop of links ends."""
    found = []
    for folder, folders, names in os.walk(root, followlinks=True):
        inside = Path(folder).relative_to(root)
        if len(inside.parts) >= depth:
            folders.clear()
        found += [(inside / n).as_posix() for n in names]
    return found


def _of_file(name: str, path: Path, formats: Sequence[Format], choice: Choice) -> tuple[Format, Source, Choice]:
    """Return the set that a file belongs to, and the choice that the file stands for."""
    if path.suffix not in (".parquet", ".json"):
        raise DataError(f"{name}: expected a .parquet or .json file, or a folder")
    for form in formats:
        if (around := form.around_file(path)) is not None:
            splits = around.splits or choice.splits
            return form, _source(name, form, around.root, around.parts), replace(choice, splits=splits)
    raise DataError(f"{name}: contains no data set; {_expected(formats)}")


def _on_hub(
    name: str, revision: str | None, formats: Sequence[Format], choice: Choice, into: Path | None = None
) -> Source:
    def parts_of(listing: Iterable[str]) -> Source:
        if (found := _matching_format(list(listing), formats)) is None:
            raise DataError(f"{name} on the hub contains no data set in a known layout; {_expected(formats)}")
        form, parts = found
        return _narrowed(form, _source(name, form, Path(), parts), choice)

    return _fetched(name, revision, parts_of, into)


def _fetched(
    name: str, revision: str | None, parts_of: Callable[[Iterable[str]], Source], into: Path | None = None
) -> Source:
    """Return the wanted parts of a repository's listing, with their files on disk."""

    def choose(listing: Iterable[str]) -> list[str]:
        return [path for part in parts_of(listing).parts.values() for files in part.values() for path in files]

    snapshot = hub.fetch(name, revision, choose, into=into)
    listing = snapshot.listing if snapshot.listing is not None else files_below(snapshot.folder)
    source = replace(parts_of(listing), root=snapshot.folder, revision=snapshot.commit)
    for path in choose(listing):
        if not (snapshot.folder / path).is_file():
            raise FetchError(f"{path} of {name} is not in the cache, and the hub cannot be reached")
    return source


def _narrowed(form: Format, source: Source, choice: Choice) -> Source:
    for split in () if getattr(form, "holds_splits", False) else choice.splits:
        if split not in source.splits:
            have = join_choices(source.splits) if source.splits else "no questions at all"
            raise MissingSplit(f"{source.name} has no split {split!r}; it has {have}", source.splits)
    configs = form.default_configs if choice.configs == "default" else form.configs
    parts = {config: files for config, files in source.parts.items() if config in configs}
    return replace(source, parts=form.narrowed(parts, choice))
