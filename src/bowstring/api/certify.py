"""Compare Bowstring with the code of a benchmark's authors: the same data, one scripted server, both programs.

certify(NAME, Path("checkout"), python=Path("venv/bin/python")).rows
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bowstring.api.evaluate import prepare
from bowstring.benchmarks import registry
from bowstring.benchmarks.certification import Case, Certification
from bowstring.benchmarks.interface import Benchmark, require_part
from bowstring.benchmarks.loading import load
from bowstring.certification.comparing import Row, compare, compare_ends
from bowstring.certification.reference import Reference, commit_of
from bowstring.certification.server import Answer, ScriptedServer, request_hash
from bowstring.certification.transcripts import Transcript, read_transcripts, write_transcripts
from bowstring.datasets.dataset import DataSet
from bowstring.errors import DataError, UsageError
from bowstring.prompts.importing import write_manifest

Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Certificate:
    benchmark: str
    data: str
    items: int
    repository: str
    commit: str  # of the reference; empty if unknown
    rows: tuple[Row, ...]
    replaced: str  # what was replaced in the reference

    @property
    def equal(self) -> bool:
        return all(row.compared == row.equal for row in self.rows)

    def as_json(self) -> dict[str, Any]:
        return {
            "benchmark": self.benchmark,
            "data": self.data,
            "items": self.items,
            "reference": self.repository,
            "commit": self.commit,
            "replaced": self.replaced,
            "equal": self.equal,
            "rows": [row.as_json() for row in self.rows],
        }


def certify(
    benchmark: str,
    checkout: Path,
    *,
    python: Path | None = None,
    replay: Path | None = None,
    data: str = "mini",
    record: Path | None = None,
    tell: Tell = lambda line: None,
) -> Certificate:
    """Run both programs in every case, or compare ours with a recording of theirs."""
    if (python is None) == (replay is None):
        raise UsageError("give the Python of the authors' environment with --python, or a recording with --replay")
    if record is not None and python is None:
        raise UsageError("--record writes what the reference does; it needs --python")
    if not checkout.is_dir():
        raise UsageError(f"{checkout}: no such folder; expected a checkout of the authors' repository")
    found = registry.get(benchmark)
    part = require_part(found, found.certification(), "comparison with its authors' code")
    with tempfile.TemporaryDirectory(prefix="bowstring-certify-") as name, ScriptedServer(_models(part)) as server:
        comparison = _Comparison(found, part, load(data, benchmark), data, checkout.resolve(), server, Path(name), tell)
        commit = commit_of(checkout)
        if replay is not None:
            about, theirs = comparison.replayed(replay)
            commit = str(about.get("commit", ""))
        else:
            theirs = comparison.reference(_absolute(python))
        if record is not None:
            write_transcripts(record, comparison.about() | {"commit": commit}, theirs)
        rows = [row for case in part.cases() for row in comparison.rows(case, theirs[case.name])]
        return Certificate(benchmark, data, comparison.items, part.repository, commit, tuple(rows), part.replaced)


def _absolute(python: Path | None) -> Path:
    assert python is not None
    return python.absolute()  # not resolved: the link is what makes it the Python of an environment


def _models(part: Certification) -> tuple[str, str]:
    return part.model, part.judge


class _Comparison:
    def __init__(
        self,
        benchmark: Benchmark,
        part: Certification,
        data: DataSet,
        data_name: str,
        checkout: Path,
        server: ScriptedServer,
        folder: Path,
        tell: Tell,
    ) -> None:
        self.data, self.items = data, 0
        self._benchmark, self._part, self._data_name = benchmark, part, data_name
        self._checkout, self._server, self._folder, self._tell = checkout, server, folder, tell
        self._words = folder / "prompts"
        done = require_part(benchmark, benchmark.import_prompts(checkout, self._words), "prompts to import")
        write_manifest(self._words, benchmark.name, done)
        self._prompts = benchmark.prompts(self._words)

    def about(self) -> dict[str, Any]:
        return {
            "benchmark": self._benchmark.name,
            "reference": self._part.repository,
            "data": {"name": self._data_name, "fingerprint": self.data.fingerprint},
        }

    def reference(self, python: Path) -> dict[str, Transcript]:
        """Run the authors' program in every case."""
        data = self._folder / "data"
        self._part.prepare(self.data, data)
        found: dict[str, Transcript] = {}
        for case in self._part.cases():
            self._tell(f"{case.name}: the reference")
            folder = self._folder / f"reference-{len(found)}"
            reference = Reference(python, self._checkout, self._server.address, folder)
            if not found:
                reference.check(self._part.packages)
            self._server.script = self._part.script(self._prompts, case)
            results = self._part.run_reference(case, reference, data)
            found[case.name] = Transcript.of(self._server.take(), results)
        return found

    def replayed(self, path: Path) -> tuple[dict[str, Any], dict[str, Transcript]]:
        about, found = read_transcripts(path)
        for name, here in self.about().items():
            if about.get(name) != here and name != "reference":
                raise DataError(f"{path}: was recorded with {name} {about.get(name)}, which is {here} here")
        if missing := [case.name for case in self._part.cases() if case.name not in found]:
            raise DataError(f"{path}: has no case {missing[0]!r}; record it again")
        return about, found

    def rows(self, case: Case, theirs: Transcript) -> list[Row]:
        self._tell(f"{case.name}: ours")
        ours = self._ours(case, theirs)
        if case.kind == "ends":
            return [compare_ends(case.name, theirs.results, ours.results)]
        if theirs.results.ended:
            return [Row(case.name, "the reference", 1, 0, f"ended: {theirs.results.ended}")]
        return compare(case.name, theirs, ours, case.stages)

    def _ours(self, case: Case, theirs: Transcript) -> Transcript:
        """Run our evaluation. What the reference asked too is answered as it was there."""
        script = self._part.script(self._prompts, case)

        def answer(body: Mapping[str, Any]) -> Answer:
            return theirs.answers.get(request_hash(body)) or script(body)

        self._server.script = answer
        given = {
            "model": f"openai/{self._part.model}@{self._server.address}",
            "judge": f"openai/{self._part.judge}@{self._server.address}",
            "as_openai": self._part.as_openai,
            "data": self._data_name,
            "prompts": self._words,
            "protocol": "published",
            "out": self._folder / f"ours-{case.name.replace('/', '-')}",
            "store": self._folder / f"ours-{case.name.replace('/', '-')}.sqlite",
            **self._part.settings(case),
        }
        (run,) = prepare(self._benchmark.name, **given).run()
        records = run.records()
        self.items = len(records)
        return Transcript.of(self._server.take(), self._part.results(case, records, run.metrics))
