"""Import of CUPID's own prompts from a checkout: `prompts/{evaluation,synthesis}/NAME.yaml`, copied unchanged; and what
its code fills into them: the matcher's examples, and words of the synthesis. The code is read as data and never run."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from bowstring.benchmarks.cupid.checkout import missing_from, read_checkout
from bowstring.errors import DataError
from bowstring.files.writing import make_folder, write_file
from bowstring.prompts.importing import Imported, read_source, read_template, write_templates
from bowstring.prompts.templates import check_inside

EXAMPLES_NAME = "matcher_examples"

# The placeholders that each upstream file needs, in its system and user prompt together.
FILES: dict[str, frozenset[str]] = {
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


def import_prompts(checkout: Path, out: Path) -> Imported:
    """Check the prompts of a CUPID checkout and copy them into `out`; DataError if there are none."""
    root = next((r for r in (checkout / "prompts", checkout) if (r / "evaluation").is_dir()), None)
    if root is None:
        raise DataError(f"{checkout}: no prompts/evaluation folder; expected a checkout of CUPID")
    done = Imported(commands=("eval", "synth"))
    templates: dict[str, Mapping[str, Any]] = {}
    for name, needs in FILES.items():
        path = root / f"{name}.yaml"
        if path.is_file():
            check_inside(path, checkout)
            templates[name] = read_template(path, needs)
        else:
            done.missing.append(name)
    if not templates:
        raise DataError(f"{root}: has no CUPID prompt file, such as evaluation/preference_inferrer.yaml")
    from_code = read_checkout(checkout)
    done.missing += missing_from(from_code)
    templates |= from_code
    done.written = write_templates(out, "cupid", templates)
    source = checkout / "evaluation" / "modules" / "preference_matcher.py"
    if source.is_file():
        check_inside(source, checkout)
        target = make_folder(out, "cupid") / f"{EXAMPLES_NAME}.yaml"
        write_file(target, yaml.safe_dump({"examples": _examples(source)}, sort_keys=False, allow_unicode=True))
        done.written.append(target)
    else:
        done.missing.append(EXAMPLES_NAME)
    return done


def _examples(path: Path) -> list[dict[str, Any]]:
    """Return the examples of the matcher: a literal list of preferences with checklists and scores."""
    try:
        tree = ast.parse(read_source(path))
        assigned = (node.value for node in tree.body if isinstance(node, ast.Assign) and _names(node) == ["EXAMPLES"])
        found = ast.literal_eval(next(assigned))
    except (SyntaxError, ValueError, StopIteration, RecursionError, MemoryError) as error:
        raise DataError(f"{path}: has no list EXAMPLES that can be read") from error
    if not isinstance(found, list) or not all(map(_is_example, found)):
        raise DataError(f"{path}: EXAMPLES: expected preferences with checklists and scores")
    labels = {1: "Fully Covered", 0.5: "Partially Covered"}
    return [
        {
            "preference": one["preference"],
            "checklist": {item: labels.get(score, "Not Covered") for item, score in one["checklist"].items()},
        }
        for one in found
    ]


def _names(node: ast.Assign) -> list[str]:
    return [target.id for target in node.targets if isinstance(target, ast.Name)]


def _is_example(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("preference"), str):
        return False
    listed = value.get("checklist")
    return isinstance(listed, dict) and all(
        isinstance(item, str) and isinstance(score, int | float) for item, score in listed.items()
    )
