"""What assistants are trained on.

HiCUPID  SFT  history and question → the personalized answer
         DPO  the personalized answer rather than the general one
CUPID    SFT  log and request → the gold preference, under its heading
         DPO  in a session, the reply that satisfied rather than the first one, which did not; behind the earlier ones
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import get_args

from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Question
from bowstring.datasets import CupidSet, HicupidSet
from bowstring.errors import UsageError, check_choice
from bowstring.history import Reader, View, parse_view
from bowstring.history.views import Kind
from bowstring.judging.sections import PREFERENCE_TITLE
from bowstring.models.tokens import embedded_counter
from bowstring.prompts import PromptFolder
from bowstring.records import History
from bowstring.training.examples import Example, Examples
from bowstring.training.settings import TrainSettings

_KINDS: tuple[Kind, ...] = tuple(kind for kind in get_args(Kind) if kind not in ("dense", "summary"))

_CUT_OFF = 16  # replies after which sessions of CUPID end, satisfied or not


def _count(texts: Sequence[str]) -> list[int]:
    return embedded_counter().count(texts)


def hicupid_examples(data: HicupidSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
    for kind in settings.types:
        check_choice("type", kind, QUESTION_TYPES)
    view = parse_view(settings.history, kinds=_KINDS, units=("utterance", "dialogue"))
    questions = [q for q in data.questions() if not settings.types or q.type in settings.types][: settings.limit]
    if not questions:
        raise UsageError(f"{data.name} has no questions to train on in {', '.join(data.splits)}")
    prompts = HicupidPrompts(
        folder, types=(), shots=0, instruction=settings.instruction, summaries=False, branches=len(questions)
    )
    maker = _OfUsers(data, settings, view, prompts)
    by_user = sorted(questions, key=lambda q: q.user_id)
    groups = [list(group) for _, group in groupby(by_user, key=lambda q: q.user_id)]
    return Examples(lambda: (made for group in groups for made in maker.of(group)), maker.notes())


class _OfUsers:
    """Examples of a user's questions: all behind one history, or in lots that each can do without some dialogues."""

    def __init__(self, data: HicupidSet, settings: TrainSettings, view: View, prompts: HicupidPrompts) -> None:
        self._data, self._settings, self._view, self._prompts = data, settings, view, prompts

    def notes(self) -> tuple[str, ...]:
        if not self._settings.drop_irrelevant:
            return ()
        return (
            f"a history lacks up to {self._settings.drop_irrelevant} of the dialogues on personas that no question "
            "packed behind it needs",
        )

    def of(self, group: Sequence[Question]) -> Iterator[list[Example]]:
        if not self._settings.drop_irrelevant:
            yield self._made(group, self._data.history(group[0].user_id))
            return
        rng = random.Random(f"drop {self._settings.seed} {group[0].user_id}")  # noqa: S311 - repeatable on purpose
        shuffled = rng.sample(group, len(group))
        history = self._data.history(group[0].user_id)
        for start in range(0, len(shuffled), self._settings.branches):
            lot = shuffled[start : start + self._settings.branches]
            needed = {dialogue for question in lot for dialogue in question.evidence}
            free = [d.id for d in history if d.kind == "persona" and d.id not in needed]
            gone = set(rng.sample(free, min(self._settings.drop_irrelevant, len(free))))
            yield self._made(lot, tuple(d for d in history if d.id not in gone))

    def _made(self, group: Sequence[Question], history: History) -> list[Example]:
        reader = Reader(history, _count)
        if self._view.by_question:
            shown = (reader.show(self._view, evidence=q.evidence, query=q.question) for q in group)
            prompts = [self._prompts.alone(q, seen) for q, seen in zip(group, shown, strict=True)]
        else:
            prompts = self._prompts.together(group, reader.show(self._view, evidence=(), query=""))
        paired = self._settings.method == "dpo"
        return [
            Example(q.key, str(q.user_id), q.type, prompt, q.personalized_answer, q.general_answer if paired else None)
            for q, prompt in zip(group, prompts, strict=True)
        ]


def cupid_examples(data: CupidSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
    for kind in settings.types:
        check_choice("type", kind, INSTANCE_TYPES)
    if settings.drop_irrelevant:
        raise UsageError("--drop-irrelevant is for HiCUPID; for CUPID try --history gold")
    if settings.instruction != "system":
        raise UsageError("--instruction is for HiCUPID")
    view = parse_view(settings.history, kinds=_KINDS, units=("session",))
    instances = [i for i in data.instances if not settings.types or i.type in settings.types][: settings.limit]
    if not instances:
        raise UsageError(f"{data.name} has no instances to train on")
    prompts = CupidPrompts(folder, oracle=False, matcher=None)
    if settings.method == "sft":
        return Examples(lambda: _preferences(instances, view, prompts))
    if view.kind != "full":
        raise UsageError(f"--history {settings.history}: pairs of CUPID stand behind all earlier sessions (full)")
    pairs = list(_pairs(instances, prompts))
    if not pairs:
        raise UsageError(f"{data.name} has no session with a reply that was not good enough and one that was")
    return Examples(lambda: pairs)


def _preferences(instances: Sequence[Instance], view: View, prompts: CupidPrompts) -> Iterator[list[Example]]:
    for persona, group in groupby(instances, key=lambda i: i.persona_id):
        examples = []
        for instance in group:
            reader = Reader(instance.history, _count)
            shown = reader.show(view, evidence=instance.evidence, query=instance.request)
            prompt = prompts.tasks(instance, [prompts.session(d) for d in shown], ["inference"])["inference"]
            answer = f"### {PREFERENCE_TITLE}\n\n{instance.preference}"
            examples.append(Example(instance.key, persona, instance.type, prompt, answer))
        yield examples


def _pairs(instances: Sequence[Instance], prompts: CupidPrompts) -> Iterator[list[Example]]:
    """A pair a session that has one. Instances of a persona share sessions: what is the same is taken once."""
    taken = set()
    for instance in instances:
        texts = [prompts.session(s.dialogue) for s in instance.sessions]
        for n, session in enumerate(instance.sessions):
            replies = [m.text for m in session.dialogue.messages if m.role == "assistant"]
            asked = next((m.text for m in session.dialogue.messages if m.role == "user"), None)
            if asked is None or not 2 <= len(replies) < _CUT_OFF or replies[0] == replies[-1]:
                continue
            if session.dialogue.messages[-1].role != "user":  # nobody says that the last one satisfied
                continue
            prompt = prompts.answering(texts[:n], asked)
            if (same := (prompt.digest, replies[0], replies[-1])) in taken:
                continue
            taken.add(same)
            key = f"{instance.key}/{n + 1}"
            yield [Example(key, instance.persona_id, instance.type, prompt, replies[-1], replies[0])]
