"""CUPID's prompts: templates filled with instances, checklists and answers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from bowstring.benchmarks.cupid.types import Instance
from bowstring.judging.forms import (
    CHECKLIST,
    COVERAGE,
    RATING,
    FormedTemplate,
    VerdictRequest,
    Verdicts,
    places,
)
from bowstring.prompts import PromptFolder, Template
from bowstring.prompts.sharing import share_trunk
from bowstring.records import Dialogue, Message, Prompt, Role, Trunk

NAMES = {"user": "User", "assistant": "AI Assistant"}
_CATEGORY = re.compile(
    r"^[^\w\n]{0,8}category[^\w\n]{0,8}:[^\w\n]{0,8}(other[\s_-]?contexts?|shallow|vague|other)[^\w\n]*$",
    re.IGNORECASE | re.MULTILINE,
)


class CupidPrompts:
    _judge_role: Role = "system"  # of what the judge is told first
    _matcher_role: Role = "system"

    def __init__(self, folder: PromptFolder, *, oracle: bool, matcher: str | None, verdicts: Verdicts = "json") -> None:
        log = frozenset({"interaction_log", "curr_request"})
        generator = "response_oracle" if oracle else "response_generator"
        needs = log | {"preference"} if oracle else log
        # As published: the system prompts of these two are sent unchanged, including braces.
        self._inferrer = folder.get("cupid/evaluation/preference_inferrer", needs=log, plain_system=True)
        self._generator = folder.get(f"cupid/evaluation/{generator}", needs=needs, plain_system=True)
        # A fine-tuned matcher needs the prompt it was trained with.
        self.tuned = matcher is not None and "prefmatcher" in matcher.lower()
        name = "preference_matcher_model" if self.tuned else "preference_matcher"
        listed = frozenset({"preference", "checklist"})
        self._matcher = folder.get(f"cupid/evaluation/{name}", needs=listed, may=frozenset({"examples"}))
        judged = listed | {"user_request", "ai_response"}
        judger = folder.get("cupid/evaluation/response_judger", needs=judged, may=places(RATING))
        self._judger = FormedTemplate.of(judger, RATING, verdicts)
        self._decomposer = folder.get("cupid/synthesis/preference_decomposer", needs=frozenset({"preferences"}))
        self._summary = folder.get("cupid/summary", needs=frozenset({"session"}))
        analysed = frozenset({"preference", "inferred"})
        context = frozenset({"context_factor", "others"})
        self._analysis = folder.get("cupid/error_analysis", needs=analysed, may=context)
        self._examples = self.examples(folder.data("cupid/matcher_examples")["examples"])
        # The prompts of the authors are sent as they are, and so is what a fine-tuned matcher was trained with.
        by_schema = verdicts == "json"
        self._lists_by_schema = by_schema and not self._decomposer.is_override
        self._labels_by_schema = by_schema and not self._matcher.is_override and not self.tuned

    def notes(self) -> list[str]:
        if self.tuned and not self._matcher.is_override:
            return [
                "the matcher is fine-tuned, but was used with other prompts than in its training; import those "
                "prompts (--prompts)"
            ]
        return []

    def tasks(self, instance: Instance, sessions: Sequence[str], tasks: Sequence[str]) -> dict[str, Prompt]:
        templates = [self._inferrer if task == "inference" else self._generator for task in tasks]
        chats = [self._asked(t, sessions, instance.request, preference=instance.preference) for t in templates]
        return dict(zip(tasks, share_trunk(chats), strict=True))

    def answering(self, sessions: Sequence[str], request: str) -> Prompt:
        """The prompt of a request after these sessions (texts)."""
        return _alone(*self._asked(self._generator, sessions, request))

    @staticmethod
    def log(sessions: Sequence[str]) -> str:
        """The earlier sessions, oldest first."""
        return "\n\n".join(f"## Session {n}\n\n{text}" for n, text in enumerate(sessions, 1)) or "(no earlier sessions)"

    @staticmethod
    def examples(found: Sequence[Mapping[str, Any]]) -> str:
        """Examples for a matcher: preferences with checklists, and the label of each item."""
        shown = []
        for example in found:
            lines = [f"Preference: {example['preference']}"]
            lines += [f"{n}. {entry}: {label}" for n, (entry, label) in enumerate(example["checklist"].items(), 1)]
            shown.append("\n".join(lines))
        return "Examples:\n\n" + "\n\n".join(shown)

    def _asked(self, template: Template, sessions: Sequence[str], request: str, **more: str) -> tuple[Message, ...]:
        system = (Message("system", (template.system,)),) if template.system else ()
        values = {"interaction_log": self.log(sessions), "curr_request": request, **more}
        return (*system, Message("user", template.user_pieces(**values)))

    @staticmethod
    def _filled(template: Template, role: Role = "system", /, **values: str) -> Prompt:
        """A filled template as a prompt: its system part, if it has one, in a role, and its user part."""
        user = Message("user", template.user_pieces(**values))
        if template.system is None:
            return _alone(user)
        return _alone(Message(role, (template.system_text(**values),)), user)

    def session(self, dialogue: Dialogue) -> str:
        return "\n\n".join(f"### {NAMES[m.role]}\n\n{m.text}" for m in dialogue.messages)

    def summary(self, dialogue: Dialogue) -> Prompt:
        return self._filled(self._summary, session=self.session(dialogue))

    def decompose(self, preference: str) -> VerdictRequest:
        prompt = self._filled(self._decomposer, self._judge_role, preferences=preference)
        return VerdictRequest.json(prompt, CHECKLIST, by_schema=self._lists_by_schema)

    def match(self, items: Sequence[str], preference: str) -> VerdictRequest:
        numbered = "\n".join(f"{n}. {item}" for n, item in enumerate(items, 1))
        prompt = self._filled(
            self._matcher, self._matcher_role, preference=preference, checklist=numbered, examples=self._examples
        )
        return VerdictRequest.json(prompt, COVERAGE, by_schema=self._labels_by_schema)

    def judge(self, instance: Instance, answer: str) -> VerdictRequest:
        values = {
            "preference": instance.preference,
            "checklist": "\n".join(f"- {item}" for item in instance.checklist),
            "user_request": instance.request,
            "ai_response": answer.strip(),
        }
        return self._judger.request(lambda template: self._filled(template, self._judge_role, **values))

    def analysis(self, instance: Instance, inferred: str) -> Prompt:
        others = {s.preference: s.context_factor for s in instance.sessions if s.preference != instance.preference}
        listed = "\n".join(f"- {factor}: {preference}" for preference, factor in others.items()) or "- none"
        return self._filled(
            self._analysis,
            self._judge_role,
            context_factor=instance.context_factor,
            preference=instance.preference,
            inferred=inferred,
            others=listed,
        )

    @staticmethod
    def read_category(said: str) -> str | None:
        found = _CATEGORY.findall(said)
        return ("other context" if "context" in found[-1].lower() else found[-1].lower()) if found else None

    @staticmethod
    def repair(request: VerdictRequest, said: str, error: str) -> VerdictRequest:
        """The same request again, with the answer and the error in it."""
        again = f"That could not be read: {error}. Answer again, with the JSON alone."
        answered = Message("assistant", (said or "(nothing)",))
        prompt = _alone(*request.text.messages, answered, Message("user", (again,)))
        return replace(request, text=prompt, structured=None if request.structured is None else prompt)


def _alone(*messages: Message) -> Prompt:
    return Prompt(Trunk(()), messages)
