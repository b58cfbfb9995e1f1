"""A run's folder: its lock, its configuration, and its results.

run.json        the whole configuration, versions, fingerprints
records.jsonl   one line per item, in data order; nothing in it depends on timing
metrics.json    the metrics
report.html     the page
audit.json      the findings of the last audit, if any
progress.json   the progress, while it runs or after it was interrupted
log.txt         tracebacks of exceptions of user code, if there were any
"""

from __future__ import annotations

import errno
import hashlib
import json
import logging
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NamedTuple

from bowstring.errors import DataError, RunError, UsageError, quote_value
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import make_folder, open_lock, replace_file
from bowstring.runs.codec import (
    ANY_VERSION,
    KEYS_ONLY,
    Codec,
    ConfigurationForm,
    NotARecord,
    problem_in,
    problem_with_schema,
)

AUDIT_NAME = "audit.json"
# Checking a lock takes it for an instant, so acquiring one is retried.
_TRIES, _BETWEEN = 5, 0.02
_HELD = (errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES)
_without_locks: set[int] = set()  # file systems already warned about
_log = logging.getLogger("bowstring")


class NoLocks(Exception):
    """The file system does not support locks."""


def fingerprint(configuration: Mapping[str, Any]) -> str:
    """Return a hash of everything that can change a result."""
    return hashlib.sha256(json.dumps(configuration, sort_keys=True, default=str).encode()).hexdigest()


def run_folder_name(benchmark: str, model: str, print_: str) -> str:
    """Return a readable folder name that is unique to the configuration."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", model).strip("-.")[:48]
    return f"{benchmark}-{plain}-{print_[:8]}"


@dataclass(frozen=True, slots=True)
class EndedRun:
    """A run whose results can be read; a stopped run has the results of the items it reached."""

    path: Path
    configuration: dict[str, Any]
    data_path: str | None = None  # path of its data set, if it was a folder
    codec: Codec = KEYS_ONLY  # codec of its records

    @property
    def data_name(self) -> str:
        """Where to load its data set from: its folder, if that still exists, or else its name."""
        there = self.data_path is not None and Path(self.data_path).exists()
        return str(self.data_path if there else self.configuration["data"]["name"])

    def records(self) -> Iterator[dict[str, Any]]:
        return read_records(self.path, self.codec)


def read_run(path: Path, codec_of: Callable[[Mapping[str, Any]], Codec] = lambda config: KEYS_ONLY) -> EndedRun:
    """Read a run that has ended; `codec_of` returns the record codec of a configuration."""
    manifest = read_manifest(path)
    if isinstance(manifest["config"], dict) and "audited" in manifest["config"]:
        run = path.absolute().parent.parent  # the audit's folder is inside the run's
        raise UsageError(f"{path} is an audit, not a run; give the run's folder, {run}")
    if manifest["status"] not in ("complete", "stopped"):
        raise UsageError(
            f"{path} has not ended: its run.json says {quote_value(manifest['status'])}; the command that started "
            "it resumes it"
        )
    if manifest.get("sum", with_checksum(manifest)["sum"]) != with_checksum(manifest)["sum"]:
        raise _unreadable(path / "run.json")
    if problem := problem_in(ConfigurationForm, manifest["config"]):
        raise DataError(f"{path / 'run.json'}: config {problem}; run the evaluation again: answers are in the store")
    where = manifest.get("data_path")
    config = manifest["config"]
    return EndedRun(path, config, where if isinstance(where, str) else None, codec_of(config))


def read_manifest(path: Path) -> dict[str, Any]:
    """Read a run's run.json, which has a status and a configuration."""
    try:
        found = parse_strict_json((path / "run.json").read_bytes())
        if problem := problem_with_schema(found):
            raise DataError(f"{path / 'run.json'} {problem}")
        if isinstance(found, dict) and {"status", "config"} <= found.keys():
            return found
    except (OSError, ParseError) as error:
        raise UsageError(f"{path} is not a run; expected a run's folder, such as runs/NAME") from error
    raise UsageError(f"{path} is not a run; expected a run's folder, such as runs/NAME")


def read_metrics(path: Path) -> dict[str, Any]:
    """Read the metrics of a run that has ended."""
    _verify_checksum(path, "metrics.json")
    try:
        found = parse_strict_json((path / "metrics.json").read_bytes())
        if problem := problem_with_schema(found):
            raise DataError(f"{path / 'metrics.json'} {problem}")
        if isinstance(found, dict) and {"benchmark", "n", "metrics", "groups", "usage", "config"} <= found.keys():
            return found
    except (OSError, ParseError):
        pass
    raise DataError(f"{path / 'metrics.json'} cannot be read; run the evaluation again: answers are in the store")


def read_records(path: Path, codec: Codec | None = None) -> Iterator[dict[str, Any]]:
    """Yield a run's records one by one: a full-size run has 10,000. With a `codec`, each record is validated and keys
    must be unique; without, only a key is required."""
    _verify_checksum(path, "records.jsonl")
    keys: set[str] = set()
    for n, line in enumerate(_lines(path / "records.jsonl"), 1):
        place = f"{path / 'records.jsonl'} line {n}"
        try:
            record = parse_strict_json(line)
        except ParseError as error:
            raise DataError(f"{place}: {error}; run the evaluation again") from error
        try:
            record = (codec or ANY_VERSION).decode(record)
        except NotARecord as error:
            raise DataError(f"{place}: {error}; run the evaluation again") from error
        if codec is not None and record["key"] in keys:
            raise DataError(f"{place}: key {quote_value(record['key'])} appears twice; run the evaluation again")
        keys.add(record["key"])
        yield record


def _lines(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        raise _unreadable(path, str(error.strerror)) from error


class NamesOfRun(NamedTuple):
    """The names of a run's models by role, as they can be opened again, and the names that servers' models have."""

    names: Mapping[str, str]
    served_as: Mapping[str, str]


def names_of_run(path: Path) -> NamesOfRun:
    """Return the names in run.json; nothing that is not text."""
    manifest = read_manifest(path)

    def texts(field: str) -> dict[str, str]:
        found = manifest.get(field)
        pairs = found.items() if isinstance(found, dict) else ()
        return {role: name for role, name in pairs if isinstance(role, str) and isinstance(name, str)}

    return NamesOfRun(texts("models"), texts("served_as"))


def with_checksum(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return a manifest with a checksum of itself, which detects a flipped byte."""
    rest = {name: value for name, value in manifest.items() if name != "sum"}
    return rest | {"sum": fingerprint(rest)}


def file_checksum(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _verify_checksum(path: Path, name: str) -> None:
    """Raise an error unless a file matches its checksum in run.json, if there is one."""
    try:
        wanted = parse_strict_json((path / "run.json").read_bytes())["files"][name]
        found = file_checksum(path / name)
    except (OSError, ValueError, KeyError, TypeError):
        return  # reading the file will report the problem
    if found != wanted:
        raise _unreadable(path / name)


def _unreadable(path: Path, why: str = "its checksum does not match") -> DataError:
    return DataError(f"{path} cannot be read: {why}; run the evaluation again: answers are in the store")


class RunFolder:
    """Open for writing by one process at a time; the lock is released when the process ends, however it ends."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.written: dict[str, str] = {}  # checksums of the files written, by name
        make_folder(path)
        self._lock = acquire_lock(
            path / ".lock", f"{path} is in use: {{by}} is running it; wait for it, or choose another --out"
        )

    def close(self) -> None:
        self._lock.close()

    def write_json(self, name: str, value: Mapping[str, Any]) -> None:
        self._write(name, json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def write_lines(self, name: str, records: Iterable[Mapping[str, Any]]) -> None:
        """Write one line of JSON per record."""
        self._write(name, (json.dumps(r, ensure_ascii=False, allow_nan=False) + "\n" for r in records))

    def write_text(self, name: str, text: str) -> None:
        self._write(name, text)

    def write_note(self, name: str, value: Mapping[str, Any]) -> None:
        """Write short-lived JSON, without fsync."""
        self._write(name, json.dumps(value, ensure_ascii=False, allow_nan=False) + "\n", lasting=False)

    def write_remark(self, name: str, text: str) -> None:
        """Write text that is not a result, without fsync."""
        self._write(name, text, lasting=False)

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def _write(self, name: str, content: str | Iterable[str], *, lasting: bool = True) -> None:
        """Write atomically: a reader never sees half a file."""
        checksum = hashlib.sha256()
        try:
            with replace_file(self.path / name, durable=lasting) as file:
                for part in [content] if isinstance(content, str) else content:
                    raw = part.encode("utf-8", "replace")
                    checksum.update(raw)
                    file.write(raw)
        except OSError as error:
            if not lasting:
                raise
            raise RunError(
                f"{self.path / name} cannot be written: {error.strerror}; free some space and run the same command "
                "again: answers are in the store"
            ) from error
        if lasting:
            self.written[name] = checksum.hexdigest()


def is_running(path: Path) -> bool:
    """Return whether a process has this run open now; run.json may be older than the end of its process.

    If locks are not supported, only run.json can tell.
    """
    lock = path / ".lock"
    try:
        if not stat.S_ISREG(lock.lstat().st_mode):  # not a lock file
            return False
        with lock.open("rb") as file:
            return not try_lock(file.fileno(), shared=True)
    except NoLocks:
        return True
    except OSError:
        return False


def acquire_lock(lock: Path, in_use: str) -> IO[str]:
    """Acquire a lock that is released when the process ends; `in_use` is the error if another process has it, with {by}
    for that process."""
    file = open_lock(lock)
    if not _lock_with_retries(file, lock.parent):
        file.seek(0)
        who = file.read().strip()
        file.close()
        by = f"process {who}" if who else "another process"
        raise RunError(in_use.replace("{by}", by))
    file.seek(0)
    file.truncate()
    file.write(str(os.getpid()))
    file.flush()
    return file


def _lock_with_retries(file: IO[str], folder: Path) -> bool:
    try:
        for _ in range(_TRIES):
            if try_lock(file.fileno()):
                return True
            time.sleep(_BETWEEN)
    except NoLocks as why:
        warn_no_locks(folder, str(why))
        return True
    return False


def try_lock(file: int, *, shared: bool = False) -> bool:
    """Take the lock for as long as the file is open; return False if another process has it. Raises NoLocks."""
    try:
        if os.name == "nt":
            import msvcrt

            os.lseek(file, 1 << 20, os.SEEK_SET)  # a byte beyond the content
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined,unused-ignore]
        else:
            import fcntl

            fcntl.flock(file, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _HELD:
            return False
        raise NoLocks(error.strerror) from error
    return True


def warn_no_locks(folder: Path, why: str) -> None:
    """Warn once per file system."""
    if (system := folder.stat().st_dev) not in _without_locks:
        _without_locks.add(system)
        _log.warning(
            "%s: the file system does not support locks (%s), so two processes could write to the same run", folder, why
        )
