"""What CUPID's source code says besides its prompt files, read as data; nothing of a checkout is run.

persona_attributes    the options of personas: a literal in persona_template_sampler.py
series_structure      how a line of the sessions' structure is worded: three f-strings in sessions_generator.py
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowstring.benchmarks.cupid.attributes import AttributeOptions
from bowstring.errors import DataError
from bowstring.prompts.constants import read_constants
from bowstring.prompts.importing import read_source
from bowstring.prompts.templates import PromptFolder, check_inside

ATTRIBUTES = "synthesis/persona_attributes"
STRUCTURE = "synthesis/series_structure"
_FILES = {
    ATTRIBUTES: "synthesis/modules/persona_template_sampler.py",
    STRUCTURE: "synthesis/modules/sessions_generator.py",
}
_CONSTANT = "PERSONA_ATTRIBUTES"
_FIELDS = ("career_level", "personality_traits", "personal_values", "decision_making_styles")
LINES = ("changed", "original", "contrastive")  # in the order of the code
_NUMBER = "{id}"


def read_checkout(checkout: Path) -> dict[str, dict[str, Any]]:
    """Return what the code of a checkout says, by name; a name is missing if its file is."""
    found = {}
    for name, file in _FILES.items():
        path = checkout / file
        if path.is_file():
            check_inside(path, checkout)
            found[name] = (_attributes if name == ATTRIBUTES else _lines)(path)
    return found


def missing_from(found: Mapping[str, Any]) -> list[str]:
    return [name for name in _FILES if name not in found]


def _attributes(path: Path) -> dict[str, Any]:
    raw = read_constants(read_source(path), str(path)).get(_CONSTANT)
    options: dict[str, Any] = {}
    for name in _FIELDS:
        of_one = raw.get(name) if isinstance(raw, dict) else None
        listed = _texts(of_one.get("options")) if isinstance(of_one, dict) else None
        levels = _texts(of_one["levels"]) if isinstance(of_one, dict) and "levels" in of_one else [""]
        if not listed or not levels:
            raise DataError(f"{path}: {_CONSTANT}: expected a list of options of {name}")
        options[name] = [f"{level} {option}".strip() for option in listed for level in levels]
    return options


def _texts(value: Any) -> list[str] | None:
    return value if isinstance(value, list) and all(isinstance(one, str) for one in value) else None


def _lines(path: Path) -> dict[str, Any]:
    """Return the wording of the lines: the texts that the code appends, each with one number in it."""
    try:
        tree = ast.parse(read_source(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"{path}: cannot be parsed as Python: {error}") from error
    appended = [node.value for node in ast.walk(tree) if isinstance(node, ast.AugAssign)]
    worded = [node for node in appended if isinstance(node, ast.JoinedStr)]
    lines = [_line(node) for node in sorted(worded, key=lambda node: node.lineno)]
    if len(lines) != len(LINES) or any(line.count(_NUMBER) != 1 for line in lines):
        raise DataError(f"{path}: expected {len(LINES)} lines of a structure of sessions, each with a number")
    return dict(zip(LINES, lines, strict=True))


def _line(node: ast.JoinedStr) -> str:
    parts = (part.value if isinstance(part, ast.Constant) else _NUMBER for part in node.values)
    return "".join(map(str, parts)).removesuffix("\n")


def load_attributes(prompts: PromptFolder) -> AttributeOptions:
    """Return the imported options of personas."""
    raw = prompts.data(f"cupid/{ATTRIBUTES}")
    listed = [_texts(raw.get(name)) if isinstance(raw, dict) else None for name in _FIELDS]
    careers, traits, values, decisions = (tuple(options or ()) for options in listed)
    if not careers or not decisions or len(values) < 2 or len({t.partition(" ")[2] for t in traits}) < 2:
        raise DataError(f"prompt cupid/{ATTRIBUTES}: expected lists of {', '.join(_FIELDS)}")
    return AttributeOptions(careers, traits, values, decisions)


def load_structure(prompts: PromptFolder) -> dict[str, str]:
    """Return the imported wording of the sessions' structure: a line with {id} for each kind of session."""
    raw = prompts.data(f"cupid/{STRUCTURE}")
    lines = {name: raw.get(name) if isinstance(raw, dict) else None for name in LINES}
    if not all(isinstance(line, str) and _NUMBER in line for line in lines.values()):
        raise DataError(f"prompt cupid/{STRUCTURE}: expected {', '.join(LINES)}, each with {_NUMBER}")
    return {name: str(line) for name, line in lines.items()}


def line_of(wording: str, number: int) -> str:
    return wording.replace(_NUMBER, str(number))
