"""The benchmark object of CUPID."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, ClassVar

from bowstring.benchmarks.auditing import Auditing
from bowstring.benchmarks.controls import Control
from bowstring.benchmarks.cupid import mini, reading, scores, truth
from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.evaluation import CupidEvaluation, CupidSettings, opener
from bowstring.benchmarks.cupid.layout import CONFIG, CupidFormat
from bowstring.benchmarks.cupid.records import CODEC
from bowstring.benchmarks.cupid.view import CupidView
from bowstring.benchmarks.interface import Benchmark, Context, JudgementExport, Noun, Opener, Training
from bowstring.benchmarks.people import People
from bowstring.benchmarks.published_results import PublishedResults, read_published_results
from bowstring.benchmarks.view import View
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice
from bowstring.datasets.reading import Locate, Reading
from bowstring.errors import UsageError
from bowstring.metrics.measures import MetricSet
from bowstring.runs.items import Items
from bowstring.runs.runner import Record

if TYPE_CHECKING:
    from pathlib import Path

    from bowstring.benchmarks.certification import Certification
    from bowstring.benchmarks.data_audit.audit import DataAudit
    from bowstring.benchmarks.synthesis import Synthesis
    from bowstring.prompts.importing import Imported

_PUBLISHED = (
    "Published with CUPID (COLM 2025, arXiv 2508.01674). Personas, sessions and the users' feedback were written by "
    "language models in a four-step pipeline."
)


class Cupid(Benchmark):
    name = "cupid"
    title = "CUPID"
    about = "CUPID: infer the preference that applies in a context, and follow it in an answer."
    item = Noun("instance", "instances")
    id_help = "a persona and a type (0+crofter+changing)"
    cluster = scores.CLUSTER
    settings = CupidSettings
    has_bundled_set = True
    codec = CODEC
    format = CupidFormat()
    origins: ClassVar[Mapping[str, Origin]] = {
        "kixlab/cupid": Origin(
            "cc-by-4.0",
            f"{_PUBLISHED} People checked and corrected it.",
            name="kixlab/CUPID",
            items={"test": 756},
        ),
        "kixlab/cupid-unverified": Origin(
            "unknown",
            _PUBLISHED,
            name="kixlab/CUPID-Unverified",
            not_the_benchmark="has instances that people have not verified; the paper's test set is kixlab/CUPID",
        ),
        "kixlab/cupid-raw": Origin(
            "unknown",
            _PUBLISHED,
            name="kixlab/CUPID-Raw",
            not_the_benchmark="has raw data of the authors' pipeline, from which Bowstring builds instances; the "
            "paper's test set is kixlab/CUPID",
        ),
        mini.NAME: Origin(
            "apache-2.0",
            "Written for Bowstring as a small, readable set in CUPID's format. All people in it are invented.",
        ),
    }
    judge_prompts = ("judge", "matcher", "decomposer")
    item_fields = ("type", "request", "context_factor", "preference", "checklist", "evidence")
    judges = ("builtin", truth.NAME)
    judge_help: ClassVar[Mapping[str, str]] = {truth.NAME: "is for sets made by synth --offline"}
    roles = ("judge", "matcher")
    default_config = CONFIG

    def templates(self) -> Traversable:
        return files("bowstring.benchmarks.cupid") / "templates"

    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        return reading.read(locate, choice)

    def choice(self, settings: Mapping[str, Any]) -> Choice:
        """By default all splits except train, which a model may have been trained on."""
        return replace(super().choice(settings), leave_out=("train",))

    def bundled(self, splits: Collection[str]) -> DataSet:
        return mini.load(splits)

    def check_roles(self, named: Mapping[str, Any]) -> None:
        if "matcher" in named and "judge" not in named:
            raise UsageError(
                "--matcher needs a model as --judge: the judge writes the checklists that the matcher labels"
            )

    def metrics(self, configuration: Mapping[str, Any]) -> MetricSet:
        return scores.metrics(configuration.get("settings", {}).get("protocol", "bowstring"))

    def cluster_of(self, record: Mapping[str, Any]) -> str:
        return scores.cluster_of(record)

    def grouped(self, records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
        return scores.grouped(records)

    def view(self) -> View:
        return CupidView()

    def tasks_of(self, record: Record) -> list[Mapping[str, Any]]:
        return [record[task] for task in ("inference", "generation") if task in record]

    def training(self) -> Training:
        from bowstring.benchmarks.cupid.training import CupidTraining

        return CupidTraining()

    def data_audit(self) -> DataAudit:
        from bowstring.benchmarks.cupid.data_audit import CupidDataAudit

        return CupidDataAudit(self.cluster, self.item)

    def auditing(self) -> Auditing:
        from bowstring.benchmarks.cupid.audit import CupidAuditing

        return CupidAuditing()

    def judge_note(self, judge: str) -> str | None:
        return truth.NOTE if judge == truth.NAME else None

    def controls(self, items: Items, records: Sequence[Record]) -> Sequence[Control]:
        from bowstring.benchmarks.cupid.controls import controls_of

        assert isinstance(items, CupidEvaluation)
        return controls_of(items, records)

    def controls_basis(self, items: Items, records: Sequence[Record]) -> Mapping[str, Any] | None:
        from bowstring.benchmarks.cupid.controls import basis_of

        assert isinstance(items, CupidEvaluation)
        return basis_of(items, records)

    def synthesis(self) -> Synthesis:
        from bowstring.benchmarks.cupid.synthesis import CupidSynthesis

        return CupidSynthesis()

    def import_prompts(self, checkout: Path, out: Path) -> Imported:
        from bowstring.benchmarks.cupid.importing import import_prompts

        return import_prompts(checkout, out)

    def certification(self) -> Certification:
        from bowstring.benchmarks.cupid.certification import CupidCertification

        return CupidCertification()

    def published_results(self) -> PublishedResults:
        return read_published_results(files("bowstring.benchmarks.cupid") / "published_results.yaml")

    def people(self) -> People:
        from bowstring.benchmarks.cupid.people import CupidPeople

        return CupidPeople()

    def judgement_export(self) -> JudgementExport:
        from bowstring.benchmarks.cupid.judgement_export import CupidJudgementExport

        return CupidJudgementExport()

    def opener(self, data: DataSet, settings: Sequence[Any], context: Context) -> Opener:
        assert isinstance(data, CupidSet)
        return opener(data, settings, context)


CUPID = Cupid()
