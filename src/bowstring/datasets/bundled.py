"""Small data sets bundled with a benchmark: one YAML file per user or persona."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence
from importlib.resources import files
from typing import Any

import yaml

from bowstring.datasets.problems import join_choices
from bowstring.errors import MissingSplit


def read_documents(package: str) -> tuple[list[dict[str, Any]], str]:
    """Return the YAML files of a package in name order, and a hash of their bytes."""
    whole = hashlib.sha256()
    documents = []
    entries = files(package).iterdir()
    for entry in sorted((e for e in entries if e.name.endswith(".yaml")), key=lambda e: e.name):
        content = entry.read_bytes()
        whole.update(content)
        documents.append(yaml.load(content, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader)))  # noqa: S506
    return documents, whole.hexdigest()


def check_splits(name: str, available: Sequence[str], splits: Collection[str]) -> None:
    for split in splits:
        if split not in available:
            raise MissingSplit(f"{name} has no split {split!r}; it has {join_choices(available)}", available)
