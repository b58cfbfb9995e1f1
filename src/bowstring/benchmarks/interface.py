"""The interface of a benchmark. All code outside benchmarks/ uses benchmarks through it.

A benchmark is an instance of a subclass of `Benchmark`. It must define its name and words, its settings, how its data
is read, how its items are evaluated, and its metrics. The other parts are optional; a command that needs a missing part
prints an error.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, TypeVar

from bowstring.benchmarks.auditing import Auditing
from bowstring.benchmarks.controls import Control
from bowstring.benchmarks.people import People
from bowstring.benchmarks.view import View
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice, Format
from bowstring.datasets.reading import Locate, Reading
from bowstring.errors import UsageError
from bowstring.metrics.length_control import Comparison
from bowstring.metrics.measures import MetricSet
from bowstring.prompts import PromptFolder
from bowstring.runs.codec import KEYS_ONLY, Codec
from bowstring.runs.items import Items
from bowstring.runs.runner import Record
from bowstring.training.evaluators import EvaluatorData
from bowstring.training.examples import Examples
from bowstring.training.settings import TrainSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from bowstring.benchmarks.certification import Certification
    from bowstring.benchmarks.data_audit.audit import DataAudit
    from bowstring.benchmarks.published_results import PublishedResults
    from bowstring.benchmarks.synthesis import Synthesis
    from bowstring.prompts.importing import Imported


class Noun(NamedTuple):
    """A noun in singular and plural."""

    one: str
    many: str


@dataclass(frozen=True, slots=True)
class Context:
    """The input of an evaluation besides data, settings and prompts."""

    data: str  # name of the data set, as given by the user
    judge: str | None  # name of the judge, including builtin and truth, which are not models
    models: Mapping[str, str]  # names of models by role
    openai: frozenset[str]  # roles whose model is asked as OpenAI's API is
    store: Path  # response store; derived files may be stored next to it
    can_score: bool = False  # whether the evaluated model says how probable it finds given answers
    tell: Callable[[str], None] = field(default=lambda line: None)


# Opens the evaluation of some settings; evaluations from one opener share their resources.
Opener = Callable[[Any, PromptFolder], Items]


class Benchmark(ABC):
    name: ClassVar[str]  # name in commands
    title: ClassVar[str]  # name in text
    about: ClassVar[str]  # one line for help
    item: ClassVar[Noun] = Noun("item", "items")  # what is asked
    id_help: ClassVar[str] = "the key of an item"  # the ids that `bowstring data show` takes, for help
    cluster: ClassVar[Noun] = Noun("user", "users")  # its items are not independent
    settings: ClassVar[type[Any]]  # a frozen dataclass: everything that changes a result
    format: ClassVar[Format]
    default_config: ClassVar[str] = ""  # default config on the hub
    origins: ClassVar[Mapping[str, Origin]] = {}  # known sets by lower-case name, see `Origin`
    roles: ClassVar[tuple[str, ...]] = ("judge",)  # models besides the evaluated one
    judges: ClassVar[tuple[str, ...]] = ("builtin",)  # judges that are not models
    judge_help: ClassVar[Mapping[str, str]] = {}  # what those other than builtin are for, in words, for help
    has_bundled_set: ClassVar[bool] = False
    codec: ClassVar[Codec] = KEYS_ONLY  # reads and writes records; this one requires only a key
    judge_prompts: ClassVar[tuple[str, ...]] = ("judge",)  # words in the names of judge prompts
    without_judge: ClassVar[str] = ""  # metrics that need no judge, as text
    # Fields of a record that describe its item: equal in two runs on the same item.
    item_fields: ClassVar[tuple[str, ...]] = ("type", "question", "gold", "evidence")

    @abstractmethod
    def templates(self) -> Traversable:
        """The folder of its prompts."""

    @abstractmethod
    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        """Read and check a set; `locate` finds the files of a choice."""

    def prompts(self, override: Path | None = None) -> PromptFolder:
        """Its prompts, replaced by those of a user's folder."""
        return PromptFolder(self.name, self.templates(), override)

    def bundled(self, splits: Collection[str]) -> DataSet:  # noqa: ARG002
        """The bundled set."""
        raise UsageError(f"{self.title} has no bundled set; give a data set with --data")

    def choice(self, settings: Mapping[str, Any]) -> Choice:
        """The part of a data set that an evaluation with these settings reads."""
        return Choice(tuple(settings.get("splits") or ()), configs="default")

    def option_help(self) -> Mapping[str, str]:
        """Help of those settings for which it depends on the benchmark, by field."""
        return {}

    def check_roles(self, named: Mapping[str, Any]) -> None:  # noqa: B027
        """Check that these roles can be combined; judges that are not models are not included."""

    def settle(self, given: dict[str, Any], *, several: bool) -> dict[str, Any]:  # noqa: ARG002
        """Keyword arguments with dependent defaults filled in; `several` for a sweep."""
        return given

    def asks_models(self, settings: Any) -> bool:  # noqa: ARG002
        """Whether an evaluation with these settings uses any model."""
        return True

    def is_judged(self, settings: Mapping[str, Any]) -> bool:  # noqa: ARG002
        """Whether a judge scores the answers of an evaluation with these settings, given as keywords."""
        return True

    @abstractmethod
    def metrics(self, configuration: Mapping[str, Any]) -> MetricSet:
        """The metrics of a run, with scales and order. `configuration` has the run's `settings` and `judge`, where
        they are known."""

    def cluster_of(self, record: Mapping[str, Any]) -> str:
        """The cluster of a record; records of one cluster are not independent."""
        return str(record.get("user", record["key"]))

    def grouped(self, records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
        """The records by axis and group, in display order; an axis has at least two groups."""
        kinds: dict[str, list[Record]] = {}
        for record in records:
            kinds.setdefault(str(record["type"]), []).append(record)
        return {"type": kinds} if len(kinds) > 1 else {}

    def compared_lengths(self, records: Sequence[Record]) -> list[Comparison]:  # noqa: ARG002
        """Answers that were compared with another answer: outcomes and differences in length. Empty: none were."""
        return []

    def view(self) -> View:
        """How its runs are displayed; the default works for records as described in `View`."""
        return View()

    def tasks_of(self, record: Record) -> list[Mapping[str, Any]]:
        """The parts of a record with separate requests, each with its own failure and judgement."""
        return [record]

    # Optional parts. None: the benchmark does not have it, and commands say so (`needed`).

    def training(self) -> Training | None:
        """Training data for assistants and evaluators."""
        return None

    def auditing(self) -> Auditing | None:
        """Validity checks for `bowstring audit`."""
        return None

    def data_audit(self) -> DataAudit:
        """Checks of its data sets for `bowstring data audit`; by default those that suit any set."""
        from bowstring.benchmarks.data_audit.audit import DataAudit

        return DataAudit(self.cluster, self.item)

    def judge_note(self, judge: str) -> str | None:  # noqa: ARG002
        """Notes on a judge that is not a model."""
        return None

    def controls(self, items: Items, records: Sequence[Record]) -> Sequence[Control]:  # noqa: ARG002
        """Answers of known quality to the items of these records, scored by the judge in use: the floor and the ceiling
        of a result. `items` is the evaluation that made the records. Empty: there are none for this judge."""
        return ()

    def controls_basis(self, items: Items, records: Sequence[Record]) -> Mapping[str, Any] | None:  # noqa: ARG002
        """All that the controls depend on, as JSON: those of the same basis are computed once per store. None: they are
        computed for every run."""
        return None

    def synthesis(self) -> Synthesis | None:
        """Generation of data, with models and offline."""
        return None

    def import_prompts(self, checkout: Path, out: Path) -> Imported | None:  # noqa: ARG002
        """Copy its authors' prompts from a checkout of their repository into a folder for `--prompts`."""
        return None

    def certification(self) -> Certification | None:
        """How it is compared with its authors' code."""
        return None

    def published_results(self) -> PublishedResults | None:
        """What its paper reports, to be shown beside runs as published."""
        return None

    def people(self) -> People | None:
        """Human evaluation: tasks for people, and how their labels correspond to those of judges."""
        return None

    def judgement_export(self) -> JudgementExport | None:
        """Export of judge output as training data."""
        return None

    @abstractmethod
    def opener(self, data: DataSet, settings: Sequence[Any], context: Context) -> Opener:
        """The opener of evaluations of this data with these settings."""


class Training(Protocol):
    """Training data of a benchmark."""

    evaluators: tuple[str, ...]  # kinds of evaluator that can be trained: judge, matcher
    method_help: Mapping[str, str]  # method of `bowstring train` -> what it is trained on, for help
    assistant_prompts: tuple[str, ...]  # name prefixes of prompts that assistants are trained on
    evaluator_prompts: tuple[str, ...]  # name prefixes of prompts that evaluators are trained on

    def assistant(self, data: DataSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
        """Examples for an assistant, for SFT or DPO."""
        ...

    def evaluator(
        self, source: str, revision: str | None, settings: TrainSettings, folder: PromptFolder
    ) -> EvaluatorData:
        """Examples for an evaluator from transcripts or labels, and the held-out test examples."""
        ...


class JudgementExport(Protocol):
    """Judge output of finished runs, as a table of training data."""

    config: str  # folder of the table in the folder of a data set
    row: Noun
    roles: tuple[str, ...]  # the first of these roles that a run has is the teacher

    def rows(self, record: Mapping[str, Any], left_out: Counter[str]) -> Iterator[Hashable]:
        """The rows of a record; records without rows are counted in `left_out`, by reason."""
        ...

    def table(self, rows: Sequence[Any]) -> pa.Table: ...


T = TypeVar("T")


def require_part(benchmark: Benchmark, part: T | None, what: str) -> T:
    """An optional part of a benchmark; a UsageError if it is missing."""
    if part is None:
        raise UsageError(f"{benchmark.title} has no {what}")
    return part
