"""CUPID, as the rest of Bowstring sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, ClassVar

from bowstring.benchmarks.cupid import mini, reading
from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.evaluation import CupidEvaluation, CupidSettings
from bowstring.benchmarks.cupid.layout import CONFIG, CupidFormat
from bowstring.benchmarks.cupid.scores import cluster_of
from bowstring.benchmarks.interface import Benchmark, Context, JudgementExport, Noun, Opener, Training
from bowstring.benchmarks.people import People
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice
from bowstring.datasets.reading import Locate, Reading
from bowstring.errors import UsageError


class Cupid(Benchmark):
    name = "cupid"
    title = "CUPID"
    about = "CUPID: which preference applies in this context, and does the answer follow it?"
    item = Noun("instance", "instances")
    cluster = Noun("persona", "personas")
    settings = CupidSettings
    has_bundled_set = True
    format = CupidFormat()
    origins: ClassVar[Mapping[str, Origin]] = {
        "kixlab/cupid": Origin(
            "cc-by-4.0",
            "Published with CUPID (COLM 2025, arXiv 2508.01674). Personas, sessions and the users' feedback were "
            "written by language models in a four-step pipeline.",
        ),
        mini.NAME: Origin(
            "apache-2.0",
            "Written for Bowstring as a small, readable set in CUPID's format. All people in it are invented.",
        ),
    }
    roles = ("judge", "matcher")
    default_config = CONFIG

    def templates(self) -> Traversable:
        return files("bowstring.benchmarks.cupid") / "templates"

    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        return reading.read(locate, choice)

    def bundled(self, splits: Collection[str]) -> DataSet:
        return mini.load(splits)

    def check_roles(self, named: Mapping[str, Any]) -> None:
        if "matcher" in named and "judge" not in named:
            raise UsageError(
                "--matcher needs --judge, and a model for it: the judge writes the checklists that are matched"
            )

    def cluster_of(self, record: Mapping[str, Any]) -> str:
        return cluster_of(record)

    def training(self) -> Training:
        from bowstring.benchmarks.cupid.training import CupidTraining

        return CupidTraining()

    def people(self) -> People:
        from bowstring.benchmarks.cupid.people import CupidPeople

        return CupidPeople()

    def judgement_export(self) -> JudgementExport:
        from bowstring.benchmarks.cupid.judgement_export import CupidJudgementExport

        return CupidJudgementExport()

    def opener(self, data: DataSet, settings: Sequence[Any], context: Context) -> Opener:  # noqa: ARG002
        assert isinstance(data, CupidSet)
        return lambda one, prompts: CupidEvaluation(data, one, prompts, matcher=context.models.get("matcher"))


CUPID = Cupid()
