"""HiCUPID beside its authors' code: inference, keyword search and evaluation of a checkout, with one worker."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks.certification import Case
from bowstring.benchmarks.export import export
from bowstring.benchmarks.hicupid.scripted import ANSWER, FAULTS, STAGES, HicupidScript
from bowstring.certification.reference import Reference
from bowstring.certification.server import Script
from bowstring.certification.transcripts import Results
from bowstring.datasets.dataset import DataSet
from bowstring.errors import RunError
from bowstring.files.writing import write_file
from bowstring.prompts import PromptFolder
from bowstring.runs.runner import Record

# Instructions by the authors' names, with our settings.
_INSTRUCTIONS: dict[str, dict[str, Any]] = {
    "zero/user": {"instruction": "user"},
    **{f"few/system/{n}": {"shots": n} for n in (1, 3, 5)},
    **{f"few/user/{n}": {"shots": n, "instruction": "user"} for n in (1, 3, 5)},
}
_SEARCHES = (*(f"bm25/utterance/{k}" for k in (5, 15, 25)), *(f"bm25/dialogue/{k}" for k in (1, 3, 5)))
_RECALL = tuple(f"recall.{name}" for name in ("persona", "profile", "schedule", "total"))  # theirs has one digit
_GOLD = "relevant"
_MODEL_FOLDER = "GPT-4o-mini"
# Two calls that need the internet: signing in to the hub, and a vocabulary with which the program counts tokens for
# its log. Neither affects a request or a score.
_WITHOUT_NETWORK = """
import huggingface_hub
import tiktoken


class Words:
    def encode(self, text):
        return text.split()


huggingface_hub.login = lambda *given, **named: None
tiktoken.encoding_for_model = lambda name: Words()
"""


class HicupidCertification:
    repository = "github.com/anonymsubmission-arr/HiCUPID"
    packages: tuple[str, ...] = (
        *("openai", "datasets", "trl", "torch", "pandas", "tiktoken", "dotenv", "rank_bm25", "huggingface_hub"),
    )
    model = "gpt-4o-mini"
    judge = "gpt-4o-2024-11-20"
    as_openai: tuple[str, ...] = ("model", "judge")
    replaced = (
        "Two calls of the reference are replaced because they need the internet: signing in to the hub, and loading "
        "the vocabulary with which it counts tokens for its log."
    )

    def cases(self) -> Sequence[Case]:
        shares = {"clean": 0.0, "10% malformed": 0.1, "40% malformed": 0.4}
        asked = {
            **_INSTRUCTIONS,
            _GOLD: {"history": "gold"},
            **{name: {"history": name} for name in _SEARCHES},
        }
        return [
            *(Case(name, "results", STAGES, share) for name, share in shares.items()),
            *(Case(name, "requests", (ANSWER,), settings=settings) for name, settings in asked.items()),
            *(Case(name, "ends", (), fault=name) for name in FAULTS),
        ]

    def prepare(self, data: DataSet, folder: Path) -> None:
        export(data, folder)

    def script(self, prompts: PromptFolder, case: Case) -> Script:
        return HicupidScript(prompts, case)

    def run_reference(self, case: Case, reference: Reference, data: Path) -> Results:
        program = _Program(reference, data)
        if case.name in _SEARCHES:
            found = program.search(case.name)
            asked = program.infer("--rag", case.name)
            return Results(ended=asked) if asked else found
        relevant = ("--relevant", "true") if case.name == _GOLD else ()
        prompt = case.name if case.name in _INSTRUCTIONS else "zero/system"
        if (ended := program.infer("--prompt", prompt, *relevant)) or case.kind == "requests":
            return Results(ended=ended)
        if ended := program.judge(f"{prompt}/{_MODEL_FOLDER}"):
            return Results(ended=ended)
        return _counted(list(_rows(reference.folder / "output" / "evaluation" / prompt / _MODEL_FOLDER)))

    def settings(self, case: Case) -> Mapping[str, Any]:
        return case.settings

    def results(self, case: Case, records: Sequence[Record], metrics: Mapping[str, Any]) -> Results:
        if case.kind == "ends":
            failed = [f"{r['key']}: {r['failure']['reason']}" for r in records if "failure" in r]
            return Results(ended=failed[0] if failed else "")
        values = {name: entry["value"] for name, entry in metrics["metrics"].items()}
        if case.kind == "requests":
            hits = {r["key"]: {"recall": r["recall"]} for r in records if "recall" in r}
            return Results(hits, {name: round(values[name], 1) for name in _RECALL if name in values})
        items = {
            r["key"]: {
                "side": r["answer_is"],
                "answer": None if r["finish"] == "refusal" else r["answer"],
                "verdict": r["judgement"],
                "score": r["published"]["score"],
                "parsed": r["published"]["parsed"],
            }
            for r in records
            if "published" in r
        }
        names = {"persona": "score.persona", "profile": "score.profile", "schedule": "score.schedule"}
        totals = {kind: values[name] for kind, name in names.items() if name in values}
        return Results(items, totals | {name: values[name] for name in ("win", "tie", "lose")})


class _Program:
    """The scripts of the checkout."""

    def __init__(self, reference: Reference, data: Path) -> None:
        self._reference, self._data = reference, data
        self._configs = reference.checkout / "configs"
        patched = reference.folder / "patched"
        patched.mkdir(parents=True, exist_ok=True)
        write_file(patched / "sitecustomize.py", _WITHOUT_NETWORK)
        self._environment = {"PYTHONPATH": f"{patched}:{reference.checkout}"}

    def infer(self, *arguments: str) -> str:
        """Ask the model; return why the program ended early, if it did."""
        return self._ask("inference", "--dataset", str(self._data), "--model", HicupidCertification.model, *arguments)

    def judge(self, answers: str) -> str:
        return self._ask("evaluate", "--dataset", answers, "--model", HicupidCertification.judge)

    def search(self, name: str) -> Results:
        """Search with the questions; return what one search found."""
        (self._reference.folder / "data" / "csv").mkdir(parents=True, exist_ok=True)
        self._reference.must_run(
            *("-m", "src.bm25", "--config", str(self._configs / "bm25.yaml"), "--dataset", str(self._data)),
            *("--num_proc", "1"),
            environment=self._environment,
        )
        _, unit, k = name.split("/")
        with (self._reference.folder / "data" / "csv" / "bm25_recall.csv").open(encoding="utf-8") as file:
            row = next(row for row in csv.DictReader(file) if (row["unit"], row["k"]) == (unit, k))
        hits = {
            _key(one): {"recall": _hit(one["type"], one[f"{unit}_recall"][k])}
            for one in _rows(self._reference.folder / "output" / "rag")
        }
        return Results(hits, {name: float(row[name.removeprefix("recall.")]) for name in _RECALL})

    def _ask(self, script: str, *arguments: str) -> str:
        one_by_one = ("--disable_batch", "true", "--num_shards", "1", "--num_proc", "1")
        ran = self._reference.run(
            *("-m", f"src.{script}_openai", "--config", str(self._configs / f"{script}_openai.yaml")),
            *arguments,
            *one_by_one,
            environment=self._environment,
        )
        return ran.reason if ran.code else ""


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    """The rows of the set that the authors' code saved below a folder."""
    import pyarrow as pa

    files = sorted(folder.glob("*/data-*.arrow"))
    if not files:
        raise RunError(f"the reference code saved no results in {folder}")
    for file in files:
        with pa.OSFile(str(file)) as source, pa.ipc.open_stream(source) as reader:
            yield from reader.read_all().to_pylist()


def _key(row: Mapping[str, Any]) -> str:
    return f"{row['user_id']}/{row['question_id']}"


def _hit(kind: str, hits: Mapping[str, float]) -> float:
    """Whether a search found evidence; for a profile question the mean for its two kinds of evidence."""
    return (hits["profile_1"] + hits["profile_2"]) / 2 if kind == "profile" else hits[kind]


def _counted(rows: Sequence[Mapping[str, Any]]) -> Results:
    items = {
        _key(row): {
            "side": row["label"],
            "answer": row["model_answer"],
            "verdict": row["evaluation"],
            "score": row["score"],
            "parsed": row["parsed"],
        }
        for row in rows
    }
    by_kind: dict[str, list[float]] = {}
    for row in rows:
        by_kind.setdefault(row["type"], []).append(row["score"])
    totals = {kind: 100 * sum(scores) / len(scores) for kind, scores in sorted(by_kind.items())}
    for name, score in {"win": 1.0, "tie": 0.5, "lose": 0.0}.items():
        totals[name] = 100 * sum(row["score"] == score for row in rows) / len(rows)
    return Results(items, totals)
