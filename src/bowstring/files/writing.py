"""Atomic file writing that never follows symbolic links.

A folder may come from somebody else. Writing a file replaces a link of that name; a subfolder that is a link is never
written into. Folders and files that the user names explicitly may be links.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from bowstring.errors import UsageError

NO_LINKS, _BINARY = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_BINARY", 0)


def write_file(path: Path, content: str | bytes) -> None:
    """Write a file atomically. Lone surrogates become question marks."""
    with replace_file(path) as file:
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)


def save_file(path: Path, content: str | bytes) -> None:
    """Write a file that the user named, atomically. It may be a link, or a device such as /dev/stdout."""
    make_parent(path)
    if path.exists() and not path.is_file():
        path.write_bytes(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    else:
        write_file(path.resolve(), content)


@contextmanager
def replace_file(path: Path, *, durable: bool = False) -> Iterator[IO[bytes]]:
    """Open a draft that takes the place of `path` if the block succeeds; with `durable`, after an fsync."""
    draft = draft_of(path)
    try:
        with create_file(draft) as file:
            yield file
            if durable:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def draft_of(path: Path) -> Path:
    """Where a file or folder is written before it takes its place."""
    return path.with_name(f".{path.name}.draft")


@contextmanager
def replace_folder(path: Path, *, resume: bool = False) -> Iterator[Path]:
    """Give the draft of a folder, which takes the place of `path`, a missing or empty folder, if the block succeeds.
    With `resume`, a draft that an earlier attempt left is used."""
    draft = draft_of(path)
    if not resume:
        shutil.rmtree(draft, ignore_errors=True)
    draft.mkdir(parents=True, exist_ok=True)
    yield draft
    if path.exists():
        path.rmdir()
    draft.rename(path)


def create_file(path: Path) -> IO[bytes]:
    """Create a new file, replacing any file or link of that name."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS | _BINARY, 0o666), "wb")


def open_lock(path: Path) -> IO[str]:
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666), "r+", encoding="utf-8")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{path} is a symbolic link; Bowstring does not write through links: remove it") from error
        raise


def check_folder(folder: Path) -> None:
    """Raise a UsageError unless the folder exists or can be created."""
    for place in (folder, *folder.parents):
        if place.is_dir():
            return
        if os.path.lexists(place):
            of = "" if place == folder else f", so {folder} cannot be created"
            raise UsageError(f"{place} is not a folder{of}; choose another path")


def check_file(option: str, path: Path | None) -> None:
    """Raise a UsageError if the value of an option is a folder instead of a file."""
    if path is not None and path.is_dir():
        raise UsageError(f"{option} {path} is a folder; expected a file")


def make_parent(file: Path) -> None:
    """Create the parent folder of a file that the user named."""
    if file.is_dir():
        raise UsageError(f"{file} is a folder; expected a file to write")
    make_folder(file.parent)


def make_folder(folder: Path, *inside: str) -> Path:
    """Create a folder that the user named, and subfolders inside it."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in inside:
        folder = folder / name
        if folder.is_symlink():
            raise UsageError(f"{folder} is a symbolic link; Bowstring does not write through links: remove it")
        folder.mkdir(exist_ok=True)
    return folder
