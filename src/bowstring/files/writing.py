"""Files written into folders in which links may lie: whole or not at all, and never to where a link leads.

A folder may have come from somebody else. What is written replaces a link of that name; a folder inside that is a link
is not written into. Folders and files that the user names may be links as ever.
"""

from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import IO

from bowstring.errors import UsageError

NO_LINKS, _BINARY = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_BINARY", 0)


def write_file(path: Path, content: str | bytes) -> None:
    """All of it or nothing; halves of characters become question marks."""
    draft = path.with_name(f".{path.name}.draft")
    with create_file(draft) as file:
        file.write(content.encode("utf-8", "replace") if isinstance(content, str) else content)
    draft.replace(path)


def create_file(path: Path) -> IO[bytes]:
    """A new file in the place of whatever file or link is there."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS | _BINARY, 0o666), "wb")


def open_lock(path: Path) -> IO[str]:
    try:
        return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666), "r+", encoding="utf-8")
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise UsageError(f"{path} is a link, and nothing is written to where it leads; remove it") from error
        raise


def check_folder(folder: Path) -> None:
    """That a folder is there, or can be made: no file is in its way."""
    for place in (folder, *folder.parents):
        if place.is_dir():
            return
        if os.path.lexists(place):
            of = "" if place == folder else f", and {folder} would be in it"
            raise UsageError(f"{place} is no folder{of}; give another place")


def make_parent(file: Path) -> None:
    """The folder of a file that the user named, made where it is not there yet."""
    if file.is_dir():
        raise UsageError(f"{file} is a folder; expected a file to write")
    make_folder(file.parent)


def make_folder(folder: Path, *inside: str) -> Path:
    """A folder inside one that the user named, made where it is not there yet."""
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name in inside:
        folder = folder / name
        if folder.is_symlink():
            raise UsageError(f"{folder} is a link, and nothing is written to where it leads; remove it")
        folder.mkdir(exist_ok=True)
    return folder
