"""What a benchmark says of itself. Everything outside benchmarks/ learns about a benchmark from here.

A benchmark is one object, an instance of a subclass of `Benchmark`. What it must say: its name and words, its
settings, how its data is read, how its items are evaluated, and what its records come to. The rest is optional; a
command that needs a part which a benchmark does not have says so.
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
from bowstring.benchmarks.people import People
from bowstring.benchmarks.view import View
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice, Format
from bowstring.datasets.reading import Locate, Reading
from bowstring.errors import UsageError
from bowstring.metrics.measures import MetricSet
from bowstring.prompts import PromptFolder
from bowstring.runs.codec import KEYS_ONLY, Codec
from bowstring.runs.items import Items
from bowstring.runs.runner import Record
from bowstring.training.evaluators import ToEvaluate
from bowstring.training.examples import Examples
from bowstring.training.settings import TrainSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from bowstring.benchmarks.synthesis import Synthesis
    from bowstring.prompts.importing import Imported


class Noun(NamedTuple):
    """What something is called, one of it and several."""

    one: str
    many: str


@dataclass(frozen=True, slots=True)
class Context:
    """What an evaluation is opened with, besides its data, settings and prompts."""

    data: str  # the name of the data set, as the user wrote it
    judge: str | None  # the judge by name: also builtin or truth, which are no models
    models: Mapping[str, str]  # names by role, of roles that are models
    store: Path  # of responses; whatever else is derived may lie beside it
    tell: Callable[[str], None] = field(default=lambda line: None)


# Opens the evaluation of some settings; evaluations that are opened by one of these share what they can.
Opener = Callable[[Any, PromptFolder], Items]


class Benchmark(ABC):
    name: ClassVar[str]  # as commands call it
    title: ClassVar[str]  # as people call it
    about: ClassVar[str]  # in one line
    item: ClassVar[Noun] = Noun("item", "items")  # what is asked
    id_help: ClassVar[str] = "the key of an item"  # the ids that `bowstring data show` takes, for help
    cluster: ClassVar[Noun] = Noun("user", "users")  # whose items are not independent, so what is resampled
    settings: ClassVar[type[Any]]  # a frozen dataclass: everything that changes a result
    format: ClassVar[Format]
    default_config: ClassVar[str] = ""  # the config that the hub calls default
    origins: ClassVar[Mapping[str, Origin]] = {}  # of published sets, by their names in lower case
    roles: ClassVar[tuple[str, ...]] = ("judge",)  # models beside the evaluated one
    judges: ClassVar[tuple[str, ...]] = ("builtin",)  # judges that are no models
    has_bundled_set: ClassVar[bool] = False
    codec: ClassVar[Codec] = KEYS_ONLY  # how its records are written and read; this one asks for a key alone
    judge_prompts: ClassVar[tuple[str, ...]] = ("judge",)  # words in the names of prompts that judges read
    without_judge: ClassVar[str] = ""  # the metrics, in words, that no judge has a say in
    # What a record says of its item, whatever a model answered: alike in two runs on the same item.
    item_fields: ClassVar[tuple[str, ...]] = ("type", "question", "gold", "evidence")

    @abstractmethod
    def templates(self) -> Traversable:
        """The folder of its prompts."""

    @abstractmethod
    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        """Read and check a set; `locate` finds the files of a choice."""

    def prompts(self, override: Path | None = None) -> PromptFolder:
        """Its prompts, with those of a user's folder in their place."""
        return PromptFolder(self.name, self.templates(), override)

    def bundled(self, splits: Collection[str]) -> DataSet:  # noqa: ARG002
        """The small set that comes with it."""
        raise UsageError(f"{self.title} has no bundled set; name its data with --data")

    def choice(self, settings: Mapping[str, Any]) -> Choice:
        """Which part of a data set an evaluation with these settings reads."""
        return Choice(tuple(settings.get("splits") or ()), configs="default")

    def check_roles(self, named: Mapping[str, Any]) -> None:  # noqa: B027
        """That these roles go together; a judge that is no model is not among them."""

    def settle(self, given: dict[str, Any], *, several: bool) -> dict[str, Any]:  # noqa: ARG002
        """Keyword arguments with defaults that depend on each other; `several` for a sweep."""
        return given

    def asks_models(self, settings: Any) -> bool:  # noqa: ARG002
        """Whether an evaluation with these settings asks any model at all."""
        return True

    @abstractmethod
    def metrics(self, settings: Mapping[str, Any]) -> MetricSet:
        """Its metrics, with their scales and order, of a run with these settings."""

    def cluster_of(self, record: Mapping[str, Any]) -> str:
        """Whose item a record is: those of one cluster are not independent."""
        return str(record.get("user", record["key"]))

    def grouped(self, records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
        """The records by axis and group, in the order to show them; an axis tells at least two groups apart."""
        kinds: dict[str, list[Record]] = {}
        for record in records:
            kinds.setdefault(str(record["type"]), []).append(record)
        return {"type": kinds} if len(kinds) > 1 else {}

    def view(self) -> View:
        """How its runs are shown; as it is, for records as `View` describes them."""
        return View()

    def tasks_of(self, record: Record) -> list[Mapping[str, Any]]:
        """The parts of a record that were asked and judged by themselves, each with its own failure and judgement."""
        return [record]

    # Optional parts. None: the benchmark does not have it, and commands say so (`needed`).

    def training(self) -> Training | None:
        """What it teaches assistants and evaluators."""
        return None

    def auditing(self) -> Auditing | None:
        """The checks of whether a score means what it says."""
        return None

    def judge_note(self, judge: str) -> str | None:  # noqa: ARG002
        """What a reader must know of a judge that is no model."""
        return None

    def synthesis(self) -> Synthesis | None:
        """How data of its kind is made, with models and offline."""
        return None

    def import_prompts(self, checkout: Path, out: Path) -> Imported | None:  # noqa: ARG002
        """Copy its authors' prompts from a checkout of their repository into a folder for `--prompts`."""
        return None

    def people(self) -> People | None:
        """What people are asked about its records, and how their labels meet those of its judges."""
        return None

    def judgement_export(self) -> JudgementExport | None:
        """What its judges wrote, as training data."""
        return None

    @abstractmethod
    def opener(self, data: DataSet, settings: Sequence[Any], context: Context) -> Opener:
        """What opens evaluations of this data with any of these settings."""


class Training(Protocol):
    """What a benchmark teaches."""

    evaluators: tuple[str, ...]  # kinds of evaluator that can be trained: judge, matcher
    method_help: Mapping[str, str]  # method of `bowstring train` -> what it is trained on, for help
    assistant_prompts: tuple[str, ...]  # name prefixes of prompts that assistants are trained on
    evaluator_prompts: tuple[str, ...]  # name prefixes of prompts that evaluators are trained on

    def assistant(self, data: DataSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
        """What an assistant learns from a data set, by SFT or DPO."""
        ...

    def evaluator(self, source: str, revision: str | None, settings: TrainSettings, folder: PromptFolder) -> ToEvaluate:
        """What an evaluator learns from transcripts or labels, and what is held out to test it."""
        ...


class JudgementExport(Protocol):
    """What the judges of finished runs wrote, as a table to train judges on."""

    config: str  # the folder of the table, in a folder that holds a data set
    row: Noun
    roles: tuple[str, ...]  # whose words it is: the first of these roles that a run had

    def rows(self, record: Mapping[str, Any], left_out: Counter[str]) -> Iterator[Hashable]:
        """The rows that a record gives; what gives none is counted in `left_out`, by reason."""
        ...

    def table(self, rows: Sequence[Any]) -> pa.Table: ...


T = TypeVar("T")


def require_part(benchmark: Benchmark, part: T | None, what: str) -> T:
    """An optional part of a benchmark; a UsageError if it does not have it."""
    if part is None:
        raise UsageError(f"{benchmark.title} has no {what}")
    return part
