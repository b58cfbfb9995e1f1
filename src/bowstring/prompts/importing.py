"""Shared code of prompt imports: read upstream prompt files as data, never executing them, and write `--prompts`
folders."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bowstring.errors import DataError, UsageError
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.files.writing import make_folder, write_file
from bowstring.prompts.templates import MANIFEST, Template, text_hash

_LARGEST = 1 << 20


@dataclass(slots=True)
class Imported:
    written: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # prompts missing from the checkout
    commands: tuple[str, ...] = ("eval",)  # commands that use the imported prompts


def write_templates(out: Path, benchmark: str, templates: Mapping[str, Mapping[str, Any]]) -> list[Path]:
    """Write templates, and data for them, by name into a benchmark's part of a `--prompts` folder."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; expected one to write into")
    written = []
    for name, template in templates.items():
        *parts, last = name.split("/")
        target = make_folder(out, benchmark, *parts) / f"{last}.yaml"
        write_file(target, yaml.safe_dump(dict(template), sort_keys=False, allow_unicode=True, width=110))
        written.append(target)
    return written


def write_manifest(out: Path, benchmark: str, done: Imported) -> None:
    """Record the hashes of what was imported: a file that is changed later is noticed (`changed_since_import`)."""
    names = (file.relative_to(out).with_suffix("").as_posix() for file in done.written)
    hashes = {name: text_hash(file.read_text(encoding="utf-8")) for name, file in zip(names, done.written, strict=True)}
    write_file(out / benchmark / MANIFEST, json.dumps({"files": dict(sorted(hashes.items()))}, indent=2) + "\n")


def read_source(path: Path) -> str:
    """Return the text of a prompt file."""
    if path.stat().st_size > _LARGEST:
        raise DataError(f"{path}: too large for a prompt file")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def read_template(path: Path, needs: frozenset[str]) -> dict[str, str]:
    """Read a YAML file with `system_prompt`, `user_prompt` or both, and check that it has the needed placeholders."""
    try:
        raw: Any = parse_safe_yaml(read_source(path))
    except ParseError as error:
        raise DataError(f"{path}: not YAML: {error}") from error
    prompts = {k: raw[k] for k in ("system_prompt", "user_prompt") if isinstance(raw, dict) and k in raw}
    if not prompts or not all(isinstance(text, str) for text in prompts.values()):
        raise DataError(f"{path}: expected system_prompt or user_prompt, as text")
    found = Template(path.stem, prompts.get("system_prompt"), prompts.get("user_prompt")).placeholders
    if missing := needs - found:
        raise DataError(f"{path}: has no placeholder {', '.join(f'{{{m}}}' for m in sorted(missing))}")
    return prompts
