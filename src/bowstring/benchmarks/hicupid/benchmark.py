"""The benchmark object of HiCUPID."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any, ClassVar

from bowstring.benchmarks.auditing import Auditing
from bowstring.benchmarks.controls import Control
from bowstring.benchmarks.hicupid import mini, reading, scores, truth
from bowstring.benchmarks.hicupid.choosing import scores as choice_scores
from bowstring.benchmarks.hicupid.choosing.scores import by_options, is_choice
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.evaluation import PUBLISHED_SEARCHES, HicupidEvaluation, HicupidSettings, opener
from bowstring.benchmarks.hicupid.layout import HicupidFormat
from bowstring.benchmarks.hicupid.records import CODEC
from bowstring.benchmarks.hicupid.validity import compared_lengths
from bowstring.benchmarks.hicupid.view import HicupidView
from bowstring.benchmarks.interface import Benchmark, Context, JudgementExport, Noun, Opener, Training
from bowstring.benchmarks.people import People
from bowstring.benchmarks.published_results import PublishedResults, read_published_results
from bowstring.benchmarks.view import View
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice
from bowstring.datasets.reading import Locate, Reading
from bowstring.metrics.length_control import Comparison
from bowstring.metrics.measures import MetricSet
from bowstring.models.names import may_score
from bowstring.runs.items import Items
from bowstring.runs.runner import Record

if TYPE_CHECKING:
    from pathlib import Path

    from bowstring.benchmarks.certification import Certification
    from bowstring.benchmarks.data_audit.audit import DataAudit
    from bowstring.benchmarks.synthesis import Synthesis
    from bowstring.prompts.importing import Imported


class Hicupid(Benchmark):
    name = "hicupid"
    title = "HiCUPID"
    about = "HiCUPID: questions of a user after a long history, judged against gold answers."
    item = Noun("question", "questions")
    id_help = "a user (3) or a question (3/120)"
    cluster = Noun("user", "users")
    settings = HicupidSettings
    has_bundled_set = True
    codec = CODEC
    format = HicupidFormat()
    origins: ClassVar[Mapping[str, Origin]] = {
        "12kimih/hicupid": Origin(
            "apache-2.0",
            "Published with HiCUPID (ACL 2025, arXiv 2506.01262). Users, dialogues, questions and answers were "
            "written by language models from sampled personas, profiles and schedules.",
            name="12kimih/HiCUPID",
            items={"train": 40_000, "test_1": 10_000, "test_2": 10_000},
        ),
        mini.NAME: Origin(
            "apache-2.0",
            "Written for Bowstring as a small, readable set in HiCUPID's format. All people in it are invented.",
        ),
    }
    without_judge = "text overlap and recall"
    item_fields = ("question", "personalized_answer", "general_answer", "evidence", "type")
    judges = ("builtin", truth.NAME)
    judge_help: ClassVar[Mapping[str, str]] = {truth.NAME: "is for sets made by synth --offline"}

    def templates(self) -> Traversable:
        return files("bowstring.benchmarks.hicupid") / "templates"

    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        return reading.read(locate, choice)

    def bundled(self, splits: Collection[str]) -> DataSet:
        return mini.load(splits)

    def choice(self, settings: Mapping[str, Any]) -> Choice:
        """By default all splits except train, which a model may have been trained on."""
        return replace(super().choice(settings), leave_out=("train",))

    def settle(self, given: dict[str, Any], *, several: bool) -> dict[str, Any]:
        """--retrieval-only measures the published searches by default, and --protocol published has their tokens. A
        model chooses without chance, and by likelihood if it says how probable answers are."""
        if given.get("protocol") == "published":
            given = {"bm25_tokens": "whitespace", **given}
        if given.get("task") == "choose" and "like" not in given:
            given = {"by": "likelihood" if may_score(given.get("model")) else "letter", "temperature": 0.0, **given}
        if not given.get("retrieval_only") or "history" in given:
            return given
        return given | {"history": list(PUBLISHED_SEARCHES) if several else PUBLISHED_SEARCHES[0]}

    def asks_models(self, settings: Any) -> bool:
        return not settings.retrieval_only

    def is_judged(self, settings: Mapping[str, Any]) -> bool:
        return bool(settings.get("task") != "choose")

    def metrics(self, configuration: Mapping[str, Any]) -> MetricSet:
        if not self.is_judged(configuration.get("settings", {})):
            return choice_scores.METRICS
        protocol = configuration.get("settings", {}).get("protocol", "bowstring")
        return scores.metrics_by(configuration.get("judge"), protocol)

    def cluster_of(self, record: Mapping[str, Any]) -> str:
        return scores.cluster_of(record)

    def compared_lengths(self, records: Sequence[Record]) -> list[Comparison]:
        return compared_lengths([r for r in records if not is_choice(r)], scores.cluster_of)

    def grouped(self, records: Sequence[Record]) -> dict[str, dict[str, list[Record]]]:
        return scores.grouped(records) | by_options(records)

    def view(self) -> View:
        return HicupidView()

    def training(self) -> Training:
        from bowstring.benchmarks.hicupid.training import HicupidTraining

        return HicupidTraining()

    def data_audit(self) -> DataAudit:
        from bowstring.benchmarks.hicupid.data_audit import HicupidDataAudit

        return HicupidDataAudit(self.cluster, self.item)

    def auditing(self) -> Auditing:
        from bowstring.benchmarks.hicupid.audit import HicupidAuditing

        return HicupidAuditing()

    def judge_note(self, judge: str) -> str | None:
        return truth.NOTE if judge == truth.NAME else None

    def controls(self, items: Items, records: Sequence[Record]) -> Sequence[Control]:
        assert isinstance(items, HicupidEvaluation)
        return items.controls(records)

    def controls_basis(self, items: Items, records: Sequence[Record]) -> Mapping[str, Any] | None:
        assert isinstance(items, HicupidEvaluation)
        return items.controls_basis(records)

    def synthesis(self) -> Synthesis:
        from bowstring.benchmarks.hicupid.synthesis import HicupidSynthesis

        return HicupidSynthesis()

    def import_prompts(self, checkout: Path, out: Path) -> Imported:
        from bowstring.benchmarks.hicupid.importing import import_prompts

        return import_prompts(checkout, out)

    def certification(self) -> Certification:
        from bowstring.benchmarks.hicupid.certification import HicupidCertification

        return HicupidCertification()

    def published_results(self) -> PublishedResults:
        return read_published_results(files("bowstring.benchmarks.hicupid") / "published_results.yaml")

    def people(self) -> People:
        from bowstring.benchmarks.hicupid.people import HicupidPeople

        return HicupidPeople()

    def judgement_export(self) -> JudgementExport:
        from bowstring.benchmarks.hicupid.judgement_export import HicupidJudgementExport

        return HicupidJudgementExport()

    def opener(self, data: DataSet, settings: Sequence[Any], context: Context) -> Opener:
        assert isinstance(data, HicupidSet)
        return opener(data, settings, context)


HICUPID = Hicupid()
