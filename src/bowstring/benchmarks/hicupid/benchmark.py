"""HiCUPID, as the rest of Bowstring sees it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, ClassVar

from bowstring.benchmarks.hicupid import mini, reading
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.evaluation import HicupidSettings, opener
from bowstring.benchmarks.hicupid.layout import HicupidFormat
from bowstring.benchmarks.hicupid.scores import cluster_of
from bowstring.benchmarks.interface import Benchmark, Context, JudgementExport, Noun, Opener, Training
from bowstring.benchmarks.people import People
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.layout import Choice
from bowstring.datasets.reading import Locate, Reading


class Hicupid(Benchmark):
    name = "hicupid"
    title = "HiCUPID"
    about = "HiCUPID: a user's later questions behind a long history, judged against gold answers."
    item = Noun("question", "questions")
    cluster = Noun("user", "users")
    settings = HicupidSettings
    has_bundled_set = True
    format = HicupidFormat()
    origins: ClassVar[Mapping[str, Origin]] = {
        "12kimih/hicupid": Origin(
            "apache-2.0",
            "Published with HiCUPID (ACL 2025, arXiv 2506.01262). Users, dialogues, questions and answers were "
            "written by language models from sampled personas, profiles and schedules.",
        ),
        mini.NAME: Origin(
            "apache-2.0",
            "Written for Bowstring as a small, readable set in HiCUPID's format. All people in it are invented.",
        ),
    }
    judges = ("builtin", "truth")

    def templates(self) -> Traversable:
        return files("bowstring.benchmarks.hicupid") / "templates"

    def read(self, locate: Locate, choice: Choice) -> Reading[DataSet]:
        return reading.read(locate, choice)

    def bundled(self, splits: Collection[str]) -> DataSet:
        return mini.load(splits)

    def choice(self, settings: Mapping[str, Any]) -> Choice:
        """All splits but train, unless some are named: what a model may have been trained on does not test it."""
        return replace(super().choice(settings), leave_out=("train",))

    def cluster_of(self, record: Mapping[str, Any]) -> str:
        return cluster_of(record)

    def asks_models(self, settings: Any) -> bool:
        return not settings.retrieval_only

    def training(self) -> Training:
        from bowstring.benchmarks.hicupid.training import HicupidTraining

        return HicupidTraining()

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
