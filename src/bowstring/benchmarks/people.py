"""Human evaluation of a benchmark: tasks for people, and how their labels correspond to those of judges.

    bowstring annotate RUN           task and record → a unit: the content of one page
    bowstring agree RUN FILE         record → ratings of the same items by the judge of the run
    bowstring audit RUN --labels     record → judged scores, label → score: labels correct the judge
    bowstring annotate --curate      data set → units, and the curated set (`Curation`)

A benchmark provides all of this with `Benchmark.people()`. `QuestionPeople` is an implementation for questions with a
gold answer and a yes/no judge.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from bowstring.datasets.dataset import DataSet
from bowstring.datasets.problems import join_choices
from bowstring.datasets.ratings import COMPARE, item_id
from bowstring.files.escaping import replace_surrogates
from bowstring.labels import NO, TIE, YES, YES_OR_NO
from bowstring.metrics.measures import Measure, mean
from bowstring.records import SIDES, Dialogue

if TYPE_CHECKING:
    from bowstring.benchmarks.interface import Benchmark

Record = Mapping[str, Any]
Turns = tuple[tuple[str, str], ...]  # a dialogue: role and text of each message
Shape = Literal["pair", "scale", "parts", "fields"]


@dataclass(frozen=True, slots=True)
class Task:
    """A rating task. `labels` are the exported labels; for a pair: first answer, tie, second answer.

    pair     two answers, as A and B in random order       scale    one answer, one label of several
    parts    one answer, a label for each point of a list  fields   texts that can be edited: curation

    A pair task with the name `compare` can also compare two runs; its labels are win, tie and lose.
    """

    name: str  # prefix of its item ids
    shape: Shape
    labels: tuple[str, ...]
    asks: str  # heading of a page
    advice: str
    meaning: str = ""  # meaning of its ratings, for `bowstring agree`
    expects: str = ""  # its labels as text, if a list is not enough
    wrong: tuple[str, ...] = ()  # scale tasks: the correct labels for an answer to another question
    facts: str = "What is known about the user"  # heading of the facts
    shows: str = "what is known about a user, the user's question, and an answer"  # content of a page of a scale task

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices on a page."""
        return ("A", TIE, "B") if self.shape == "pair" else self.labels

    @property
    def compares_runs(self) -> bool:
        return self.name == COMPARE

    @property
    def expected(self) -> str:
        """Its labels, for error messages."""
        return self.expects or join_choices(self.labels)

    def rated(self, criterion: str) -> tuple[str, ...]:
        """The names of the criterion's ratings: one per answer of a page."""
        return tuple(f"{criterion}/{side}" for side in SIDES) if self.shape == "pair" else (criterion,)

    def label(self, choice: str, *, swapped: bool) -> str:
        """The label of a choice, given the order of the answers."""
        if self.shape != "pair":
            return choice
        first, tie, second = self.labels
        if choice == TIE:
            return tie
        return first if (choice == "A") != swapped else second

    def choice(self, label: str, *, swapped: bool) -> str:
        return next(c for c in self.choices if self.label(c, swapped=swapped) == label)


CURATE = Task(
    *("curate", "fields", ("accept", "edit", "reject"), "Is this good enough for the data set?"),
    "Read everything. Accept good items, edit items with small errors, and reject the others with a reason.",
)


@dataclass(frozen=True, slots=True)
class Unit:
    """The content of one page. `ids` has one id, or one per checklist entry."""

    ids: tuple[str, ...]
    key: str  # of the record
    cluster: str
    type: str
    facts: tuple[tuple[str, str], ...]  # what is known about the user: (name, text)
    asked: str
    answers: tuple[str, ...]
    sources: tuple[str, ...] = ()  # source of each answer
    right: str = ""  # a text that is known to be good, if there is one
    entries: tuple[str, ...] = ()
    dialogues: tuple[Turns, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()  # editable texts
    expected: tuple[tuple[str, ...], ...] = ()  # gold checks: the correct labels per id
    shared: bool = False


@dataclass(frozen=True, slots=True)
class RunRating:
    """The rating of an item by a judge or a metric. `label` is None if it was unparsed."""

    task: str
    item: str
    rater: str
    label: str | None
    about: str  # a text that identifies the item


@dataclass(frozen=True, slots=True)
class NotRated:
    """The reason why an item has no rating."""

    task: str
    rater: str
    reason: str


@dataclass(frozen=True, slots=True)
class JudgedScore:
    """The judge's score of an item, and the metric component that it belongs to. `score` is None if the verdict is
    missing: unparsed, or the request failed."""

    task: Task
    component: str
    item: str
    score: float | None


class People(ABC):
    tasks: ClassVar[tuple[Task, ...]]  # the default one first
    metric_raters: ClassVar[tuple[str, ...]] = ()  # metrics that can also be raters

    @abstractmethod
    def unit(self, task: Task, record: Record, run: str) -> Unit | str:
        """The unit of a record, or the reason why there is none."""

    def unit_of_two(self, record: Record, other: Record, runs: tuple[str, str]) -> Unit | str:  # noqa: ARG002
        """The unit that compares the records of two runs with the same key."""
        return "not comparable between runs"

    @abstractmethod
    def ratings(self, record: Record, raters: Mapping[str, str], *, metrics: bool) -> Iterator[RunRating | NotRated]:
        """The ratings of the items of a record. `raters` has names by role; `metrics` adds metrics as raters."""

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:  # noqa: ARG002
        """The metrics that labels can correct, for a run with these settings."""
        return {}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:  # noqa: ARG002
        """The judge's scores of the items of a record, for these metrics.

        An item with an answer but without a verdict is included: judges fail on hard items, so a correction without
        them would be wrong. Without an answer there is no item.
        """
        return iter(())

    def score_of(self, task: Task, label: str) -> float | None:  # noqa: ARG002
        """The score of a label, on the scale of the judge; None for an unknown label."""
        return None

    def curation(self) -> Curation | None:
        """Curation of its data sets."""
        return None


class Curation(Protocol):
    """How the items of a data set are shown to curators, and written afterwards."""

    def units(self, data: DataSet) -> Iterator[Unit]:
        """One unit per item, with the key of the item; `fields` are the editable texts."""
        ...

    def write(self, data: DataSet, edits: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        """Write the items in `edits`, with their edited texts by field, in the layout of the benchmark."""
        ...


def legible(text: str) -> str:
    """A text without surrounding blanks, which could reveal its source; lone surrogates become question marks."""
    return replace_surrogates(text.strip())


def turns_of(dialogue: Dialogue) -> Turns:
    return tuple((message.role, legible(message.text)) for message in dialogue.messages)


def failure_reason(part: Record) -> str | None:
    """The reason why a record or a part of it failed."""
    return f"failed ({part['failure']['stage']})" if "failure" in part else None


@dataclass(frozen=True, slots=True)
class QuestionPeople(People):
    """Human evaluation for questions with a gold answer and a yes/no judge.

    A record has `key` and `type`, the texts in the fields named here, `verdict` (yes, no or a boolean; None if
    unparsed) and `score` (from 0 to 1). In a failed record, `failure` has the `stage`.
    """

    benchmark: Benchmark
    question: str = "question"
    gold: str = "gold_answer"
    answer: str = "answer"
    metric: str = "score"  # the metric that labels correct: the mean of all scores, in percent

    tasks: ClassVar[tuple[Task, ...]] = (
        Task(
            name="verdict",
            shape="scale",
            labels=YES_OR_NO,
            asks="Is the answer correct?",
            advice="Choose yes if the answer has the same meaning as the correct answer, in any wording, and does not "
            "contradict it.",
            meaning="is the answer correct?",
            wrong=(NO,),
            facts="Correct answer",
            shows="a user's question, the correct answer, and an answer to rate",
        ),
    )

    def item(self, record: Record) -> str:
        """The id of the rated item; it depends only on question, gold answer and answer, not on the run."""
        texts = [str(record[field]) for field in (self.question, self.gold, self.answer)]
        return item_id(self.tasks[0].name, record["key"], texts)

    def unit(self, task: Task, record: Record, run: str) -> Unit | str:  # noqa: ARG002
        if self.answer not in record:
            return "without an answer"
        question, gold, answer = (legible(str(record[field])) for field in (self.question, self.gold, self.answer))
        return Unit(
            ids=(self.item(record),),
            key=record["key"],
            cluster=self.benchmark.cluster_of(record),
            type=record["type"],
            facts=(("correct answer", gold),),
            asked=question,
            answers=(answer,),
            sources=(run,),
            right=gold,
        )

    def ratings(self, record: Record, raters: Mapping[str, str], *, metrics: bool) -> Iterator[RunRating | NotRated]:  # noqa: ARG002
        task = self.tasks[0].name
        if self.answer not in record or "verdict" not in record:
            yield NotRated(task, raters["judge"], failure_reason(record) or "never judged")
            return
        verdict = record["verdict"]
        label = (YES if verdict else NO) if isinstance(verdict, bool) else verdict
        yield RunRating(task, self.item(record), raters["judge"], label, str(record[self.question]))

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:  # noqa: ARG002
        return {self.metric: mean(lambda record: record.get("score"), 100)}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:
        if self.answer in record:
            (component,) = self.corrected_metrics({})[self.metric].components
            yield JudgedScore(self.tasks[0], component, self.item(record), record.get("score"))

    def score_of(self, task: Task, label: str) -> float | None:  # noqa: ARG002
        return {YES: 1.0, NO: 0.0}.get(label.lower())
