"""Upstream's prompts, read as data from a checkout of the user's, never executed.

CUPID keeps `prompts/{evaluation,synthesis}/NAME.yaml` with `system_prompt` and `user_prompt`: they are checked and
copied into a folder for `--prompts`, word for word. HiCUPID keeps its prompts in `src/constants.py`, assignments of
literals: the file is parsed, and nothing in it is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bowstring.errors import DataError, UsageError
from bowstring.files.plain_yaml import NotPlain, read_yaml
from bowstring.files.writing import make_folder, write_file
from bowstring.prompts.constants import NotData, read_constants
from bowstring.prompts.templates import Template, check_inside

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


# HiCUPID's instructions, and the templates they become.
HICUPID_ASKING: dict[str, str] = {
    "zero/system": "ask",
    "zero/user": "ask_user",
    **{f"few/system/{n}": f"ask_{n}" for n in (1, 3, 5)},
    **{f"few/user/{n}": f"ask_user_{n}" for n in (1, 3, 5)},
}
# What HiCUPID's judges must have a place for.
_COMPARED = frozenset({"relation", "entity", "question", "answer_a", "answer_b"})
HICUPID_JUDGES: dict[str, frozenset[str]] = {
    "persona": _COMPARED,
    "profile": _COMPARED | {"age", "occupation"},
    "schedule": frozenset({"datetime", "event", "question", "answer"}),
}


_PERSONA = frozenset({"category", "sentiment"})
HICUPID_MAY: dict[str, frozenset[str]] = {
    "persona": _PERSONA,
    "profile": _PERSONA | {"gender", "personality", "income_range"},
    "schedule": frozenset(),
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
            check_inside(path, checkout)
            templates[name] = _read(path, needs)
        else:
            done.missing.append(name)
    if not templates:
        raise DataError(f"{root}: none of CUPID's prompt files is there, such as evaluation/preference_inferrer.yaml")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; expected one to write into")
    done.written = _write(out / "cupid", templates)
    return done


def import_hicupid(checkout: Path, out: Path) -> Imported:
    """Read the prompts of a HiCUPID checkout, or of its constants file, into `out`. An error where it has none."""
    candidates = (checkout,) if checkout.is_file() else (checkout / "src" / "constants.py", checkout / "constants.py")
    path = next((c for c in candidates if c.is_file()), None)
    if path is None:
        raise DataError(f"{checkout}: no src/constants.py; expected a checkout of HiCUPID, or that file")
    check_inside(path, checkout if checkout.is_dir() else path.parent)
    constants = read_constants(_text(path), str(path))
    templates, missing = {}, []
    for key, name in HICUPID_ASKING.items():
        found = _entry(constants, path, "INFERENCE_PROMPTS", key)
        if found is None:
            missing.append(name)
        else:
            templates[name] = _asking(_messages(found, path, f"INFERENCE_PROMPTS[{key!r}]"), path, key)
    for key, needs in HICUPID_JUDGES.items():
        found = _entry(constants, path, "EVALUATION_PROMPTS", key)
        if found is None:
            missing.append(f"judge_{key}")
        else:
            templates[f"judge_{key}"] = _judging(
                _messages(found, path, f"EVALUATION_PROMPTS[{key!r}]"), path, key, needs
            )
    if not templates:
        raise DataError(f"{path}: neither INFERENCE_PROMPTS nor EVALUATION_PROMPTS is there; expected HiCUPID's file")
    if out.exists() and not out.is_dir():
        raise UsageError(f"{out} is not a folder; expected one to write into")
    return Imported(_write(out / "hicupid", templates), missing)


def _write(folder: Path, templates: Mapping[str, Mapping[str, str]]) -> list[Path]:
    written = []
    for name, template in templates.items():
        target = make_folder(folder.parent, folder.name, *name.split("/")[:-1]) / f"{name.rpartition('/')[2]}.yaml"
        write_file(target, yaml.safe_dump(dict(template), sort_keys=False, allow_unicode=True, width=110))
        written.append(target)
    return written


def _entry(constants: Mapping[str, Any], path: Path, name: str, key: str) -> Any:
    table = constants.get(name)
    found = table.get(key) if isinstance(table, dict) else table
    if (line := _line_of_what_is_no_data(found)) is not None:
        where = f"{name}[{key!r}]" if isinstance(table, dict) else name
        raise DataError(f"{path} line {line}: {where} is not plain data; expected texts, lists and .strip()")
    return found if isinstance(table, dict) else None


def _line_of_what_is_no_data(value: Any) -> int | None:
    """Each part is looked at once, however often it stands there: names can double a list on every line."""
    left, seen = [value], set()
    while left:
        one = left.pop()
        if isinstance(one, NotData):
            return one.line
        if isinstance(one, dict | list | tuple) and id(one) not in seen:
            seen.add(id(one))
            left += reversed(list(one.values() if isinstance(one, dict) else one))
    return None


def _messages(found: Any, path: Path, where: str) -> list[dict[str, str]]:
    """A prompt as a list of messages, whether it stands as a list, a message or a text."""
    found = [{"role": "user", "content": found}] if isinstance(found, str) else found
    found = [found] if isinstance(found, dict) else found
    sound = isinstance(found, list) and all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str) for m in found
    )
    if not sound or not found:
        raise DataError(f"{path}: {where}: expected messages with a role and a content")
    return list(found)


def _asking(messages: list[dict[str, str]], path: Path, key: str) -> dict[str, str]:
    """An instruction, which is sent as it is: braces in it are no places."""
    roles = [m["role"] for m in messages]
    if roles != (["system"] if "system" in key else ["user", "assistant"]):
        raise DataError(
            f"{path}: INFERENCE_PROMPTS[{key!r}]: expected a system message, or a user's and an assistant's"
        )
    texts = [m["content"] for m in messages]
    if roles == ["system"]:
        return {"system_prompt": _literal(texts[0])}
    return {"user_prompt": _literal(texts[0]), "assistant_prompt": texts[1]}


def _judging(messages: list[dict[str, str]], path: Path, key: str, needs: frozenset[str]) -> dict[str, str]:
    if [m["role"] for m in messages] != ["user"]:
        raise DataError(f"{path}: EVALUATION_PROMPTS[{key!r}]: expected one user message")
    text = messages[0]["content"]
    if missing := needs - Template(key, None, text).placeholders:
        places = ", ".join(f"{{{m}}}" for m in sorted(missing))
        raise DataError(f"{path}: EVALUATION_PROMPTS[{key!r}] has no place for {places}")
    if unknown := Template(key, None, text).placeholders - needs - HICUPID_MAY[key]:
        raise DataError(f"{path}: EVALUATION_PROMPTS[{key!r}] asks for {{{min(unknown)}}}, which is not known here")
    return {"user_prompt": text}


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _text(path: Path) -> str:
    if path.stat().st_size > _LARGEST:
        raise DataError(f"{path}: larger than a prompt can be")
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: cannot be read: {error}") from error


def _read(path: Path, needs: frozenset[str]) -> dict[str, str]:
    try:
        raw: Any = read_yaml(_text(path))
    except NotPlain as error:
        raise DataError(f"{path}: not YAML: {error}") from error
    prompts = {k: raw[k] for k in ("system_prompt", "user_prompt") if isinstance(raw, dict) and k in raw}
    if not prompts or not all(isinstance(text, str) for text in prompts.values()):
        raise DataError(f"{path}: expected system_prompt or user_prompt, as text")
    found = Template(path.stem, prompts.get("system_prompt"), prompts.get("user_prompt")).placeholders
    if missing := needs - found:
        raise DataError(f"{path}: has no place for {', '.join(f'{{{m}}}' for m in sorted(missing))}")
    return prompts
