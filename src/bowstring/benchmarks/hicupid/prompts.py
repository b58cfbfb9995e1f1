"""HiCUPID's prompts: instruction and history, the question after them, and the prompts of the judge.

    system   instruction, history                          | question
    user     history, instruction, its acknowledgement     | question

The part before the bar is the trunk: it is the same for all questions that see the same history of a user. If each
question sees another part of the history, only a leading instruction is shared, and then by all users.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Question
from bowstring.benchmarks.judges import missing_prompts
from bowstring.errors import DataError, UsageError
from bowstring.judging.forms import PAIRWISE, SATISFACTION, Form, FormedTemplate, VerdictRequest, Verdicts, places
from bowstring.prompts import PromptFolder, Template
from bowstring.records import (
    Dialogue,
    History,
    Message,
    Prompt,
    Trunk,
    fields_of,
)

Instruction = Literal["system", "user"]
SHOTS = (0, 1, 3, 5)
_JUDGE_NEEDS = {
    "persona": frozenset({"relation", "entity", "question", "answer_a", "answer_b"}),
    "profile": frozenset({"relation", "entity", "question", "answer_a", "answer_b", "age", "occupation"}),
    "schedule": frozenset({"datetime", "event", "question", "answer"}),
}
_PERSONA = frozenset({"category", "relation", "entity", "sentiment"})
_PROFILE = frozenset({"age", "gender", "personality", "occupation", "income_range"})
_JUDGE_MAY = {"persona": _PERSONA, "profile": _PERSONA | _PROFILE, "schedule": frozenset[str]()}
_FORMS: dict[str, Form] = {"persona": PAIRWISE, "profile": PAIRWISE, "schedule": SATISFACTION}
_NAMES = {"user": "User", "assistant": "Assistant"}


class HicupidPrompts:
    def __init__(
        self,
        prompts: PromptFolder,
        *,
        types: Sequence[str],
        shots: int,
        instruction: Instruction,
        summaries: bool,
        branches: int,
        verdicts: Verdicts = "json",
    ) -> None:
        self._variant = instruction
        self._ask, self._examples = _asking(prompts, shots, instruction)
        judges = {
            t: prompts.get(f"hicupid/judge_{t}", needs=_JUDGE_NEEDS[t], may=_JUDGE_MAY[t] | places(_FORMS[t]))
            for t in types
        }
        self._judges = {t: FormedTemplate.of(judges[t], _FORMS[t], verdicts) for t in types}
        self._summary = prompts.get("hicupid/summary", needs=frozenset({"session"})) if summaries else None
        self._judge_trunks: dict[Template, Trunk] = {}
        self._branches = branches
        self._instruction = Trunk(self._before((), None)[:1], branches=branches)
        self._imported = {t.name: t.is_override for t in (self._ask, *judges.values())}
        self.judge_is_imported = all(template.is_override for template in judges.values())

    def check_imported(self) -> None:
        """Raise an error unless all prompts are the authors'."""
        if missing := [name for name, imported in self._imported.items() if not imported]:
            raise UsageError(missing_prompts(missing[0]))

    def together(self, questions: Sequence[Question], history: History, notes: str | None = None) -> list[Prompt]:
        """The prompts of questions that see the same history, with one trunk."""
        trunk = Trunk(self._before(history, notes), branches=len(questions))
        return [Prompt(trunk, (Message("user", (question.question,)),)) for question in questions]

    def alone(self, question: Question, history: History, notes: str | None = None) -> Prompt:
        """The prompt of one question with its own view of the history, or with notes."""
        messages = self._before(history, notes)
        asked = Message("user", (question.question,))
        if self._variant == "user" or notes is not None:
            return Prompt(Trunk(()), (*messages, asked))
        return Prompt(self._instruction, (*messages[1:], asked))

    def _before(self, history: History, notes: str | None) -> tuple[Message, ...]:
        turns = tuple(message for dialogue in history for message in dialogue.messages)
        if self._variant == "system":
            text = self._ask.system_text(examples=self._examples)
            return (Message("system", (text, f"\n\n{notes}") if notes else (text,)), *turns)
        text = "".join(self._ask.user_parts(examples=self._examples))
        asked = Message("user", (f"{notes}\n\n", text) if notes else (text,))
        return (*turns, asked, Message("assistant", (self._ask.assistant or "Understood.",)))

    @staticmethod
    def notes(summaries: Sequence[str]) -> str:
        """The text that replaces the dialogues: their summaries."""
        return "Notes on the earlier conversations, oldest first:\n" + "\n".join(f"- {s}" for s in summaries)

    def summary(self, dialogue: Dialogue) -> Prompt:
        if self._summary is None:
            raise LookupError("these prompts were opened without summaries")
        text = "\n\n".join(f"{_NAMES[m.role]}: {m.text}" for m in dialogue.messages)
        return Prompt(Trunk(()), (Message("user", self._summary.user_pieces(session=text)),))

    def judge(self, question: Question, answer: str, *, answer_is: str) -> VerdictRequest:
        """The question to the judge, with the model's answer on the side `answer_is`."""
        values = {"question": question.question, "answer": answer}
        for known in (question.persona, question.profile, question.schedule):
            if known is not None:
                values |= fields_of(known)
        gold = question.personalized_answer
        values["answer_a"], values["answer_b"] = (answer, gold) if answer_is == "A" else (gold, answer)
        return self._judges[question.type].request(lambda template: self._judge_prompt(template, values))

    def _judge_prompt(self, template: Template, values: Mapping[str, str]) -> Prompt:
        fixed, rest = template.user_parts(**values)
        trunk = self._judge_trunks.setdefault(
            template, Trunk((Message("user", (fixed,)),) if fixed else (), branches=self._branches)
        )
        return Prompt(trunk, (Message("user", (rest,)),))


def _asking(prompts: PromptFolder, shots: int, instruction: Instruction) -> tuple[Template, str]:
    """The template of the instruction, and the examples to put into it."""
    name = "hicupid/ask" if instruction == "system" else "hicupid/ask_user"
    if shots and prompts.has_override(f"{name}_{shots}"):
        return prompts.get(f"{name}_{shots}"), ""  # an imported template that contains its examples
    template = prompts.get(name, needs=frozenset({"examples"} if shots else ()), may=frozenset({"examples"}))
    if (template.system if instruction == "system" else template.user) is None:
        raise DataError(f"prompt {name} has no {instruction}_prompt")
    return template, _shown(prompts.data("hicupid/examples"), shots) if shots else ""


def _shown(examples: Any, shots: int) -> str:
    """`shots` examples of each type, as text after the instruction."""
    shown = ["\n\nExamples, each of another user, with what was known of them:"]
    for kind in QUESTION_TYPES:
        found = examples.get(kind) if isinstance(examples, Mapping) else None
        if not isinstance(found, list) or len(found) < shots:
            raise DataError(f"prompt hicupid/examples: expected at least {shots} of type {kind}")
        for example in found[:shots]:
            if not isinstance(example, Mapping) or not {"known", "question", "answer"} <= example.keys():
                raise DataError(f"prompt hicupid/examples: {kind}: expected known, question and answer in each")
            shown.append(f"{example['known']}\nUser: {example['question']}\nAssistant: {example['answer']}")
    return "\n\n".join(shown)
