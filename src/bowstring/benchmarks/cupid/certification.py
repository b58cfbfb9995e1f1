"""CUPID beside its authors' code: `python -m evaluation.run` of a checkout, with one worker."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring.benchmarks.certification import Case
from bowstring.benchmarks.cupid.data import CupidSet, to_row
from bowstring.benchmarks.cupid.scripted import FAULTS, STAGES, CupidScript
from bowstring.certification.reference import Reference
from bowstring.certification.server import Script
from bowstring.certification.transcripts import Results
from bowstring.datasets.dataset import DataSet
from bowstring.errors import RunError
from bowstring.files.escaping import replace_surrogates
from bowstring.files.writing import write_file
from bowstring.prompts import PromptFolder
from bowstring.runs.runner import Record

# Prints what the authors' code counts for each instance: their files have it only for all together.
_COUNT = """
import json, sys
from evaluation.pipeline.result import process_results
print("COUNTED " + json.dumps(process_results(*sys.argv[1:])))
"""
_SHARES = ("precision", "recall", "f1")
_COUNTS = ("n_true", "n_predicted", "n_true_matched", "n_predicted_matched")
_OF_ITEMS = {"n_true_matched": "true_matched", "n_predicted_matched": "predicted_matched"}


class CupidCertification:
    repository = "github.com/kixlab/CUPID"
    packages: tuple[str, ...] = ("openai", "anthropic", "google.genai", "datasets", "yaml")
    model = "gpt-4.1-nano-2025-04-14"
    judge = "gpt-4o-2024-11-20"
    as_openai: tuple[str, ...] = ("judge",)
    replaced = ""

    def cases(self) -> Sequence[Case]:
        shares = {"clean": 0.0, "10% malformed": 0.1, "40% malformed": 0.4}
        counted = [Case(name, "results", STAGES, share) for name, share in shares.items()]
        alone = [
            Case(f"{task} alone, 40% malformed", "results", stages, 0.4, settings={"task": task})
            for task, stages in {"inference": STAGES[:3], "generation": STAGES[3:]}.items()
        ]
        return [*counted, *alone, *(Case(name, "ends", (), fault=name) for name in FAULTS)]

    def prepare(self, data: DataSet, folder: Path) -> None:
        assert isinstance(data, CupidSet)
        folder.mkdir(parents=True)
        for n, instance in enumerate(data.instances):  # numbered: the authors' code cuts a name at its first dot
            write_file(folder / f"{n}.json", json.dumps(to_row(instance), ensure_ascii=False))

    def script(self, prompts: PromptFolder, case: Case) -> Script:
        return CupidScript(prompts, case)

    def run_reference(self, case: Case, reference: Reference, data: Path) -> Results:
        results, task = "results", str(case.settings.get("task", "both"))
        ran = reference.run(
            *("-m", "evaluation.run", "--results_dir", results, "--model", self.model, "--data_dir", str(data)),
            *("--evaluator", self.judge, "--n_workers", "1", "--task", task),
        )
        if ran.code:
            return Results(ended=ran.reason)
        totals = json.loads((reference.folder / results / self.model / "results.json").read_text(encoding="utf-8"))
        counted = reference.must_run("-c", _COUNT, results, self.model, task).output
        line = next((line for line in counted.splitlines() if line.startswith("COUNTED ")), None)
        if line is None:
            raise RunError("the reference code did not print its results per instance")
        items = {key: _flat(one) for key, one in json.loads(line.removeprefix("COUNTED ")).items()}
        for name, item in items.items():
            saved = json.loads((reference.folder / results / self.model / f"{name}.json").read_text(encoding="utf-8"))
            if "inferred" in saved["inference"]:
                inferred = saved["inference"]["inferred"]
                item |= {
                    "preference": inferred["preference"],
                    "checklist": [_text(one) for one in inferred["checklist"]],
                }
        items = {_key(data / f"{name}.json"): item for name, item in items.items()}
        return Results(items, _totals(totals))

    def settings(self, case: Case) -> Mapping[str, Any]:
        return case.settings

    def results(self, case: Case, records: Sequence[Record], metrics: Mapping[str, Any]) -> Results:
        if case.kind == "ends":
            ends = [f"{r['key']}: {r['published']['ends']}" for r in records if r["published"].get("ends")]
            return Results(ended=ends[0] if ends else "")
        kept = [r for r in records if not r["published"].get("dropped")]
        items = {r["key"]: _counted(r) for r in kept}
        found, totals = metrics["metrics"], dict[str, float]()
        if "inference.f1" in found:
            totals |= {name: found[f"inference.{name}"]["value"] for name in _SHARES}
            totals |= {name: sum(item[_OF_ITEMS.get(name, name)] for item in items.values()) for name in _COUNTS}
        if "generation.score" in found:
            totals |= {"score": found["generation.score"]["value"], "n": found["generation.score"]["n"]}
        return Results(items, totals)


def _key(path: Path) -> str:
    row = json.loads(path.read_text(encoding="utf-8"))
    return f"{row['persona_id']}+{row['instance_type']}"


def _text(item: Any) -> str:
    """An item as our records hold it: half of a surrogate pair is not text in UTF-8."""
    return replace_surrogates(str(item))


def _totals(results: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """The totals of the tasks that were run."""
    found = dict[str, float]()
    if inference := results.get("inference"):
        found |= {name: 100 * inference[name] for name in _SHARES} | {name: inference[name] for name in _COUNTS}
    if generation := results.get("generation"):
        found |= {"score": generation["average_score"], "n": generation["n_instances"]}
    return found


def _flat(counted: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {name: value for part in counted.values() for name, value in part.items()}


def _counted(record: Record) -> dict[str, Any]:
    found, inferred = record["published"], record.get("inference")
    item: dict[str, Any] = {}
    if inferred is not None:
        predicted, true = found.get("predicted", []), found.get("true", [])
        item = {
            "true_matched": sum(true),
            "predicted_matched": sum(predicted),
            "n_true": len(true),
            "n_predicted": len(predicted),
            "preference": inferred.get("preference"),
            "checklist": inferred.get("checklist"),
        }
    return item | ({"score": found.get("score")} if "generation" in record else {})
