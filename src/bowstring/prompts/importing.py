"""Upstream's prompts, read as data from a checkout of the user's, never executed.

CUPID keeps `prompts/{evaluation,synthesis}/NAME.yaml` with `system_prompt` and `user_prompt`: they are checked and
copied into a folder for `--prompts`, word for word.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bowstring.errors import DataError, UsageError
from bowstring.prompts.templates import Template

_LARGEST = 1 << 20

# What each file of upstream's must have a place for, system and user prompt together.
CUPID_FILES: dict[str, frozenset[str]] = {
    "evaluation/preference_inferrer": frozenset({"interaction_log", "curr_request"}),
    "evaluation/preference_matcher": frozenset({"preference", "checklist"}),
    "evaluation/preference_matcher_model": frozenset({"preference", "checklist"}),
    "evaluation/response_generator": frozenset({"interaction_log", "curr_request"}),
    "evaluation/response_judger": frozenset({"preference", "checklist", "user_request", "ai_response"}),
    "synthesis/persona_generator": frozenset({"seed_descriptions"}),
    "synthesis/context_factors_generator": frozenset({"n_factors", "user_persona"}),
    "synthesis/sessions_generator": frozenset({"n_sessions", "user_persona", "context_factors"}),
    "synthesis/preference_decomposer": frozenset({"preferences"}),
    "synthesis/user_simulator": frozenset({"preference", "checklist"}),
    "synthesis/assistant_simulator": frozenset(),
}


@dataclass(slots=True)
class Imported:
    written: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def import_cupid(checkout: Path, out: Path) -> Imported:
    """Copy the prompts of a CUPID checkout into `out`, checked. An error where it has none at all."""
    root = next((r for r in (checkout / "prompts", checkout) if (r / "evaluation").is_dir()), None)
    if root is None:
        raise DataError(f"{checkout}: no prompts/evaluation folder; expected a checkout of CUPID")
    done = Imported()
    templates = {}
    for name, needs in CUPID_FILES.items():
        path = root / f"{name}.yaml"
        if path.is_file():
            templates[name] = _read(path, needs)
        else:
            done.missing.append(name)
    if not templates:
        raise DataError(f"{root}: none of CUPID's prompt files is there, such as evaluation/preference_inferrer.yaml")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; expected one to write into")
    for name, template in templates.items():
        target = out / "cupid" / f"{name}.yaml"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(yaml.safe_dump(template, sort_keys=False, allow_unicode=True, width=110), encoding="utf-8")
        done.written.append(target)
    return done


def _read(path: Path, needs: frozenset[str]) -> dict[str, str]:
    if path.stat().st_size > _LARGEST:
        raise DataError(f"{path}: larger than a prompt can be")
    try:
        raw: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise DataError(f"{path}: not YAML: {' '.join(str(error).split())[:200]}") from error
    prompts = {k: raw[k] for k in ("system_prompt", "user_prompt") if isinstance(raw, dict) and k in raw}
    if not prompts or not all(isinstance(text, str) for text in prompts.values()):
        raise DataError(f"{path}: expected system_prompt or user_prompt, as text")
    found = Template(path.stem, prompts.get("system_prompt"), prompts.get("user_prompt")).placeholders
    if missing := needs - found:
        raise DataError(f"{path}: has no place for {', '.join(f'{{{m}}}' for m in sorted(missing))}")
    return prompts
