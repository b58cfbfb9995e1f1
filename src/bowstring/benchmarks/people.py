"""What people are asked about a benchmark's records, and how their labels meet those of its judges.

    bowstring annotate RUN           task and record → a unit: what one page asks
    bowstring agree RUN FILE         record → ratings: what the judge of the run says of the same items
    bowstring audit RUN --labels     record → judged scores, and a label → a score: labels correct the judge
    bowstring annotate --curate      data set → units, and the set that is left (`Curation`)

A benchmark offers all of it with one object, `Benchmark.people()`. `QuestionPeople` is a ready-made one, for questions
with a gold answer and a judge that says yes or no.
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
from bowstring.judging.verdicts import NO, YES, YES_OR_NO
from bowstring.metrics.measures import Measure, mean
from bowstring.records import SIDES, Dialogue

if TYPE_CHECKING:
    from bowstring.benchmarks.interface import Benchmark

Record = Mapping[str, Any]
Turns = tuple[tuple[str, str], ...]  # a dialogue: role and text of each message
Shape = Literal["pair", "scale", "parts", "fields"]


@dataclass(frozen=True, slots=True)
class Task:
    """One kind of question. `labels` are what is exported: of a pair, for the first answer, a tie and the second.

    pair     two answers, as A and B in random order       scale    one answer, one label of several
    parts    one answer, a label for each point of a list  fields   texts that can be edited: curation

    A pair task that is called `compare` can also compare the answers of two runs with each other; its labels are
    win, tie and lose.
    """

    name: str  # the beginning of its item ids
    shape: Shape
    labels: tuple[str, ...]
    asks: str  # the heading of a page
    advice: str
    meaning: str = ""  # what its ratings are, for `bowstring agree`
    expects: str = ""  # its labels in words, where a list of them is not enough
    wrong: tuple[str, ...] = ()  # of a scale: the labels that are right for an answer to somebody else's question
    facts: str = "What is known of the user"  # the heading of a unit's facts
    shows: str = "what is known of a user, what they asked, and an answer"  # a page of a scale

    @property
    def choices(self) -> tuple[str, ...]:
        """What a page offers."""
        return ("A", "tie", "B") if self.shape == "pair" else self.labels

    @property
    def compares_runs(self) -> bool:
        return self.name == COMPARE

    @property
    def expected(self) -> str:
        """Its labels, as an error names them."""
        return self.expects or join_choices(self.labels)

    def rated(self, criterion: str) -> tuple[str, ...]:
        """What is rated by a criterion: each answer of a page."""
        return tuple(f"{criterion}/{side}" for side in SIDES) if self.shape == "pair" else (criterion,)

    def label(self, choice: str, *, swapped: bool) -> str:
        """What a choice means when it is known which answer stood where."""
        if self.shape != "pair":
            return choice
        first, tie, second = self.labels
        if choice == "tie":
            return tie
        return first if (choice == "A") != swapped else second

    def choice(self, label: str, *, swapped: bool) -> str:
        return next(c for c in self.choices if self.label(c, swapped=swapped) == label)


CURATE = Task(
    *("curate", "fields", ("accept", "edit", "reject"), "Is this good enough for the data set?"),
    "Read everything. Accept what is sound, mend what is nearly so, and reject the rest with a reason.",
)


@dataclass(frozen=True, slots=True)
class Unit:
    """What one page asks: `ids` has one name, or one for each entry of a checklist."""

    ids: tuple[str, ...]
    key: str  # of the record
    cluster: str
    type: str
    facts: tuple[tuple[str, str], ...]  # what is known of the user: a name and a text
    asked: str
    answers: tuple[str, ...]
    sources: tuple[str, ...] = ()  # where each answer comes from
    right: str = ""  # what is known to be good, where there is such a text
    entries: tuple[str, ...] = ()
    dialogues: tuple[Turns, ...] = ()
    fields: tuple[tuple[str, str], ...] = ()  # texts that can be edited
    expected: tuple[tuple[str, ...], ...] = ()  # of a gold check, the labels that are right, for each id
    shared: bool = False


@dataclass(frozen=True, slots=True)
class RunRating:
    """What a rater of a run, its judge or a metric, says of an item. `label` is None where it could not be read."""

    task: str
    item: str
    rater: str
    label: str | None
    about: str  # a text that says which item it is


@dataclass(frozen=True, slots=True)
class NotRated:
    """Why a rater of a run says nothing of an item."""

    task: str
    rater: str
    reason: str


@dataclass(frozen=True, slots=True)
class JudgedScore:
    """The judge's score of an item, and the component of the metrics that it counts for."""

    task: Task
    component: str
    item: str
    score: float


class People(ABC):
    tasks: ClassVar[tuple[Task, ...]]  # the default one first
    metric_raters: ClassVar[tuple[str, ...]] = ()  # metrics that rate too, where they are asked for

    @abstractmethod
    def unit(self, task: Task, record: Record, run: str) -> Unit | str:
        """What a page asks about a record of this run, or why there is nothing to ask."""

    def unit_of_two(self, record: Record, other: Record, runs: tuple[str, str]) -> Unit | str:  # noqa: ARG002
        """The same for a task that compares the records of two runs, which have the same key."""
        return "not comparable between runs"

    @abstractmethod
    def ratings(self, record: Record, raters: Mapping[str, str], *, metrics: bool) -> Iterator[RunRating | NotRated]:
        """What the judge says of the items of a record. `raters` has names by role; `metrics` asks for metrics too."""

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:  # noqa: ARG002
        """The metrics of a run with these settings that labels can correct."""
        return {}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:  # noqa: ARG002
        """The judge's scores of the items of a record, for these metrics."""
        return iter(())

    def score_of(self, task: Task, label: str) -> float | None:  # noqa: ARG002
        """What a label is worth, on the scale of the judge's scores; None for a label that the task does not have."""
        return None

    def curation(self) -> Curation | None:
        """How people curate its data sets."""
        return None


class Curation(Protocol):
    """How the items of a data set are shown to curators, and written again when they have decided."""

    def units(self, data: DataSet) -> Iterator[Unit]:
        """A unit per item, whose key is the item's; `fields` are the texts that curators may edit."""
        ...

    def write(self, data: DataSet, edits: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        """Write the items whose keys are in `edits`, each with its new texts by field, in the benchmark's layout."""
        ...


def legible(text: str) -> str:
    """A text without the blanks around it, which would tell its source; half a surrogate pair is a question mark."""
    return replace_surrogates(text.strip())


def turns_of(dialogue: Dialogue) -> Turns:
    return tuple((message.role, legible(message.text)) for message in dialogue.messages)


def failure_of(part: Record) -> str | None:
    """Why a record, or a part of one, ended early."""
    return f"failed ({part['failure']['stage']})" if "failure" in part else None


@dataclass(frozen=True, slots=True)
class QuestionPeople(People):
    """For a question, its gold answer, the model's answer, and a judge that says whether that is right: yes or no.

    A record has `key` and `type`, these texts in the fields that are named here, `verdict` (yes or no, or a boolean;
    None where it could not be read) and `score` (from 0 to 1). Where it failed, `failure` has the `stage`.
    """

    benchmark: Benchmark
    question: str = "question"
    gold: str = "gold_answer"
    answer: str = "answer"
    metric: str = "score"  # the metric, the mean of all scores in percent, that labels correct

    tasks: ClassVar[tuple[Task, ...]] = (
        Task(
            name="verdict",
            shape="scale",
            labels=YES_OR_NO,
            asks="Is the answer right?",
            advice="Say yes where the answer says what the right answer says, in whatever words, and nothing that is "
            "against it.",
            meaning="is the answer right?",
            wrong=(NO,),
            facts="What is right",
            shows="what a user asked, the right answer, and an answer to rate",
        ),
    )

    def item(self, record: Record) -> str:
        """The id of what is rated: it is the same for the same question, gold answer and answer, whatever the run."""
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
            facts=(("right answer", gold),),
            asked=question,
            answers=(answer,),
            sources=(run,),
            right=gold,
        )

    def ratings(self, record: Record, raters: Mapping[str, str], *, metrics: bool) -> Iterator[RunRating | NotRated]:  # noqa: ARG002
        task = self.tasks[0].name
        if self.answer not in record or "verdict" not in record:
            yield NotRated(task, raters["judge"], failure_of(record) or "never judged")
            return
        verdict = record["verdict"]
        label = (YES if verdict else NO) if isinstance(verdict, bool) else verdict
        yield RunRating(task, self.item(record), raters["judge"], label, str(record[self.question]))

    def corrected_metrics(self, settings: Mapping[str, Any]) -> Mapping[str, Measure]:  # noqa: ARG002
        return {self.metric: mean(lambda record: record.get("score"), 100)}

    def judged_scores(self, record: Record) -> Iterator[JudgedScore]:
        if self.answer in record and record.get("score") is not None:
            (component,) = self.corrected_metrics({})[self.metric].components
            yield JudgedScore(self.tasks[0], component, self.item(record), float(record["score"]))

    def score_of(self, task: Task, label: str) -> float | None:  # noqa: ARG002
        return {YES: 1.0, NO: 0.0}.get(label.lower())
