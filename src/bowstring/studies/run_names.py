"""Short names for runs that are shown side by side, made of what differs between their configurations.

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


def short_names(configurations: Sequence[Configuration], folders: Sequence[str]) -> list[str]:
    """A name for each run, no two alike; where configurations do not tell runs apart, their folders do."""
    told = [
        *(_of_role(role, [c.get(role) for c in configurations]) for role in _ROLES),
        *(_of_setting(name, [c["settings"].get(name) for c in configurations]) for name in _settings(configurations)),
        _of_prompts([c.get("prompts", {}) for c in configurations]),
    ]
    names = [", ".join(part for part in parts if part) for parts in zip(*told, strict=True)]
    return [
        folder if not name else name if names.count(name) == 1 else f"{name} ({folder})"
        for name, folder in zip(names, _unlike(folders, _last), strict=True)
    ]


def folder_names(folders: Sequence[Path]) -> list[str]:
    """Each folder by its own name, with as many of those above it as tell it from the others: a/run and b/run."""
    parts = [folder.resolve().parts for folder in folders]
    names = []
    for own in parts:
        others = [other for other in parts if other != own]
        deep = next((n for n in range(1, len(own)) if all(o[-n:] != own[-n:] for o in others)), len(own))
        names.append("/".join(own[-deep:]))
    return names


def _settings(configurations: Sequence[Configuration]) -> list[str]:
    return list(dict.fromkeys(name for c in configurations for name in c["settings"]))


def _of_role(role: str, models: Sequence[str | None]) -> list[str]:
    if len(set(models)) == 1:
        return [""] * len(models)
    before = "" if role == "model" else f"{role} "
    return [f"{before}{short}" for short in _unlike([m or "none" for m in models], _short_model)]


def _of_setting(name: str, values: Sequence[Any]) -> list[str]:
    if len({json.dumps(value) for value in values}) == 1:
        return [""] * len(values)
    return [_told(name, value) for value in values]


def _told(name: str, value: Any) -> str:
    words = name.replace("_", " ")
    if value is None:
        return ""
    if isinstance(value, bool):
        return words if value else "one order" if name == "both_orders" else f"no {words}"
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
    """Only templates that all of them used: another number of examples uses others, and says so itself."""
    common = set.intersection(*(set(p) for p in prompts))
    changed = sorted(name for name in common if len({p[name] for p in prompts}) > 1)
    if not changed:
        return [""] * len(prompts)
    return [f"prompts {''.join(p[name][:4] for name in changed)[:8]}" for p in prompts]


def _unlike(names: Sequence[str], shorten: Callable[[str], str]) -> list[str]:
    """Each name shortened, as long as no two that differ become alike."""
    short = {name: shorten(name) for name in names}
    taken = list(short.values())
    return [short[name] if taken.count(short[name]) == 1 else name for name in names]


def _short_model(name: str) -> str:
    """A model's last name: without provider, server, folders and the hash of its code."""
    without = re.sub(r"#\w+$", "", name).partition("@")[0]
    if without.startswith("python:"):
        return without.rpartition(":")[2] or without
    return "+".join(_last(part) for part in without.split("+")) or name


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1] or path
