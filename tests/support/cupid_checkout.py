"""A checkout of CUPID in our own words: the same files, placeholders and constants; and a model that answers it.

    checkout = write_checkout(tmp_path / "CUPID")
    with Server(PublishedWriter().answer) as server: ...

The writer answers in the form that the authors' code reads. `spoil` may replace an answer, as in `Writer`.
"""

import ast
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from tests.support.server import text_of
from tests.support.writer import word

PROMPTS = {
    "persona_generator": ("Invent the people {{as JSON}}.", "Seeds:\n\n{seed_descriptions}"),
    "context_factors_generator": ("List {n_factors} factors.", "Who: {user_persona}"),
    "sessions_generator": (
        "Write {n_sessions} sessions:\n{series_structure}\nA and B are {first_factor} | {second_factor}",
        "Who: {user_persona}\n\n```yaml\n{context_factors}\n```",
    ),
    "preference_decomposer": ("Split it. {{}}", "It: {preferences}"),
    "user_simulator": ("Play {user_profile}; {context_factor}; {preference}\n{checklist}", None),
    "assistant_simulator": ("Help in few words.", None),
}
SAMPLER = """
from datasets import load_dataset
PERSONA_ATTRIBUTES = {
    "career_level": {"n_choices": 1, "options": ["new", "old"]},
    "personality_traits": {"n_choices": 2, "options": ["Calm at Sea", "Wit"], "levels": ["High", "Low"]},
    "personal_values": {"n_choices": 2, "options": ["Tea", "Salt", "Rest"]},
    "decision_making_styles": {"n_choices": 1, "options": ["Coin"]},
}
raise SystemExit("it was run")
"""
GENERATOR = """
class SessionsGenerator:
    def structure(self, n):
        text = ""
        for i in range(n):
            if i > 5:
                text += f"  * No. {i+1}: A, changed to A'\\n"
            elif i > 3:
                text += f"  * No. {i+1}: A as it was\\n"
            else:
                text += f"  * No. {i+1}: B\\n"
        return text
"""
CHANGED = "Texts name one price\nand end on a question.\n"


def write_checkout(folder: Path) -> Path:
    for name, (system, user) in PROMPTS.items():
        path = folder / "prompts" / "synthesis" / f"{name}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        texts = {"system_prompt": system} | ({"user_prompt": user} if user else {})
        path.write_text(yaml.safe_dump(texts), encoding="utf-8")
    (folder / "prompts" / "evaluation").mkdir()
    modules = folder / "synthesis" / "modules"
    modules.mkdir(parents=True)
    (modules / "persona_template_sampler.py").write_text(SAMPLER, encoding="utf-8")
    (modules / "sessions_generator.py").write_text(GENERATOR, encoding="utf-8")
    return folder


class PublishedWriter:
    """`main` is which of the pair, 0 or 1, becomes A."""

    def __init__(self, spoil: Callable[[str, int], str | None] = lambda what, n: None, *, main: int = 0) -> None:
        self.spoil = spoil
        self.main = main
        self.asked: Counter[str] = Counter()

    def answer(self, messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
        system, last = text_of(messages[0]), text_of(messages[-1])
        what = part_of(messages)
        spoilt = self.spoil(what, self.asked[what])
        self.asked[what] += 1
        return getattr(self, f"_{what}")(system, last, messages) if spoilt is None else spoilt

    def _persona(self, system, last, messages) -> str:
        rows = [ast.literal_eval(line.partition(". ")[2]) for line in last.splitlines() if "'seed'" in line]
        people = [{"description": f"Somebody like {r['seed']}", "occupation": f"Maker/{r['id']} Of Maps"} for r in rows]
        return f"Here:\n```json\n{json.dumps({'personas': people})}\n```"

    def _factors(self, system, last, messages) -> str:
        n = int(re.search(r"List (\d+)", system)[1])
        factors = [
            {
                "factor": f"Dr. {word(last, k, n=4)} {k}",
                "task_types": ["Planning", "Learning"][: 1 + k % 2],
                "preference_type": "Trustworthiness" if k >= n - 2 else "Tone",
                "preference": f"Texts open with {word(last, k, 'p', n=8)} – and close with number {k}.",
                "related_factor": "N/A",
                "background": {"not": "read"},
            }
            for k in range(n)
        ]
        factors[1]["related_factor"], factors[-1]["related_factor"] = factors[-1]["factor"], factors[1]["factor"]
        return f"```yaml\n{yaml.safe_dump({'context_factors': factors}, allow_unicode=True)}```\nand ```yaml\nx: 1\n```"

    def _sessions(self, system, last, messages) -> str:
        n = int(re.search(r"Write (\d+)", system)[1])
        kinds = {int(k): kind for k, kind in re.findall(r"\* No\. (\d+): (.+)", system)}
        pair = re.search(r"are (.+) \| (.+)", system).groups()
        listed = yaml.safe_load(last.partition("```yaml\n")[2].rpartition("```")[0])["factors"]
        preferences = {f["context_factor"]: f["preference"] for f in listed}
        a, b = pair[self.main], pair[1 - self.main]
        others = [f for f in preferences if f not in pair]
        scenarios = []
        for k in range(1, n + 1):
            kind = kinds.get(k, "")
            factor = a if kind.startswith("A") else b if kind else others[k % len(others)]
            scenarios.append(
                {
                    "id": k,
                    "context_factor": factor,
                    "preference": CHANGED if "changed" in kind else preferences[factor],
                    "request_with_factor": f"Write to {factor} about {word(last, k, n=6)} {k}.\n\n[resource]\n",
                    **({"resource": f"Notes: {word(last, k, 'r')}\n"} if k % 3 else {"resource": "N/A"}),
                }
            )
        return f"```yaml\n{yaml.safe_dump({'scenarios': scenarios}, allow_unicode=True)}```"

    def _checklist(self, system, last, messages) -> str:
        return json.dumps({"checklist": [f"Is  it {word(last, k)}?" for k in range(5)]})

    def _simulator(self, system, last, messages) -> str:
        ends = sum(m["role"] == "user" for m in messages) >= 2
        return simulated("END" if ends else "CONTINUE", f'"{word(json.dumps(messages), n=4)}"\n\nand more')

    def _assistant(self, system, last, messages) -> str:
        return f"\n A draft about {word(json.dumps(messages), n=6)}. \n"


def simulated(decision: str, message: str) -> str:
    return (
        f"\n#### Evaluation Score\n\n3\n\n#### Continue or End?\n\n{decision}\n\n"
        f"#### Selected Checklist Items\n\n- 1\n\n#### Thinking\n\nhm\n\n#### Your Message\n\n{message}\n"
    )


def part_of(messages: list[dict[str, Any]]) -> str:
    system = text_of(messages[0])
    return next(what for what, mark in MARKS.items() if system.startswith(mark))


MARKS = {
    "persona": "Invent the people",
    "factors": "List ",
    "sessions": "Write ",
    "checklist": "Split it.",
    "simulator": "Play ",
    "assistant": "Help in few words.",
}
