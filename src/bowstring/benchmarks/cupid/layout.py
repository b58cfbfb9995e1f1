"""CUPID's files: test.parquet, or one JSON file per instance (raw data: per persona); and coverage/*.parquet, which is
ours."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from bowstring.datasets.layout import SHARD, Choice, Parts, SetLocation, order_splits, visible_files

CONFIG = "instances"
COVERAGE_CONFIG = "coverage"  # a matcher's labels, the training data of matchers
_PART = re.compile(rf"(?:(?:data|default)/)?{SHARD}")
_INSTANCE_FILE = re.compile(r"(?:instances/)?[^/]+\.json")
# JSON files beside the instances that are not instances: those of other tools and of our own generators.
_NOT_INSTANCES = {"dataset_infos.json", "dataset_info.json", "dataset_dict.json", "state.json", "package.json"}
_NOT_INSTANCES |= {"made.json", "quality.json", "truth.json", "personas.json", "audit.json"}
_INSTANCES = "instances/"
_RAW_FILE = re.compile(r"data/[^/]+\.json")


class CupidFormat:
    benchmark = "cupid"
    configs: tuple[str, ...] = (CONFIG,)
    default_configs: tuple[str, ...] = (CONFIG,)
    items = CONFIG
    expected = "test.parquet or one JSON file per instance (CUPID)"

    def find_parts(self, paths: Sequence[str]) -> Parts | None:
        listed = visible_files(paths)
        splits: dict[str, list[str]] = {}
        for path in listed:
            if match := _PART.fullmatch(path):
                splits.setdefault(match["split"], []).append(path)
        if not splits:
            files = [p for p in listed if _INSTANCE_FILE.fullmatch(p) and p.rsplit("/")[-1] not in _NOT_INSTANCES]
            # The output folder of CUPID's pipeline has its instances here, beside other JSON files.
            files = [p for p in files if p.startswith(_INSTANCES)] or files
            files = files or [p for p in listed if _RAW_FILE.fullmatch(p)]
            splits = {"test": files} if files else {}
        return {CONFIG: order_splits(splits)} if splits else None

    def around_file(self, path: Path) -> SetLocation | None:
        """A parquet file is read as a table of instances, a JSON file as one instance."""
        return SetLocation(path.parent, {CONFIG: {"test": [path.name]}})

    def narrowed(self, parts: Parts, choice: Choice) -> Parts:
        wanted = choice.of(parts[CONFIG])
        return {CONFIG: {s: f for s, f in parts[CONFIG].items() if s in wanted}}
