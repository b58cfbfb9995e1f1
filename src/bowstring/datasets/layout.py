"""Which files of a folder or a hub repository are which part of a data set.

    HiCUPID   dialogue/{train,test}.parquet   qa/{train,test_1,test_2}.parquet   evaluation/*.parquet
    CUPID     test.parquet, or one JSON file an instance; coverage/*.parquet, which is ours

A part may be cut into shards, the way the hub stores large ones: `qa/train-00000-of-00002.parquet`,
`qa/train/0000.parquet`. Paths are relative, with forward slashes.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Literal

Benchmark = Literal["hicupid", "cupid"]
BENCHMARKS: tuple[Benchmark, ...] = ("hicupid", "cupid")

# config -> split -> files in order of their names
Parts = dict[str, dict[str, list[str]]]

HICUPID_CONFIGS = ("dialogue", "qa", "evaluation")
CUPID_CONFIG = "instances"
# What judges and matchers are trained on.
JUDGEMENTS_CONFIG = "evaluation"
COVERAGE_CONFIG = "coverage"

_SHARD = r"(?P<split>\w+?)(?:-\d{5}-of-\d{5}(?:-[0-9a-f]+)?\.parquet|\.parquet|/\d+\.parquet)"
_CUPID_PART = re.compile(rf"(?:(?:data|default)/)?{_SHARD}")
_INSTANCE_FILE = re.compile(r"(?:instances/)?[^/]+\.json")
# Files of other tools that lie beside instances.
_NOT_INSTANCES = {"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "package.json"}

# Whose dialogues a question's evidence lies in: seen users are in `train`, unseen ones in `test`.
_DIALOGUES_OF = {"train": "train", "test_1": "train", "test_2": "test"}


def find_parts(paths: Iterable[str]) -> tuple[Benchmark, Parts] | None:
    """Which benchmark these files hold, and where its parts are; None where they hold neither."""
    visible = _visible(paths)
    if parts := find_configs(visible, HICUPID_CONFIGS):
        return "hicupid", parts
    splits: dict[str, list[str]] = {}
    for path in visible:
        if match := _CUPID_PART.fullmatch(path):
            splits.setdefault(match["split"], []).append(path)
    if not splits:
        files = [p for p in visible if _INSTANCE_FILE.fullmatch(p) and p.rsplit("/")[-1] not in _NOT_INSTANCES]
        splits = {"test": files} if files else {}
    return ("cupid", {CUPID_CONFIG: _in_order(splits)}) if splits else None


def find_configs(paths: Iterable[str], configs: Collection[str]) -> Parts:
    """The parts that lie in folders of these names. Where several folders hold such, the outermost is meant: the
    others are copies of somebody's.
    """
    part_of = re.compile(rf"(?P<root>(?:.*/)?)(?P<config>{'|'.join(configs)})/{_SHARD}")
    matches = [(p, m) for p in _visible(paths) if (m := part_of.fullmatch(p))]
    root = min((m["root"] for _, m in matches), key=lambda r: (r.count("/"), r), default="")
    parts: Parts = {}
    for path, part in matches:
        if part["root"] == root:
            parts.setdefault(part["config"], {}).setdefault(part["split"], []).append(path)
    return {config: _in_order(parts[config]) for config in configs if config in parts}


def _visible(paths: Iterable[str]) -> list[str]:
    """Hidden files and folders do not count."""
    return sorted(p for p in paths if not any(word.startswith(".") for word in p.split("/")))


def _in_order(splits: dict[str, list[str]]) -> dict[str, list[str]]:
    """`train` first, as everyone names them."""
    return dict(sorted(splits.items(), key=lambda item: (item[0] != "train", item[0])))


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


def dialogue_splits_for(question_splits: Iterable[str], available: Collection[str]) -> set[str]:
    """The dialogue splits that questions of these splits refer to; all, for a split of another name."""
    wanted: set[str] = set()
    for split in question_splits:
        known = _DIALOGUES_OF.get(split)
        if known is None or known not in available:
            return set(available)
        wanted.add(known)
    return wanted
