"""Training data of HiCUPID.

SFT     history and question → the personalized answer
DPO     the personalized answer over the general one, or over wrong options (--rejected)
judge   the judge's prompt for an answer → the transcript of the teacher

Whole users are held out from the training of a judge. Users share personas, so a held-out question may be about a
persona in the training data, with another answer.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.prompts import HicupidPrompts
from bowstring.benchmarks.hicupid.reading import load_judgements
from bowstring.benchmarks.hicupid.rejected import Rejected, rejected_answers
from bowstring.benchmarks.hicupid.types import QUESTION_TYPES, Judgement, Question
from bowstring.datasets.dataset import DataSet
from bowstring.errors import UsageError, check_choice
from bowstring.history import Reader, View, parse_view
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.prompts import PromptFolder
from bowstring.records import History
from bowstring.training.evaluators import EvaluatorData, HeldOut, Labels, check_types, hold_out
from bowstring.training.examples import TRAINED_VIEWS, Example, Examples, count_tokens
from bowstring.training.settings import TrainSettings


class HicupidTraining:
    evaluators: tuple[str, ...] = ("judge",)
    method_help: Mapping[str, str] = {
        "sft": "personalized answers",
        "dpo": "personalized over general answers",
        "judge": "transcripts of verdicts on answers",
    }
    assistant_prompts: tuple[str, ...] = ("hicupid/ask",)
    evaluator_prompts: tuple[str, ...] = ("hicupid/judge_",)

    def assistant(self, data: DataSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
        assert isinstance(data, HicupidSet)
        return hicupid_examples(data, settings, folder)

    def evaluator(
        self, source: str, revision: str | None, settings: TrainSettings, folder: PromptFolder
    ) -> EvaluatorData:
        return judge_examples(load_judgements(source, revision=revision), settings, folder)


def hicupid_examples(data: HicupidSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
    for kind in settings.types:
        check_choice("type", kind, QUESTION_TYPES)
    if settings.task != "inference":
        raise UsageError("--task does not apply to HiCUPID")
    view = parse_view(settings.history, kinds=TRAINED_VIEWS, units=("utterance", "dialogue"))
    questions = [q for q in data.questions() if not settings.types or q.type in settings.types][: settings.limit]
    if not questions:
        raise UsageError(f"{data.name} has no questions to train on in {', '.join(data.splits)}")
    rejected = rejected_answers(data, settings.rejected)
    notes = []
    if settings.method == "dpo":
        paired = [question for question in questions if rejected.of(question)]
        kinds = ", ".join(settings.rejected)
        if not paired:
            raise UsageError(f"--rejected {kinds}: no question has such an answer; {rejected.available(questions)}")
        if left_out := len(questions) - len(paired):
            notes.append(f"left out {left_out:,} questions that have no answer to reject ({kinds})")
        questions = paired
    prompts = HicupidPrompts(
        folder, types=(), shots=0, instruction=settings.instruction, summaries=False, branches=len(questions)
    )
    maker = _UserExamples(data, settings, view, prompts, rejected)
    by_user = sorted(questions, key=lambda q: q.user_id)
    groups = [list(group) for _, group in groupby(by_user, key=lambda q: q.user_id)]
    notes += maker.notes()
    return Examples(lambda: (made for group in groups for made in maker.of(group)), tuple(notes), rejected.sources)


class _UserExamples:
    """Examples of a user's questions: all with one history, or in groups with some irrelevant dialogues removed."""

    def __init__(
        self, data: HicupidSet, settings: TrainSettings, view: View, prompts: HicupidPrompts, rejected: Rejected
    ) -> None:
        self._data, self._settings, self._view, self._prompts = data, settings, view, prompts
        self._rejected = rejected

    def notes(self) -> tuple[str, ...]:
        if not self._settings.drop_irrelevant:
            return ()
        return (
            f"each history lacks up to {self._settings.drop_irrelevant} persona dialogues that no question of its pack "
            "needs",
        )

    def of(self, group: Sequence[Question]) -> Iterator[list[Example]]:
        if not self._settings.drop_irrelevant:
            yield self._examples(group, self._data.history(group[0].user_id))
            return
        rng = random.Random(f"drop {self._settings.seed} {group[0].user_id}")  # noqa: S311 - repeatable on purpose
        shuffled = rng.sample(group, len(group))
        history = self._data.history(group[0].user_id)
        for start in range(0, len(shuffled), self._settings.branches):
            lot = shuffled[start : start + self._settings.branches]
            needed = {dialogue for question in lot for dialogue in question.evidence}
            free = [d.id for d in history if d.kind == "persona" and d.id not in needed]
            gone = set(rng.sample(free, min(self._settings.drop_irrelevant, len(free))))
            yield self._examples(lot, tuple(d for d in history if d.id not in gone))

    def _examples(self, group: Sequence[Question], history: History) -> list[Example]:
        reader = Reader(history, count_tokens)
        if self._view.by_question:
            shown = (reader.show(self._view, evidence=q.evidence, query=q.question) for q in group)
            prompts = [self._prompts.alone(q, seen) for q, seen in zip(group, shown, strict=True)]
        else:
            prompts = self._prompts.together(group, reader.show(self._view, evidence=(), query=""))
        rejected = [self._rejected.of(q) if self._settings.method == "dpo" else () for q in group]
        return [
            Example(q.key, str(q.user_id), q.type, prompt, q.personalized_answer, wrong)
            for q, prompt, wrong in zip(group, prompts, rejected, strict=True)
        ]


def judge_examples(judgements: Sequence[Judgement], settings: TrainSettings, folder: PromptFolder) -> EvaluatorData:
    check_types(settings, QUESTION_TYPES)
    prompts = HicupidPrompts(
        folder, types=QUESTION_TYPES, shots=0, instruction="system", summaries=False, branches=len(judgements)
    )
    made, unread, sideless = [], 0, 0
    for n, judgement in enumerate(judgements):
        question = judgement.question
        read = _satisfaction if question.type == "schedule" else _choice
        if question.type != "schedule" and judgement.answer_is is None:
            sideless += 1
        elif None in read(judgement.judgement):
            unread += 1
        else:
            prompt = prompts.judge(question, judgement.answer, answer_is=judgement.answer_is or "A").text
            example = Example(f"{question.key}#{n}", str(question.user_id), question.type, prompt, judgement.judgement)
            made.append(HeldOut(example, read(judgement.judgement), read))
    notes = [f"left out {unread:,} unparsed transcripts"] if unread else []
    if sideless:
        notes.append(f"left out {sideless:,} transcripts that do not say which side the answer had (answer_is)")
    return hold_out(made, settings, notes, "judge transcripts")


def _choice(text: str) -> Labels:
    return (read_pairwise(text),)


def _satisfaction(text: str) -> Labels:
    said = read_satisfaction(text)
    return (None if said is None else "yes" if said else "no",)
