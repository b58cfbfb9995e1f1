"""Import of HiCUPID's own prompts from a checkout. `src/constants.py` is parsed as literals and never executed."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowstring.errors import DataError
from bowstring.prompts.constants import NotData, read_constants
from bowstring.prompts.importing import Imported, read_source, write_templates
from bowstring.prompts.templates import Template, check_inside

# The keys of HiCUPID's instructions -> our template names.
_ASKING: dict[str, str] = {
    "zero/system": "ask",
    "zero/user": "ask_user",
    **{f"few/system/{n}": f"ask_{n}" for n in (1, 3, 5)},
    **{f"few/user/{n}": f"ask_user_{n}" for n in (1, 3, 5)},
}
# The placeholders that the judge prompts need.
_COMPARED = frozenset({"relation", "entity", "question", "answer_a", "answer_b"})
_JUDGES: dict[str, frozenset[str]] = {
    "persona": _COMPARED,
    "profile": _COMPARED | {"age", "occupation"},
    "schedule": frozenset({"datetime", "event", "question", "answer"}),
}


_PERSONA = frozenset({"category", "sentiment"})
_MAY: dict[str, frozenset[str]] = {
    "persona": _PERSONA,
    "profile": _PERSONA | {"gender", "personality", "income_range"},
    "schedule": frozenset(),
}


def import_prompts(checkout: Path, out: Path) -> Imported:
    """Read the prompts of a HiCUPID checkout, or of its constants file, into `out`; DataError if there are none."""
    candidates = (checkout,) if checkout.is_file() else (checkout / "src" / "constants.py", checkout / "constants.py")
    path = next((c for c in candidates if c.is_file()), None)
    if path is None:
        raise DataError(f"{checkout}: no src/constants.py; expected a checkout of HiCUPID, or that file")
    check_inside(path, checkout if checkout.is_dir() else path.parent)
    constants = read_constants(read_source(path), str(path))
    templates, missing = {}, []
    for key, name in _ASKING.items():
        found = _entry(constants, path, "INFERENCE_PROMPTS", key)
        if found is None:
            missing.append(name)
        else:
            templates[name] = _asking(_messages(found, path, f"INFERENCE_PROMPTS[{key!r}]"), path, key)
    for key, needs in _JUDGES.items():
        found = _entry(constants, path, "EVALUATION_PROMPTS", key)
        if found is None:
            missing.append(f"judge_{key}")
        else:
            templates[f"judge_{key}"] = _judging(
                _messages(found, path, f"EVALUATION_PROMPTS[{key!r}]"), path, key, needs
            )
    if not templates:
        raise DataError(f"{path}: has neither INFERENCE_PROMPTS nor EVALUATION_PROMPTS; expected HiCUPID's file")
    return Imported(write_templates(out, "hicupid", templates), missing)


def _entry(constants: Mapping[str, Any], path: Path, name: str, key: str) -> Any:
    table = constants.get(name)
    found = table.get(key) if isinstance(table, dict) else table
    if (line := _line_of_code(found)) is not None:
        where = f"{name}[{key!r}]" if isinstance(table, dict) else name
        raise DataError(f"{path} line {line}: {where} is not plain data; expected texts, lists and .strip()")
    return found if isinstance(table, dict) else None


def _line_of_code(value: Any) -> int | None:
    """The line of the first part that is code and not data. Each part is visited once, because a file can double a list
    on every line."""
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
    """A prompt as a list of messages; the file may have a list, one message or a text."""
    found = [{"role": "user", "content": found}] if isinstance(found, str) else found
    found = [found] if isinstance(found, dict) else found
    sound = isinstance(found, list) and all(
        isinstance(m, dict) and isinstance(m.get("role"), str) and isinstance(m.get("content"), str) for m in found
    )
    if not sound or not found:
        raise DataError(f"{path}: {where}: expected messages with role and content")
    return list(found)


def _asking(messages: list[dict[str, str]], path: Path, key: str) -> dict[str, str]:
    """The template of an instruction. It is sent unchanged, so its braces are escaped: they are not placeholders."""
    roles = [m["role"] for m in messages]
    if roles != (["system"] if "system" in key else ["user", "assistant"]):
        raise DataError(
            f"{path}: INFERENCE_PROMPTS[{key!r}]: expected one system message, or a user and an assistant message"
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
        names = ", ".join(f"{{{m}}}" for m in sorted(missing))
        raise DataError(f"{path}: EVALUATION_PROMPTS[{key!r}] lacks the placeholder {names}")
    if unknown := Template(key, None, text).placeholders - needs - _MAY[key]:
        raise DataError(f"{path}: EVALUATION_PROMPTS[{key!r}] has the unknown placeholder {{{min(unknown)}}}")
    return {"user_prompt": text}


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")
