"""File layouts: which files of a folder or hub repository are which part of a data set.

A part may be split into shards, as the hub stores large ones: `qa/train-00000-of-00002.parquet`,
`qa/train/0000.parquet`. Paths are relative, with forward slashes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

# config -> split -> files in name order
Parts = dict[str, dict[str, list[str]]]

SHARD = r"(?P<split>\w+?)(?:-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet|\.parquet|/\d+\.parquet)"


# "default": a format's default configs. "present": all configs on disk, but only the default ones from the hub.
# "every": all.
Configs = Literal["default", "present", "every"]


@dataclass(frozen=True, slots=True)
class Choice:
    """The wanted part of a data set. Other parts are neither downloaded, read nor checked."""

    splits: tuple[str, ...] = ()  # splits of questions or instances; empty means all
    leave_out: tuple[str, ...] = ()  # splits to exclude, unless there are no others
    configs: Configs = "present"
    whole: bool = False  # every file of a config, not only those matching the split names

    def of(self, available: Collection[str]) -> list[str]:
        wanted = [s for s in available if (s in self.splits if self.splits else s not in self.leave_out)]
        return wanted or list(available)


@dataclass(frozen=True, slots=True)
class SetLocation:
    """The data set that contains a file the user named, and the splits that the file stands for."""

    root: Path
    parts: Parts
    splits: tuple[str, ...] = ()


class Format(Protocol):
    """The on-disk layout of a benchmark's data sets."""

    benchmark: str
    configs: tuple[str, ...]  # the configs that a set may have
    default_configs: tuple[str, ...]  # configs downloaded by default
    items: str  # the config whose splits are the set's splits
    expected: str  # what a folder must contain, for error messages

    def find_parts(self, paths: Sequence[str]) -> Parts | None:
        """Return where the parts are among these files; None if they are not a set of this format."""
        ...

    def around_file(self, path: Path) -> SetLocation | None:
        """Return the set that a file belongs to; None if the file is not part of one."""
        ...

    def narrowed(self, parts: Parts, choice: Choice) -> Parts:
        """Return the splits that a choice wants, and what they depend on."""
        ...


def visible_files(paths: Iterable[str]) -> list[str]:
    """Return the paths sorted, without hidden files and folders."""
    return sorted(p for p in paths if not any(word.startswith(".") for word in p.split("/")))


def order_splits(splits: dict[str, list[str]]) -> dict[str, list[str]]:
    """Return `train` first, then the others by name."""
    return dict(sorted(splits.items(), key=lambda item: (item[0] != "train", item[0])))


def find_configs(paths: Iterable[str], configs: Collection[str]) -> Parts:
    """Return the parts in folders of these names. If several folders match, the outermost counts: the others are
    copies."""
    part_of = re.compile(rf"(?P<root>(?:.*/)?)(?P<config>{'|'.join(configs)})/{SHARD}")
    matches = [(p, m) for p in visible_files(paths) if (m := part_of.fullmatch(p))]
    root = min((m["root"] for _, m in matches), key=lambda r: (r.count("/"), r), default="")
    parts: Parts = {}
    for path, part in matches:
        if part["root"] == root:
            parts.setdefault(part["config"], {}).setdefault(part["split"], []).append(path)
    return {config: order_splits(parts[config]) for config in configs if config in parts}


def missing_shards(files: Iterable[str]) -> str | None:
    """Return the first missing shard, for parts whose file names state the shard count."""
    present = set(files)
    for path in sorted(present):
        if match := re.search(r"-\d{5}-of-(\d{5})(?=[^/]*$)", path):
            for n in range(int(match[1])):
                shard = f"{path[: match.start()]}-{n:05d}-of-{match[1]}"
                if not any(p.startswith(shard) for p in present):
                    return f"{shard}.parquet"
    return None


class OneFile:
    """The format of a benchmark whose data sets are a single file with a fixed name. The items of the file may belong
    to several splits: `DataSet.of_splits` selects those that a user names."""

    holds_splits = True  # which splits there are is known only after reading
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
        """Return all parts: there is only one file."""
        return parts
