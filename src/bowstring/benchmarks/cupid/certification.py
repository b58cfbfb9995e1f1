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
from bowstring.files.writing import write_file
from bowstring.prompts import PromptFolder
from bowstring.runs.runner import Record

# Prints what the authors' code counts for each instance: their files have it only for all together.
_COUNT = """
import json, sys
from evaluation.pipeline.result import process_results
print("COUNTED " + json.dumps(process_results(sys.argv[1], sys.argv[2], "both")))
"""


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
        return [*counted, *(Case(name, "ends", (), fault=name) for name in FAULTS)]

    def prepare(self, data: DataSet, folder: Path) -> None:
        assert isinstance(data, CupidSet)
        folder.mkdir(parents=True)
        for n, instance in enumerate(data.instances):  # numbered: the authors' code cuts a name at its first dot
            write_file(folder / f"{n}.json", json.dumps(to_row(instance), ensure_ascii=False))

    def script(self, prompts: PromptFolder, case: Case) -> Script:
        return CupidScript(prompts, case)

    def run_reference(self, case: Case, reference: Reference, data: Path) -> Results:  # noqa: ARG002 - all are run alike
        results = "results"
        ran = reference.run(
            *("-m", "evaluation.run", "--results_dir", results, "--model", self.model, "--data_dir", str(data)),
            *("--evaluator", self.judge, "--n_workers", "1", "--task", "both"),
        )
        if ran.code:
            return Results(ended=ran.reason)
        totals = json.loads((reference.folder / results / self.model / "results.json").read_text(encoding="utf-8"))
        counted = reference.must_run("-c", _COUNT, results, self.model).output
        line = next((line for line in counted.splitlines() if line.startswith("COUNTED ")), None)
        if line is None:
            raise RunError("the reference code did not print its results per instance")
        items = {key: _flat(one) for key, one in json.loads(line.removeprefix("COUNTED ")).items()}
        for name, item in items.items():
            saved = json.loads((reference.folder / results / self.model / f"{name}.json").read_text(encoding="utf-8"))
            inferred = saved["inference"]["inferred"]
            item |= {"preference": inferred["preference"], "checklist": [str(one) for one in inferred["checklist"]]}
        items = {_key(data / f"{name}.json"): item for name, item in items.items()}
        inference, generation = totals["inference"], totals["generation"]
        shares = {name: 100 * inference[name] for name in ("precision", "recall", "f1")}
        counts = {name: inference[name] for name in ("n_true", "n_predicted", "n_true_matched", "n_predicted_matched")}
        return Results(items, shares | counts | {"score": generation["average_score"], "n": generation["n_instances"]})

    def settings(self, case: Case) -> Mapping[str, Any]:
        return case.settings

    def results(self, case: Case, records: Sequence[Record], metrics: Mapping[str, Any]) -> Results:
        if case.kind == "ends":
            ends = [f"{r['key']}: {r['published']['ends']}" for r in records if r["published"].get("ends")]
            return Results(ended=ends[0] if ends else "")
        kept = [r for r in records if not r["published"].get("dropped")]
        items = {r["key"]: _counted(r) for r in kept}
        values = {name: entry["value"] for name, entry in metrics["metrics"].items()}
        totals = {name: values[f"inference.{name}"] for name in ("precision", "recall", "f1")}
        for name in ("n_true", "n_predicted", "n_true_matched", "n_predicted_matched"):
            totals[name] = sum(item[name.removeprefix("n_") if "matched" in name else name] for item in items.values())
        scored = metrics["metrics"]["generation.score"]
        return Results(items, totals | {"score": scored["value"], "n": scored["n"]})


def _key(path: Path) -> str:
    row = json.loads(path.read_text(encoding="utf-8"))
    return f"{row['persona_id']}+{row['instance_type']}"


def _flat(counted: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    return {**counted["inference"], "score": counted["generation"]["score"]}


def _counted(record: Record) -> dict[str, Any]:
    found, inferred = record["published"], record["inference"]
    predicted, true = found.get("predicted", []), found.get("true", [])
    return {
        "true_matched": sum(true),
        "predicted_matched": sum(predicted),
        "n_true": len(true),
        "n_predicted": len(predicted),
        "score": found.get("score"),
        "preference": inferred.get("preference"),
        "checklist": inferred.get("checklist"),
    }
