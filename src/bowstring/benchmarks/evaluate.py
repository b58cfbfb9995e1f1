"""One evaluation from beginning to end: data, models, store, folder; what the command and the API both call.

run = evaluate("hicupid", model="embedded", judge="builtin", limit=10)
run.metrics["metrics"]["score.total"]
"""

from __future__ import annotations

import asyncio
import json
import platform
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from bowstring import __version__
from bowstring.benchmarks.benchmark import Benchmark
from bowstring.benchmarks.cupid import CupidEvaluation, CupidSettings
from bowstring.benchmarks.hicupid import HicupidEvaluation, HicupidSettings
from bowstring.benchmarks.plan import Plan, make_plan
from bowstring.datasets import DataSet, load_cupid, load_hicupid
from bowstring.errors import UsageError
from bowstring.judging import builtin
from bowstring.models.interface import Model
from bowstring.models.names import open_model
from bowstring.models.prices import Prices, load_prices
from bowstring.models.transport import Patience
from bowstring.prompts import PromptFolder
from bowstring.reports.page import write_page
from bowstring.runs.asking import Asker
from bowstring.runs.budget import Budget
from bowstring.runs.folder import RunFolder, default_name, fingerprint
from bowstring.runs.runner import Outcome, Runner, Snapshot
from bowstring.runs.store import Store

BENCHMARKS = ("hicupid", "cupid")
STORE_NAME = "responses.sqlite"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What does not change a result: how much, how fast, where to, at what cost."""

    out: Path | None = None
    store: Path | None = None
    runs: Path = Path("runs")
    limit: int | None = None
    concurrency: int | None = None
    fresh: bool = False
    max_cost: float | None = None
    prices: Path | None = None
    prompts: Path | None = None
    timeout: float = 600.0
    attempts: int = 6

    def __post_init__(self) -> None:
        for name in ("limit", "concurrency", "attempts"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < 1):
                raise UsageError(f"{name} is {value!r}; expected a whole number from 1")
        for name in ("max_cost", "timeout"):
            value = getattr(self, name)
            if value is not None and not (isinstance(value, int | float) and 0 <= value < float("inf")):
                raise UsageError(f"{name} is {value!r}; expected a number from 0")


@dataclass(slots=True)
class Run:
    """A run that has ended: its folder, its numbers, and why it ended early if it did."""

    folder: Path
    metrics: dict[str, Any]
    complete: bool
    stopped: str | None = None

    def commonest_failure(self) -> tuple[str, int]:
        """The reason that most failed requests have, and how many have it."""
        reasons = Counter(
            part["failure"]["reason"]
            for record in self.records()
            for part in (record, record.get("inference", {}), record.get("generation", {}))
            if "failure" in part
        )
        return reasons.most_common(1)[0] if reasons else ("", 0)

    def records(self) -> list[dict[str, Any]]:
        with (self.folder / "records.jsonl").open(encoding="utf-8") as file:
            return [json.loads(line) for line in file]


@dataclass(slots=True)
class Evaluation:
    """An evaluation that is ready to run: everything is checked, and nothing has been asked."""

    benchmark: str
    items: Benchmark
    models: dict[str, Model]  # by role: model, judge, matcher; a role without one is the builtin judge's
    options: RunOptions
    prices: Prices
    configuration: dict[str, Any]
    folder: Path
    watch: Callable[[Snapshot], None] = field(default=lambda snapshot: None)
    _runner: Runner[Any] | None = None
    _loop: asyncio.AbstractEventLoop | None = None

    @property
    def store_path(self) -> Path:
        return self.options.store or self.folder.parent / STORE_NAME

    def run(self) -> Run:
        """Run to the end, or to where it is stopped; where a loop is running already, on a thread of its own."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            try:
                return asyncio.run(self._run())
            except asyncio.CancelledError as cancelled:  # interrupted twice
                raise KeyboardInterrupt from cancelled
        return self._run_elsewhere()

    def _run_elsewhere(self) -> Run:
        result: list[Run | BaseException] = []

        def elsewhere() -> None:
            try:
                result.append(asyncio.run(self._run()))
            except BaseException as error:  # raised again where it was called
                result.append(error)

        thread = threading.Thread(target=elsewhere)
        thread.start()
        try:
            thread.join()
        except KeyboardInterrupt:
            if self._loop is not None and self._runner is not None:
                self._loop.call_soon_threadsafe(self._runner.stop, "interrupted")
            thread.join()
        if isinstance(result[0], BaseException):
            raise result[0]
        return result[0]

    def plan(self) -> Plan:
        """What a run would ask and cost; nothing is asked."""
        return make_plan(self)

    async def _run(self) -> Run:
        folder = RunFolder(self.folder)
        store: Store | None = None
        try:
            self._check_folder()
            store = Store(self.store_path)
            folder.write_json("run.json", self._manifest("running"))
            askers = self._askers(store)
            groups = self.items.groups(self.options.limit)
            self._loop = asyncio.get_running_loop()
            self._runner = Runner(groups, partial(self.items.open_group, askers=askers), askers, self.watch)
            return self._finish(folder, await self._runner.run(), askers)
        except (Exception, asyncio.CancelledError):
            if store is not None:
                with suppress(OSError):  # the disk may be what failed
                    folder.write_json("run.json", self._manifest("failed"))
            raise
        finally:
            if store is not None:
                await store.close()
            for model in self.models.values():
                await model.close()
            folder.close()

    def _check_folder(self) -> None:
        """A folder that holds another run is not overwritten."""
        path = self.folder / "run.json"
        if not path.is_file():
            return
        try:
            found = json.loads(path.read_text(encoding="utf-8"))["fingerprint"]
        except (ValueError, KeyError, TypeError):
            return  # not a run of ours, or half of one
        if found != fingerprint(self.configuration):
            raise UsageError(f"{self.folder} holds a run of another configuration; choose another --out")

    def _askers(self, store: Store) -> dict[str, Asker]:
        budget = Budget(self.options.max_cost) if self.options.max_cost is not None else None
        askers: dict[str, Asker] = {}
        for role, model in self.models.items():
            # One queue a server, whatever roles it has: they share its places. Each role counts for itself.
            same = next((a for a in askers.values() if a.model.name == model.name), None)
            askers[role] = Asker(
                same.model if same else model,
                store,
                schedule=same.schedule if same else None,
                concurrency=self.options.concurrency,
                price=self.prices.of(model.identity),
                budget=budget,
                fresh=self.options.fresh,
            )
        return askers

    def _finish(self, folder: RunFolder, outcome: Outcome, askers: Mapping[str, Asker]) -> Run:
        records = [r for r in outcome.records if r is not None]
        complete = len(records) == len(outcome.records)
        metrics = {
            "benchmark": self.benchmark,
            "complete": complete,
            **self.items.summarize(records),
            "usage": {role: _usage(asker) for role, asker in askers.items()},
            "notes": self._notes(complete, outcome),
            "config": self.configuration,
        }
        folder.write_records(records)
        folder.write_json("metrics.json", metrics)
        folder.write_text("report.html", write_page(metrics, records))
        folder.write_json("run.json", self._manifest("complete" if complete else "stopped"))
        return Run(self.folder, metrics, complete, outcome.stopped)

    def _notes(self, complete: bool, outcome: Outcome) -> list[str]:
        notes = [] if complete else [f"incomplete: {outcome.stopped}"]
        if "judge" not in self.models:
            notes.append(builtin.WARNING)
        notes += self.items.notes()
        for model in self.models.values():
            if dropped := getattr(model, "dropped", None):
                notes.append(f"{model.name} refused {', '.join(dropped)}: sent without")
        return notes

    def _manifest(self, status: str) -> dict[str, Any]:
        options = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(self.options).items()}
        return {
            "bowstring": __version__,
            "status": status,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "fingerprint": fingerprint(self.configuration),
            "config": self.configuration,
            "options": options,
            "store": str(self.store_path),
            "versions": _versions(),
        }


def evaluate(benchmark: str, **settings: Any) -> Run:
    """Evaluate a model and return the run, as `bowstring eval` does.

    `model` and `judge` (and CUPID's `matcher`) are names, or objects of your own; `data` a hub id, a folder, a file or
    mini. Other settings are those of the benchmark (history, max_tokens, temperature, seed …) and of the run (out,
    limit, concurrency, max_cost …).
    """
    return prepare(benchmark, **settings).run()


def prepare(
    benchmark: str,
    *,
    model: Any,
    judge: Any = builtin.NAME,
    matcher: Any = None,
    data: str = "mini",
    revision: str | None = None,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    with_keys: bool = True,
    **settings: Any,
) -> Evaluation:
    """Check everything that can be checked before anything is asked. A plan does not need keys."""
    data = str(data)
    if benchmark not in BENCHMARKS:
        raise UsageError(f"no benchmark {benchmark!r}; expected {' or '.join(BENCHMARKS)}")
    if matcher is not None and benchmark != "cupid":
        raise UsageError("a matcher is for CUPID")
    options, chosen = _sorted_settings(settings, HicupidSettings if benchmark == "hicupid" else CupidSettings)
    patience = Patience(attempts=options.attempts, timeout=options.timeout)
    named = {"model": model, "judge": judge, "matcher": matcher}
    models = {
        role: open_model(name, patience=patience, tell=tell, with_key=with_keys)
        for role, name in named.items()
        if name is not None and not (role != "model" and name == builtin.NAME)
    }
    if "matcher" in models and "judge" not in models:
        raise UsageError("--matcher needs --judge: the judge writes the checklists that are matched")
    prices = load_prices(options.prices)
    _check_budget(options, prices, list(models.values()))
    prompts = PromptFolder(options.prompts)
    items, loaded = _benchmark(chosen, data, revision, prompts, models.get("matcher"))
    configuration = {
        "benchmark": benchmark,
        "model": models["model"].identity,
        "judge": models["judge"].identity if "judge" in models else builtin.NAME,
        **({"matcher": models["matcher"].identity} if "matcher" in models else {}),
        "data": {"name": data, "revision": revision, "fingerprint": loaded.fingerprint},
        "settings": _plain(asdict(chosen)),
        "prompts": prompts.fingerprints,
    }
    name = default_name(benchmark, models["model"].identity, fingerprint(configuration))
    folder = options.out or options.runs / name
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; choose another --out")
    return Evaluation(benchmark, items, models, options, prices, configuration, folder, watch)


def _benchmark(
    settings: Any, data: str, revision: str | None, prompts: PromptFolder, matcher: Model | None
) -> tuple[Benchmark, DataSet]:
    if isinstance(settings, HicupidSettings):
        hicupid = load_hicupid(data, revision=revision, splits=settings.splits, leave_out=("train",))
        return HicupidEvaluation(hicupid, settings, prompts), hicupid
    cupid = load_cupid(data, revision=revision)
    return CupidEvaluation(cupid, settings, prompts, matcher=matcher.name if matcher else None), cupid


def _sorted_settings(settings: Mapping[str, Any], kind: type[Any]) -> tuple[RunOptions, Any]:
    """Keyword arguments, told apart by whom they concern."""
    of_run = {k: v for k, v in settings.items() if k in RunOptions.__dataclass_fields__}
    rest = {k: v for k, v in settings.items() if k not in of_run}
    unknown = rest.keys() - kind.__dataclass_fields__.keys()
    if unknown:
        raise UsageError(f"evaluate() has no setting {', '.join(sorted(unknown))}")
    for name in ("out", "store", "runs", "prices", "prompts"):
        if isinstance(of_run.get(name), str):
            of_run[name] = Path(of_run[name])
    for name in ("splits", "types"):
        if name in rest:
            rest[name] = (rest[name],) if isinstance(rest[name], str) else tuple(rest[name])
    return RunOptions(**of_run), kind(**rest)


def _check_budget(options: RunOptions, prices: Prices, models: Sequence[Model]) -> None:
    for model in models if options.max_cost is not None else ():
        if prices.of(model.identity) is None:
            raise UsageError(f"--max-cost needs the price of {model.identity}: give it with --prices FILE")


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value))


def _usage(asker: Asker) -> dict[str, Any]:
    tally = asker.tally
    return {
        "model": asker.model.identity,
        "requests": tally.asked,
        "from_store": tally.stored,
        "failed": tally.failed,
        "prompt_tokens": tally.usage.prompt,
        "cached_tokens": tally.usage.cached,
        "shareable_tokens": round(tally.shareable),
        "completion_tokens": tally.usage.completion,
        "cost": tally.cost,
        "stored_prompt_tokens": tally.stored_usage.prompt,
        "stored_completion_tokens": tally.stored_usage.completion,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("httpx", "numpy", "pyarrow", "tokenizers", "xllamacpp"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
