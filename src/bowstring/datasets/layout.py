"""Which files of a folder or a hub repository are which part of a data set.

A part may be cut into shards, the way the hub stores large ones: `qa/train-00000-of-00002.parquet`,
`qa/train/0000.parquet`. Paths are relative, with forward slashes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

# config -> split -> files in order of their names
Parts = dict[str, dict[str, list[str]]]

SHARD = r"(?P<split>\w+?)(?:-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet|\.parquet|/\d+\.parquet)"


# A format's default configs; all that are on this disk, but from the hub the default ones; or all of them.
Configs = Literal["default", "present", "every"]


@dataclass(frozen=True, slots=True)
class Choice:
    """Which part of a data set is wanted. What is not wanted is neither fetched, read nor checked."""

    splits: tuple[str, ...] = ()  # of questions or instances; none means all
    leave_out: tuple[str, ...] = ()  # of these, unless they are all there is
    configs: Configs = "present"
    whole: bool = False  # every file of a config, not only those that the names of the splits suggest

    def of(self, available: Collection[str]) -> list[str]:
        wanted = [s for s in available if (s in self.splits if self.splits else s not in self.leave_out)]
        return wanted or list(available)


@dataclass(frozen=True, slots=True)
class SetLocation:
    """The data set around a file that a user named, and the splits that the file stands for."""

    root: Path
    parts: Parts
    splits: tuple[str, ...] = ()


class Format(Protocol):
    """How a benchmark's data sets lie on disk."""

    benchmark: str
    configs: tuple[str, ...]  # the parts that a set may have
    default_configs: tuple[str, ...]  # those that are fetched unless others are asked for
    items: str  # the config whose splits are those of a set
    expected: str  # what a folder must hold, for messages

    def find_parts(self, paths: Sequence[str]) -> Parts | None:
        """Where the parts lie among these files; None if they hold no set of this format."""
        ...

    def around_file(self, path: Path) -> SetLocation | None:
        """The set that one file belongs to; None if the file is no part of one."""
        ...

    def narrowed(self, parts: Parts, choice: Choice) -> Parts:
        """Those splits that a choice wants, and what else they need."""
        ...


def visible_files(paths: Iterable[str]) -> list[str]:
    """Sorted, without hidden files and folders."""
    return sorted(p for p in paths if not any(word.startswith(".") for word in p.split("/")))


def order_splits(splits: dict[str, list[str]]) -> dict[str, list[str]]:
    """`train` first, the others by name."""
    return dict(sorted(splits.items(), key=lambda item: (item[0] != "train", item[0])))


def find_configs(paths: Iterable[str], configs: Collection[str]) -> Parts:
    """The parts that lie in folders of these names. Where several folders hold such, the outermost is meant: the
    others are copies of somebody's.
    """
    part_of = re.compile(rf"(?P<root>(?:.*/)?)(?P<config>{'|'.join(configs)})/{SHARD}")
    matches = [(p, m) for p in visible_files(paths) if (m := part_of.fullmatch(p))]
    root = min((m["root"] for _, m in matches), key=lambda r: (r.count("/"), r), default="")
    parts: Parts = {}
    for path, part in matches:
        if part["root"] == root:
            parts.setdefault(part["config"], {}).setdefault(part["split"], []).append(path)
    return {config: order_splits(parts[config]) for config in configs if config in parts}


def missing_shards(files: Iterable[str]) -> str | None:
    """The first shard that is not there, of a part whose file names say how many there are."""
    present = set(files)
    for path in sorted(present):
        if match := re.search(r"-\d{5}-of-(\d{5})(?=[^/]*$)", path):
            for n in range(int(match[1])):
                shard = f"{path[: match.start()]}-{n:05d}-of-{match[1]}"
                if not any(p.startswith(shard) for p in present):
                    return f"{shard}.parquet"
    return None


class OneFile:
    """The format of a benchmark whose data sets are one file of a fixed name."""

    configs: tuple[str, ...] = ("data",)
    default_configs: tuple[str, ...] = ("data",)
    items = "data"

    def __init__(self, benchmark: str, file: str) -> None:
        self.benchmark, self._file = benchmark, file
        self.expected = f"{file} ({benchmark})"

    def find_parts(self, paths: Sequence[str]) -> Parts | None:
        return {self.items: {"test": [self._file]}} if self._file in paths else None

    def around_file(self, path: Path) -> SetLocation | None:
        return SetLocation(path.parent, {self.items: {"test": [path.name]}}) if path.name == self._file else None

    def narrowed(self, parts: Parts, choice: Choice) -> Parts:  # noqa: ARG002
        """All of it: what is not wanted is left out when it is read."""
        return parts
