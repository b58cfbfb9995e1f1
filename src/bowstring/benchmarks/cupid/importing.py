"""Import of CUPID's own prompts from a checkout: `prompts/{evaluation,synthesis}/NAME.yaml`, copied unchanged; and what
its synthesis fills into them, from its source code, which is read as data."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowstring.benchmarks.cupid.checkout import missing_from, read_checkout
from bowstring.errors import DataError
from bowstring.prompts.importing import Imported, read_template, write_templates
from bowstring.prompts.templates import check_inside

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
    return done
