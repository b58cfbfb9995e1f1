"""What imports of upstream's prompts share: prompt files read as data, never executed, and written for `--prompts`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bowstring.errors import DataError, UsageError
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.files.writing import make_folder, write_file
from bowstring.prompts.templates import Template

_LARGEST = 1 << 20


@dataclass(slots=True)
class Imported:
    written: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # prompts that the checkout does not have
    commands: tuple[str, ...] = ("eval",)  # commands that use what was imported


def write_templates(out: Path, benchmark: str, templates: Mapping[str, Mapping[str, str]]) -> list[Path]:
    """Write templates by name into a benchmark's part of a folder for `--prompts`."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; expected one to write into")
    written = []
    for name, template in templates.items():
        *parts, last = name.split("/")
        target = make_folder(out, benchmark, *parts) / f"{last}.yaml"
        write_file(target, yaml.safe_dump(dict(template), sort_keys=False, allow_unicode=True, width=110))
        written.append(target)
    return written


def read_source(path: Path) -> str:
    """The text of a file of prompts."""
    if path.stat().st_size > _LARGEST:
        raise DataError(f"{path}: larger than a prompt can be")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def read_template(path: Path, needs: frozenset[str]) -> dict[str, str]:
    """A YAML file with `system_prompt` or `user_prompt`, or both, that has the places it needs."""
    try:
        raw: Any = parse_safe_yaml(read_source(path))
    except ParseError as error:
        raise DataError(f"{path}: not YAML: {error}") from error
    prompts = {k: raw[k] for k in ("system_prompt", "user_prompt") if isinstance(raw, dict) and k in raw}
    if not prompts or not all(isinstance(text, str) for text in prompts.values()):
        raise DataError(f"{path}: expected system_prompt or user_prompt, as text")
    found = Template(path.stem, prompts.get("system_prompt"), prompts.get("user_prompt")).placeholders
    if missing := needs - found:
        raise DataError(f"{path}: has no place for {', '.join(f'{{{m}}}' for m in sorted(missing))}")
    return prompts
