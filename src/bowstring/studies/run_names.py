"""Short names for runs in a comparison, built from the differences between their configurations.

openai/gpt-4o-mini, full     openai/gpt-4o-mini, gold        ->  full    gold
openai/a@gpu-box/v1          hf/models/b+out/adapter         ->  a       b+adapter
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

Configuration = Mapping[str, Any]
_ROLES = ("model", "judge", "matcher", "retriever")
_OF_THOUGHTS = ("template_args", "thinking_tokens")


def short_names(configurations: Sequence[Configuration], folders: Sequence[str]) -> list[str]:
    """A unique name for each run; runs with the same configuration are named by their folders."""
    parts_by_source = [
        *(_of_role(role, [c.get(role) for c in configurations]) for role in _ROLES),
        *(_of_setting(name, [c.get(name) for c in configurations]) for name in _OF_THOUGHTS),
        *(_of_setting(name, [c["settings"].get(name) for c in configurations]) for name in _settings(configurations)),
        _of_prompts([c.get("prompts", {}) for c in configurations]),
    ]
    names = [", ".join(part for part in parts if part) for parts in zip(*parts_by_source, strict=True)]
    return [
        folder if not name else name if names.count(name) == 1 else f"{name} ({folder})"
        for name, folder in zip(names, _shorten_all(folders, _last), strict=True)
    ]


def folder_names(folders: Sequence[Path]) -> list[str]:
    """The name of each folder, with as many parent folders as make it unique: a/run and b/run."""
    parts = [folder.resolve().parts for folder in folders]
    names = []
    for path in parts:
        others = [other for other in parts if other != path]
        depth = next((n for n in range(1, len(path)) if all(o[-n:] != path[-n:] for o in others)), len(path))
        names.append("/".join(path[-depth:]))
    return names


def _settings(configurations: Sequence[Configuration]) -> list[str]:
    return list(dict.fromkeys(name for c in configurations for name in c["settings"]))


def _of_role(role: str, models: Sequence[str | None]) -> list[str]:
    if len(set(models)) == 1:
        return [""] * len(models)
    before = "" if role == "model" else f"{role} "
    return [f"{before}{short}" for short in _shorten_all([m or "none" for m in models], _short_model)]


def _of_setting(name: str, values: Sequence[Any]) -> list[str]:
    if len({json.dumps(value) for value in values}) == 1:
        return [""] * len(values)
    return [_setting_label(name, value) for value in values]


def _setting_label(name: str, value: Any) -> str:
    words = name.replace("_", " ")
    if value is None:
        return ""
    if isinstance(value, bool):
        return words if value else "one order" if name == "both_orders" else f"no {words}"
    if isinstance(value, dict):
        return " ".join(f"{key}={json.dumps(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return "+".join(map(str, value)) or f"all {words}"
    match name:
        case "history" | "task":
            return str(value)
        case "shots":
            return f"{value}-shot"
        case "instruction":
            return f"{value} instruction"
    return f"{words} {value}"


def _of_prompts(prompts: Sequence[Mapping[str, str]]) -> list[str]:
    """Prompt hashes, of the templates that all runs used: another number of examples is named by its setting."""
    common = set.intersection(*(set(p) for p in prompts))
    changed = sorted(name for name in common if len({p[name] for p in prompts}) > 1)
    if not changed:
        return [""] * len(prompts)
    return [f"prompts {''.join(p[name][:4] for name in changed)[:8]}" for p in prompts]


def _shorten_all(names: Sequence[str], shorten: Callable[[str], str]) -> list[str]:
    """Each name shortened, unless two different names would become equal."""
    short = {name: shorten(name) for name in names}
    taken = list(short.values())
    return [short[name] if taken.count(short[name]) == 1 else name for name in names]


def _short_model(name: str) -> str:
    """A model name without provider, server, folders and code hash."""
    without = re.sub(r"#\w+$", "", name).partition("@")[0]
    if without.startswith("python:"):
        return without.rpartition(":")[2] or without
    return "+".join(_last(part) for part in without.split("+")) or name


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path
