"""Two third-party benchmarks with a metric of their own, where lower is better: with gold answers and an audit, and
without."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.questions import Question, QuestionBenchmark, QuestionSet
from bowstring.benchmarks.view import View
from bowstring.datasets.layout import OneFile
from bowstring.datasets.reading import Reading
from bowstring.metrics.measures import MetricSet, Scale, mean
from bowstring.records import Dialogue, Message
from tests.support.plugin import PACKAGE, installed, write_diaries

SPLITS = {"fact": "spring", "change": "autumn"}


def slips(record):
    return None if record.get("score") is None else 1 - record["score"]


class Errands(QuestionBenchmark):
    name = "errands"
    title = "Errands"
    about = "Errands: how often does an assistant slip?"
    item = Noun("errand", "errands")
    cluster = Noun("household", "households")
    format = OneFile("errands", "errands.json")

    def templates(self):
        return PACKAGE / "diary" / "templates"

    def metrics(self, settings):
        return MetricSet({"slips": replace(mean(slips, 7, Scale(0, 7, decimals=2)), higher_is_better=False)})

    def read(self, locate, choice):
        source = locate(choice)
        users = json.loads((source.root / f"{self.name}.json").read_text())["users"]
        histories = {
            user["name"]: tuple(
                Dialogue(s["id"], "visit", tuple(Message(t["role"], (t["text"],)) for t in s["turns"]), when=s["date"])
                for s in user["sessions"]
            )
            for user in users
        }
        questions = [
            Question(q["id"], user["name"], q["question"], q["answer"], q["kind"], split=SPLITS[q["kind"]])
            for user in users
            for q in user["questions"]
        ]
        found = QuestionSet(self.name, source.name, histories, questions, fingerprint=source.fingerprint())
        return Reading(found, [])


class WithoutGold(View):
    def gold(self, record):
        return ""


class Chores(Errands):
    name = "chores"
    title = "Chores"
    format = OneFile("chores", "chores.json")

    def view(self):
        return WithoutGold()

    def auditing(self):
        return None


ERRANDS, CHORES = Errands(), Chores()


@contextmanager
def errands_installed(folder: Path) -> Iterator[None]:
    """With both benchmarks installed, by the metadata of a package in this folder."""
    about = folder / "errands-1.dist-info"
    about.mkdir(parents=True, exist_ok=True)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: errands\nVersion: 1\n")
    points = "errands = tests.support.errands:ERRANDS\nchores = tests.support.errands:CHORES\n"
    (about / "entry_points.txt").write_text(f"[bowstring.benchmarks]\n{points}")
    with installed(folder):
        yield


def write_sets(folder: Path) -> None:
    """The diaries, as data of both benchmarks."""
    for name in ("errands", "chores"):
        write_diaries(folder / name)
        (folder / name / "diary.json").rename(folder / name / f"{name}.json")
