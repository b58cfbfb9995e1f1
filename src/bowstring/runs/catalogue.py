"""List the runs and sweeps of a folder with their status.

    for entry in Catalogue(Path("runs")).entries():
        print(entry.name, entry.status)

A folder may be untrusted, incomplete or damaged: links are not followed, only regular files are read, and an entry that
cannot be read says why.
"""

from __future__ import annotations

import os
import re
import stat
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from bowstring.errors import BowstringError
from bowstring.files import strict_json
from bowstring.files.safe_yaml import ParseError
from bowstring.runs.folder import is_running, read_records
from bowstring.runs.progress import NAME as PROGRESS_NAME

Kind = Literal["run", "sweep"]
Status = Literal["running", "interrupted", "complete", "stopped", "failed", "broken"]

_MOST = 1 << 28  # maximum size in bytes of a file that is read
_LISTED = 20_000  # cached entries
_YEARS = range(1971, 9999)  # of dates that can be converted to any time zone
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f]")
_SIGNS = ("run.json", "sweep.json", "metrics.json", "records.jsonl")

T = TypeVar("T")


class Unreadable(Exception):
    """What is wrong with a file: a short phrase that begins with its name."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A run or a sweep. `name` is its path below the folder, `reason` says why it is broken, failed or stopped."""

    name: str
    path: Path
    kind: Kind
    status: Status
    when: datetime
    manifest: Mapping[str, Any] = field(default_factory=dict)
    reason: str = ""

    @property
    def configuration(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.manifest.get("config", {})
        return found


class FileCache(Generic[T]):
    """Caches a value computed from a folder's files until one of them changes."""

    def __init__(self, make: Callable[[Path], T], files: Sequence[str], *, most: int) -> None:
        self._make, self._files, self._most = make, files, most
        self._kept: OrderedDict[Path, tuple[object, T]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, folder: Path) -> T:
        now = [_signature(folder / name) for name in self._files]
        with self._lock:
            found = self._kept.get(folder)
            if found is not None and found[0] == now:
                self._kept.move_to_end(folder)
                return found[1]
        made = self._make(folder)
        with self._lock:
            self._kept[folder] = (now, made)
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
        return made


class Catalogue:
    """All runs and sweeps in a folder and, one level down, in those of its folders that are not runs."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._manifests = FileCache(_read_manifest, ("run.json",), most=_LISTED)
        self._sweeps = FileCache(_read_sweep, ("sweep.json",), most=_LISTED)
        self._seen: dict[str, Path] = {}

    def entries(self) -> list[Entry]:
        """Return all entries, newest first."""
        found = list(self._walk(self.root, deeper=True))
        self._seen = {entry.name: entry.path for entry in found}
        return sorted(found, key=lambda entry: (entry.when, entry.name), reverse=True)

    def entry(self, name: str) -> Entry | None:
        """Return the current entry of this name. A name is looked up, and never used as a path."""
        if name not in self._seen:
            self.entries()
        path = self._seen.get(name)
        return self._look(path) if path is not None else None

    def _walk(self, folder: Path, *, deeper: bool) -> Iterator[Entry]:
        for path in _folders(folder):
            found = self._look(path)
            if found is not None:
                yield found
            if not path.is_symlink() and (found.kind == "sweep" if found else deeper):
                yield from self._walk(path, deeper=False)

    def _look(self, path: Path) -> Entry | None:
        """Return the entry for this folder, if it is a run or a sweep."""
        if path.is_symlink():
            leads_to_one = any((path / name).exists() for name in _SIGNS)
            return self._broken(path, "is a link: links are not followed") if leads_to_one else None
        try:
            inside = {entry.name for entry in os.scandir(path)}
        except OSError as error:
            return self._broken(path, f"cannot be opened: {error.strerror}")
        if {"run.json", "sweep.json"} <= inside:
            return self._broken(path, "run.json and sweep.json are in one folder")
        if "sweep.json" in inside:
            return self._sweep(path)
        return self._run(path) if inside.intersection(_SIGNS) else None

    def _run(self, path: Path) -> Entry:
        try:
            manifest = self._manifests.of(path)
            if manifest["status"] == "running" and not is_running(path):
                manifest = self._manifests.of(path)  # the run may have ended between the two reads
                manifest = manifest | {"status": "interrupted"} if manifest["status"] == "running" else manifest
        except Unreadable as problem:
            return self._broken(path, str(problem))
        status: Status = manifest["status"]
        if status in ("complete", "stopped") and _signature(path / "metrics.json") is None:
            return self._broken(path, "metrics.json is missing", manifest)
        reason = manifest.get("reason")
        return Entry(
            _name(self.root, path),
            path,
            "run",
            status,
            _when(manifest.get("written"), path / "run.json"),
            manifest,
            reason if isinstance(reason, str) else "",
        )

    def _sweep(self, path: Path) -> Entry:
        try:
            summary = self._sweeps.of(path)
        except Unreadable as problem:
            return self._broken(path, str(problem), kind="sweep")
        ended: Status = "complete" if all(point.get("complete") for point in summary["points"].values()) else "stopped"
        return Entry(_name(self.root, path), path, "sweep", ended, _when(None, path / "sweep.json"), summary)

    def _broken(
        self, path: Path, reason: str, manifest: Mapping[str, Any] | None = None, *, kind: Kind = "run"
    ) -> Entry:
        return Entry(_name(self.root, path), path, kind, "broken", _when(None, path), manifest or {}, reason)


def check_plain(path: Path) -> None:
    """Raise Unreadable unless the path is a regular file: a link may lead anywhere, and a pipe would block."""
    try:
        kind = path.lstat().st_mode
    except FileNotFoundError as error:
        raise Unreadable(f"{path.name} is missing") from error
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(kind):
        raise Unreadable(f"{path.name} is not a regular file")


def read_json_object(path: Path) -> dict[str, Any]:
    """Read a JSON object from a regular file, or raise Unreadable with the reason."""
    check_plain(path)
    try:
        with path.open("rb") as file:
            content = file.read(_MOST + 1)
    except OSError as error:
        raise Unreadable(f"{path.name} cannot be read: {error.strerror}") from error
    if len(content) > _MOST:
        raise Unreadable(f"{path.name} is larger than {_MOST:,} bytes")
    try:
        found = strict_json.parse_strict_json(content)
    except ParseError as error:
        raise Unreadable(f"{path.name} {error}") from error
    if not isinstance(found, dict):
        raise Unreadable(f"{path.name} is not a JSON object")
    return found


def read_plain_records(folder: Path) -> list[dict[str, Any]]:
    """Read the records of a run from a regular file, or raise Unreadable with the reason."""
    check_plain(folder / "records.jsonl")
    try:
        return list(read_records(folder))
    except (BowstringError, UnicodeDecodeError, RecursionError) as error:
        raise Unreadable(f"records.jsonl cannot be read: {error}") from error


def read_progress(path: Path) -> dict[str, Any] | None:
    """Return a run's last recorded progress; None if there is none."""
    try:
        found = read_json_object(path / PROGRESS_NAME)
    except Unreadable:
        return None
    counts = [found.get("done"), found.get("total")]
    return found if all(isinstance(n, int) and n >= 0 for n in counts) else None


def _read_manifest(folder: Path) -> dict[str, Any]:
    found = read_json_object(folder / "run.json")
    known = ("running", "complete", "stopped", "failed")
    if found.get("status") not in known:
        raise Unreadable("run.json has no valid status")
    config = found.get("config")
    if not isinstance(config, dict) or not all(isinstance(config.get(k), dict) for k in ("settings", "data")):
        raise Unreadable("run.json has no run configuration")
    return found


def _read_sweep(folder: Path) -> dict[str, Any]:
    found = read_json_object(folder / "sweep.json")
    points, config = found.get("points"), found.get("config")
    if not isinstance(points, dict) or not all(isinstance(point, dict) for point in points.values()):
        raise Unreadable("sweep.json has no points")
    if not isinstance(config, dict) or not isinstance(config.get("data"), dict):
        raise Unreadable("sweep.json has no sweep configuration")
    return found


def _folders(folder: Path) -> list[Path]:
    try:
        return [Path(entry.path) for entry in os.scandir(folder) if entry.is_dir() and entry.name[0] != "."]
    except OSError:
        return []


def _name(root: Path, path: Path) -> str:
    """Return a printable name: undecodable bytes, line breaks and control characters are escaped."""
    name = path.relative_to(root).as_posix().encode("utf-8", "backslashreplace").decode()
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", name)


def _signature(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def _when(written: object, path: Path) -> datetime:
    """Return when a run was written, in UTC; if that is not a plausible time, when its file was."""
    with suppress(ValueError, OverflowError):
        found = datetime.fromisoformat(written) if isinstance(written, str) else None
        if found is not None and found.year in _YEARS:
            return found.astimezone(UTC) if found.tzinfo else found.replace(tzinfo=UTC)
    with suppress(OSError, ValueError, OverflowError):
        changed = datetime.fromtimestamp(path.lstat().st_mtime, UTC)
        if changed.year in _YEARS:
            return changed
    return datetime.fromtimestamp(0, UTC)
