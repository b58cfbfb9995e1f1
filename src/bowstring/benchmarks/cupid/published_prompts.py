"""CUPID's prompts as published: the authors' templates, with their form of logs and examples."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.cupid.prompts import NAMES, CupidPrompts
from bowstring.benchmarks.judges import missing_prompts
from bowstring.errors import UsageError
from bowstring.prompts import PromptFolder
from bowstring.records import Dialogue

_NEEDED = (
    "evaluation/preference_inferrer",
    "evaluation/response_generator",
    "evaluation/preference_matcher",
    "evaluation/response_judger",
    "synthesis/preference_decomposer",
    "matcher_examples",
)


class PublishedPrompts(CupidPrompts):
    def __init__(self, folder: PromptFolder, *, matcher: str | None, openai: Collection[str]) -> None:
        """`matcher` is the name of a model; without one the judge matches. The roles of `openai` (judge, matcher) get
        what they are told first in the role `developer`."""
        if missing := [name for name in _NEEDED if not folder.has_override(f"cupid/{name}")]:
            raise UsageError(missing_prompts(f"cupid/{missing[0]}"))
        if "judge" in openai:
            self._judge_role = "developer"
        if ("judge" if matcher is None else "matcher") in openai:
            self._matcher_role = "developer"
        super().__init__(folder, oracle=False, matcher=matcher, verdicts="text")

    def session(self, dialogue: Dialogue) -> str:
        return "".join(f"#### {NAMES[m.role]}\n\n{m.text}\n\n" for m in dialogue.messages)

    @staticmethod
    def log(sessions: Sequence[str]) -> str:
        return "".join(f"### Session {n}\n\n{text}---\n\n" for n, text in enumerate(sessions, 1)).strip()

    @staticmethod
    def examples(found: Sequence[Mapping[str, Any]]) -> str:
        shown = []
        for example in found:
            results = [
                {"index": n, "entry": entry, "label": label}
                for n, (entry, label) in enumerate(example["checklist"].items(), 1)
            ]
            output = json.dumps({"results": results}, indent=2)
            shown.append(f"#### Preference\n\n{example['preference']}\n\n#### Output\n\n```json\n{output}\n```\n\n---")
        return "\n\n".join(shown)
