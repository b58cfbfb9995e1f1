"""Run evaluations: one or several of the same data set, run together, each with its own folder.

Several that run together are a sweep. They share models, store, budget, requests in flight, and everything derived from
a history; all of them process a user at the same time.
"""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, TypedDict

from bowstring import __version__
from bowstring.concurrency import run_anywhere
from bowstring.errors import DataError, RunError, UsageError
from bowstring.files.redaction import redact
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import check_file
from bowstring.judging import builtin
from bowstring.models.interface import Model, is_openai
from bowstring.models.prices import Price, Prices
from bowstring.models.rates import rate_limiter
from bowstring.models.thinking import ThinkingSettings
from bowstring.records import MODEL_ROLE, STAGE_ROLE, Sampling, item_and_answer
from bowstring.runs.asking import Asker, ServerTally
from bowstring.runs.budget import Budget
from bowstring.runs.codec import KEYS_ONLY, SCHEMA, Codec, problem_with_schema
from bowstring.runs.cut_answers import cut_of_others, in_words
from bowstring.runs.failures import commonest_failure, count_failures
from bowstring.runs.folder import RunFolder, fingerprint, read_manifest, read_records, with_checksum
from bowstring.runs.holes import Holes
from bowstring.runs.items import Items, chosen_groups, clusters_of
from bowstring.runs.log import RunLog
from bowstring.runs.progress import NAME as PROGRESS_NAME
from bowstring.runs.progress import Progress
from bowstring.runs.remarks import Remarks
from bowstring.runs.repeats import Repeated, as_repeated, open_repeated, repeats_of
from bowstring.runs.runner import Group, Record, Runner, Snapshot
from bowstring.runs.shards import HELP, NO_ASK_HELP, Shard, count_of_shards
from bowstring.runs.store import Store
from bowstring.settings import check_settings, option

STORE_NAME = "responses.sqlite"


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options that do not change results: amount, speed, output folder, cost."""

    limit: int | None = field(
        default=None, metadata=option("Use only the first N items; rerun with a larger N to extend.", min=1)
    )
    users: int | None = field(
        default=None,
        metadata=option(
            "Use N whole users (or what the benchmark has instead), chosen at random from every split; a larger N "
            "contains a smaller one.",
            min=1,
        ),
    )
    shard: str | None = field(default=None, metadata=option(f"{HELP} --limit and --users apply first.", metavar="I/N"))
    answers: int = field(
        default=1, metadata=option("Answers to each item; rerun with a larger number to add some.", min=1)
    )
    judgements: int = field(
        default=1, metadata=option("Judgements of each answer; rerun with a larger number to add some.", min=1)
    )
    concurrency: int | None = field(
        default=None,
        metadata=option(
            "Maximum requests in flight per model; if it has several servers, per server.",
            min=1,
            shown_default="the model's own",
        ),
    )
    out: Path | None = field(
        default=None, metadata=option("Folder of the run.", shown_default="one in runs/, named by configuration")
    )
    store: Path | None = field(
        default=None, metadata=option("Store of responses.", shown_default="responses.sqlite beside the run")
    )
    runs: Path = Path("runs")
    fresh: bool = field(default=False, metadata=option("Send all requests again, even those in the store."))
    no_ask: bool = field(default=False, metadata=option(NO_ASK_HELP))
    batch: bool = field(
        default=False, metadata=option("Send requests through OpenAI's batch API: half the price, within a day.")
    )
    max_cost: float | None = field(
        default=None, metadata=option("Budget in dollars; the run stops before it exceeds it.", min=0)
    )
    prices: Path | None = field(default=None, metadata=option("YAML file of prices that override the built-in ones."))
    prompts: Path | None = field(default=None, metadata=option("Folder of prompts that override the built-in ones."))
    timeout: float = field(default=600.0, metadata=option("Seconds to wait for one response.", min=1))
    attempts: int = field(default=6, metadata=option("Attempts per request.", min=1))
    requests_per_minute: float | None = field(
        default=None, metadata=option("Requests sent to each model per minute, spread evenly.", above=0)
    )
    tokens_per_minute: float | None = field(
        default=None, metadata=option("Tokens of prompts and answers of each model per minute.", above=0)
    )

    def __post_init__(self) -> None:
        check_settings(self)
        check_file("--store", self.store)
        if self.limit is not None and self.users is not None:
            raise UsageError("--limit and --users exclude each other; give one of them")
        _ = self.part
        if self.no_ask and (other := next((name for name in ("fresh", "batch") if getattr(self, name)), None)):
            raise UsageError(f"--no-ask sends no request; leave out --{other}")

    @property
    def part(self) -> Shard | None:
        return None if self.shard is None else Shard.parse(self.shard)

    @property
    def store_path(self) -> Path:
        return self.store or (self.out.parent if self.out else self.runs) / STORE_NAME


class RequestKeywords(TypedDict, total=False):
    """Those fields of `RunOptions` that say how requests are sent, as keywords of a call."""

    shard: str | None
    no_ask: bool
    concurrency: int | None
    store: str | Path | None
    max_cost: float | None
    prices: str | Path | None
    prompts: str | Path | None
    timeout: float
    attempts: int
    requests_per_minute: float | None
    tokens_per_minute: float | None


class RunKeywords(RequestKeywords, total=False):
    """The fields of `RunOptions` as keywords of a call."""

    limit: int | None
    users: int | None
    answers: int
    judgements: int
    out: str | Path | None
    runs: str | Path
    fresh: bool
    batch: bool


@dataclass(slots=True)
class Run:
    """A run that has ended: its folder, its metrics, and why it ended early, if it did."""

    folder: Path
    metrics: dict[str, Any]
    complete: bool
    stopped: str | None = None
    page_problem: str | None = None  # why report.html could not be drawn

    def commonest_failure(self) -> tuple[str, int]:
        return commonest_failure(self.records())

    def records(self) -> list[dict[str, Any]]:
        return list(read_records(self.folder))


# Makes entries of metrics.json from what is in it already, and the records.
Block = Callable[[Mapping[str, Any], Sequence[Record]], dict[str, Any]]


@dataclass(slots=True)
class Evaluation:
    """One configuration: what is asked, how it is judged, and its output folder."""

    benchmark: str
    items: Items
    configuration: dict[str, Any]
    folder: Path
    codec: Codec = KEYS_ONLY  # codec of its records
    page: Callable[[dict[str, Any], Sequence[Record]], str] | None = None  # draws report.html
    longer: str = ""  # what a user can do if answers of judges are cut
    blocks: Sequence[Block] = ()  # what stands beside the scores in metrics.json
    data_note: str = ""  # what a reader must know about the data set
    clusters: str = "users"  # whose its items are, in words


@dataclass(slots=True)
class Running:
    """Evaluations that are ready to run together: everything is checked, and no request has been sent."""

    evaluations: Sequence[Evaluation]
    models: dict[str, Model]  # by role: model, judge, matcher; the builtin judge has none
    options: RunOptions
    prices: Prices
    watch: Callable[[Snapshot], None] = field(default=lambda snapshot: None)
    thinking: ThinkingSettings = field(default_factory=ThinkingSettings)  # of the evaluated model
    notes: tuple[str, ...] = ()  # what a reader of the results must know about how they came about
    served_as: Mapping[str, str] = field(default_factory=dict)  # names of models that servers have, by role
    fresh_since: float | None = None  # with --fresh: responses that were stored before are replaced
    _runner: Runner[Any] | None = None

    def run(self) -> list[Run]:
        """Run until done or stopped; if an event loop is already running, on a separate thread."""
        return run_anywhere(self._run, self._interrupt)

    def _interrupt(self) -> None:
        if self._runner is not None:
            self._runner.stop("interrupted")

    async def _run(self) -> list[Run]:
        folders: list[RunFolder] = []
        store: Store | None = None
        try:
            for evaluation in self.evaluations:
                folders.append(RunFolder(evaluation.folder))
                _check_folder(evaluation, self.options.shard)
            store = self._open_store()
            self.begin()
            if not self.options.no_ask:  # it may be refused, and must then leave an earlier run as it is
                self._write_manifests(folders, "running")
            budget = Budget(self.options.max_cost) if self.options.max_cost is not None else None
            askers = self.askers(store, budget, {})
            with RunLog(folders) as log:
                records, stopped = await self._records(folders, askers, log)
            if not stopped:
                self._refuse_holes(records, askers)
            return [
                self._finish(*of_one, stopped)
                for of_one in zip(self.evaluations, folders, records, askers, strict=True)
            ]
        except (Exception, asyncio.CancelledError) as error:
            if store is not None and not self.options.no_ask:
                cancelled = isinstance(error, asyncio.CancelledError)
                why = "interrupted" if cancelled else redact(str(error) or repr(error))
                with suppress(OSError, RunError):  # the disk may be the cause
                    self._write_manifests(folders, "failed", why)
            raise
        finally:
            if store is not None:
                await store.close()
            for model in {id(model): model for model in self.models.values()}.values():
                await model.close()
            for folder in folders:
                folder.close()

    def _open_store(self) -> Store:
        path = self.options.store_path
        if not self.options.no_ask or not self.models:
            return Store(path)
        if not path.exists():
            raise UsageError(
                f"--no-ask: there is no store {path}; merge those of the shards: bowstring store merge … --store {path}"
            )
        return Store(path, readonly=True)

    def _refuse_holes(self, records: Sequence[Sequence[Record | None]], askers: Sequence[Mapping[str, Asker]]) -> None:
        """Raise a RunError if items lack responses that may not be asked for."""
        missing: dict[str, set[str]] = {}
        for own in askers:
            for role, asker in own.items():
                missing.setdefault(role, set()).update(asker.missing)
        if not any(missing.values()):
            return
        lacking: list[str] = []
        for evaluation, reached in zip(self.evaluations, records, strict=True):
            items = [one.item for group in self._groups(evaluation) for one in group]
            without = (item for item, record in zip(items, reached, strict=True) if record is None)
            lacking += clusters_of(evaluation.items, without)
        requests = {role: len(keys) for role, keys in missing.items() if keys}
        whose = list(dict.fromkeys(lacking))
        holes = Holes(self.options.store_path, requests, whose, self.evaluations[0].clusters)
        shards = count_of_shards(evaluation.folder for evaluation in self.evaluations)
        raise RunError(holes.in_words(self.options.part, shards))

    def begin(self) -> None:
        """Note when a run with --fresh began: now, or earlier if it was stopped and goes on."""
        if not self.options.fresh or self.fresh_since is not None:  # a race has begun already
            return
        began = []
        for evaluation in self.evaluations:
            with suppress(UsageError, DataError):
                found = read_manifest(evaluation.folder)
                same = found.get("fingerprint") == fingerprint(evaluation.configuration)
                since = found.get("fresh_since")
                if same and found["status"] != "complete" and isinstance(since, int | float):
                    began.append(float(since))
        self.fresh_since = min(began, default=time.time())

    async def _records(
        self, folders: Sequence[RunFolder], askers: Sequence[Mapping[str, Asker]], log: RunLog
    ) -> tuple[list[list[Record | None]], str | None]:
        """Return each evaluation's records, in data order; None for an item that was not reached."""
        grouped, watches = [], [self.watch, log.note]
        for e, folder, own in zip(self.evaluations, folders, askers, strict=True):
            groups = self._groups(e)
            progress = Progress(folder, sum(map(len, groups)), partial(_usages, own))
            open_group = progress.counting(open_repeated(partial(e.items.open_group, askers=own)))
            grouped.append([Group(items, open_group) for items in groups])
            if not self.options.no_ask:
                watches.append(progress.note)

        def watch(snapshot: Snapshot) -> None:
            for told in watches:
                told(snapshot)

        # All evaluations process a user at the same time, while what is derived from the history is in memory.
        turns = [(n, group) for turn in zip_longest(*grouped) for n, group in enumerate(turn) if group is not None]
        self._runner = Runner(
            [group for _, group in turns], list(chain.from_iterable(own.values() for own in askers)), watch
        )
        outcome = await self._runner.run()
        records: list[list[Record | None]] = [[] for _ in self.evaluations]
        ended = iter(outcome.records)
        for n, group in turns:
            records[n] += [next(ended) for _ in group.items]
        return records, outcome.stopped

    def _groups(self, evaluation: Evaluation) -> list[list[Repeated]]:
        """Return the chosen items, each as often as it is answered and judged."""
        options = self.options
        groups = chosen_groups(evaluation.items, limit=options.limit, users=options.users, shard=options.part)
        repeats = repeats_of(options.answers, options.judgements)
        return [[Repeated(item, repeat) for item in group for repeat in repeats] for group in groups]

    def askers(self, store: Store, budget: Budget | None, first: dict[str, Asker]) -> list[dict[str, Asker]]:
        """Return each evaluation's askers by role. There is one queue per model; each asker keeps its own counts.
        `first` has the first asker of each model, also from other runs."""
        found: list[dict[str, Asker]] = []
        for _ in self.evaluations:
            askers = {}
            for role, model in self.models.items():
                beside, at_once = first.get(model.name), getattr(model, "at_once", False)
                options = self.options
                askers[role] = Asker(
                    beside.model if beside and _is_same(beside.model, model) else model,
                    store,
                    beside=beside,
                    concurrency=None if at_once else options.concurrency,
                    price=self.price(model),
                    budget=budget,
                    limiter=None if at_once else rate_limiter(options.requests_per_minute, options.tokens_per_minute),
                    fresh_since=self.fresh_since,
                    may_send=not options.no_ask,
                    role=role,
                    vary=partial(self._varied, role),
                )
                first.setdefault(model.name, askers[role])
            found.append(askers)
        return found

    def _varied(self, role: str, sampling: Sampling) -> Sampling:
        return self.completed(role, as_repeated(role, sampling))

    def completed(self, role: str, sampling: Sampling) -> Sampling:
        """Return the settings of a request to a role, with those of thoughts if the evaluated model is asked."""
        own = self.models.get(MODEL_ROLE)
        asks_model = role == MODEL_ROLE or (role == STAGE_ROLE and own and self.models[role].name == own.name)
        return self.thinking.completed(sampling) if asks_model else sampling

    def price(self, model: Model) -> Price | None:
        price, discount = self.prices.of(model), getattr(model, "discount", None)
        return price.in_batches(discount) if price and discount is not None else price

    def _finish(
        self,
        evaluation: Evaluation,
        folder: RunFolder,
        reached: Sequence[Record | None],
        askers: Mapping[str, Asker],
        stopped: str | None,
    ) -> Run:
        records = [r for r in reached if r is not None]
        complete = len(records) == len(reached)
        metrics = {
            "schema": SCHEMA,
            "benchmark": evaluation.benchmark,
            "complete": complete,
            **self._repeats(),
            **evaluation.items.summarize(records),
            "n": len({item_and_answer(record)[0] for record in records}),
            "records": len(records),  # more than items if there are several answers or judgements
            "failures": count_failures(records),
            "cut": _cut(askers),
            "usage": _usages(askers),
            "notes": [*self._notes(evaluation, askers, None if complete else stopped), *_replaced_note(askers)],
            "versions": _versions(),
            "config": evaluation.configuration,
        }
        for block in evaluation.blocks:
            metrics |= block(metrics, records)
        ended = ("complete", None) if complete else ("stopped", stopped)
        folder.write_lines("records.jsonl", map(evaluation.codec.encode, records))
        folder.write_json("metrics.json", metrics)
        draw = evaluation.page
        page_problem = None if draw is None else write_page(folder, lambda: draw(metrics, records))
        folder.write_json("run.json", with_checksum(self._manifest(evaluation, *ended) | {"files": folder.written}))
        folder.remove(PROGRESS_NAME)
        return Run(evaluation.folder, metrics, complete, None if complete else stopped, page_problem)

    def _repeats(self) -> dict[str, Any]:
        answers, judgements = self.options.answers, self.options.judgements
        return {"repeats": {"answers": answers, "judgements": judgements}} if answers * judgements > 1 else {}

    def _notes(self, evaluation: Evaluation, askers: Mapping[str, Asker], stopped: str | None) -> list[str]:
        notes = [f"incomplete: {stopped}"] if stopped else []
        judge = evaluation.configuration["judge"]
        if judge == builtin.NAME:
            notes.append(builtin.WARNING)
        if judge is not None and judge == evaluation.configuration.get("model"):  # an audit has no model
            notes.append("the judge is the evaluated model: judges tend to prefer their own answers")
        notes += [*self.notes, *evaluation.items.notes(), *_remarks(askers)]
        for role, cut in cut_of_others({"cut": _cut(askers)}).items():
            notes.append(in_words(role, cut, "" if role == STAGE_ROLE else evaluation.longer))
        for model in {id(model): model for model in self.models.values()}.values():
            asked, trained = evaluation.configuration["prompts"], getattr(model, "trained_prompts", {})
            if changed := [name for name, words in trained.items() if asked.get(name, words) != words]:
                notes.append(
                    f"{model.name} was trained with different prompts than it was evaluated with: {', '.join(changed)}"
                )
            if (of_model := getattr(model, "notes", None)) is not None:
                notes += of_model()
        return notes

    def _write_manifests(self, folders: Sequence[RunFolder], status: str, why: str | None = None) -> None:
        for evaluation, folder in zip(self.evaluations, folders, strict=False):
            folder.write_json("run.json", with_checksum(self._manifest(evaluation, status, why)))

    def _manifest(self, evaluation: Evaluation, status: str, why: str | None = None) -> dict[str, Any]:
        options = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(self.options).items()}
        return {
            "schema": SCHEMA,
            "bowstring": __version__,
            "status": status,
            **({"reason": why} if why else {}),
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            "fingerprint": fingerprint(evaluation.configuration),
            **({"fresh_since": self.fresh_since} if self.fresh_since is not None else {}),
            # to open them again
            "models": {role: getattr(model, "full_name", model.name) for role, model in self.models.items()},
            **({"served_as": dict(self.served_as)} if self.served_as else {}),
            **({"shard": self.options.shard} if self.options.shard else {}),
            "config": evaluation.configuration,
            **_place_of(evaluation.configuration),
            "options": options,
            "store": str(self.options.store_path),
            "versions": _versions(),
        }


def write_page(folder: RunFolder, draw: Callable[[], str]) -> str | None:
    """Draw report.html and return any error, without failing a run that is already complete. An older page is removed:
    it would not show the new results."""
    try:
        folder.write_text("report.html", draw())
    except (Exception, SystemExit) as error:  # drawing may call code of a plugin
        with suppress(OSError):
            folder.remove("report.html")
        return redact(" ".join(f"{type(error).__name__}: {error}".split()))[:300]
    return None


def _place_of(configuration: Mapping[str, Any]) -> dict[str, str]:
    """Return the absolute path of a data set that is not on the hub. An audit has none."""
    path = Path(configuration["data"]["name"]) if "data" in configuration else None
    return {"data_path": str(path.resolve())} if path is not None and path.exists() else {}


def _check_folder(evaluation: Evaluation, shard: str | None) -> None:
    """Raise an error if the folder holds another run, another shard of this run, or a sweep."""
    if (evaluation.folder / "sweep.json").is_file():
        raise UsageError(f"{evaluation.folder} contains a sweep; choose another --out")
    path = evaluation.folder / "run.json"
    if not path.is_file():
        return
    try:
        found = parse_strict_json(path.read_bytes())
        if problem := problem_with_schema(found):
            raise UsageError(f"{path} {problem}, or choose another --out")
        prints = {found["fingerprint"], fingerprint(found["config"])}  # a flipped byte changes only one of them
    except (ParseError, KeyError, TypeError):
        return  # not a run, or an incomplete one
    if fingerprint(evaluation.configuration) not in prints:
        raise UsageError(f"{evaluation.folder} contains a run with a different configuration; choose another --out")
    if (had := found.get("shard")) != shard:
        what = f"shard {had} of this run" if had else "this run, not in shards"
        raise UsageError(f"{evaluation.folder} contains {what}; choose another --out")


def _remarks(askers: Mapping[str, Asker]) -> list[str]:
    """Return the remarks on the answers of each model, whatever its roles."""
    found: dict[str, Remarks] = {}
    for asker in askers.values():
        found[asker.model.name] = found.get(asker.model.name, Remarks()) | asker.remarks
    return [note for model, remarks in found.items() for note in remarks.notes(model)]


def _cut(askers: Mapping[str, Asker]) -> dict[str, dict[str, Any]]:
    """Return what was cut, by role; roles without such an answer are omitted."""
    return {role: asker.cut.as_json() for role, asker in askers.items() if asker.cut.limits}


def _replaced_note(askers: Mapping[str, Asker]) -> list[str]:
    n = sum(asker.tally.replaced for asker in askers.values())
    return [f"--fresh replaced {n:,} responses in the store"] if n else []


def _is_same(one: Model, other: Model) -> bool:
    """Return whether two models with the same name are asked in the same way: --served-as and --as-openai are by
    role."""
    return one.identity == other.identity and is_openai(one) == is_openai(other)


def _usages(askers: Mapping[str, Asker]) -> dict[str, dict[str, Any]]:
    """Return usage by role; the model of history stages is omitted if it was not used."""
    return {role: _usage(asker) for role, asker in askers.items() if role != STAGE_ROLE or _was_used(asker)}


def _was_used(asker: Asker) -> bool:
    return bool(asker.tally.asked or asker.tally.stored or asker.tally.failed)


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
        "estimated_requests": tally.estimated,
        "cost": tally.cost,
        "cost_in_all": asker.cost_in_all,  # with the responses from the store
        "stored_prompt_tokens": tally.stored_usage.prompt,
        "stored_completion_tokens": tally.stored_usage.completion,
        **servers_of(asker),
    }


def servers_of(asker: Asker) -> dict[str, Any]:
    """Return the usage of each server, by address, of a model that has several and was asked."""
    outages: Mapping[str, int] = getattr(asker.model, "outages", {})
    tallies = asker.tally.servers
    if not any(outages.values()) and not any(tallies[address].asked for address in outages):
        return {}
    return {"servers": {address: _of_server(tallies[address], n) for address, n in outages.items()}}


def _of_server(tally: ServerTally, outages: int) -> dict[str, int]:
    return {
        "requests": tally.asked,
        "prompt_tokens": tally.usage.prompt,
        "cached_tokens": tally.usage.cached,
        "shareable_tokens": round(tally.shareable),
        "completion_tokens": tally.usage.completion,
        "outages": outages,
    }


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "platform": platform.platform()}
    for package in ("httpx", "numpy", "pyarrow", "tokenizers", "xllamacpp", "sentence-transformers", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def check_budget(options: RunOptions, prices: Prices, models: Sequence[Model]) -> None:
    for model in models if options.max_cost is not None else ():
        if prices.of(model) is None:
            raise UsageError(f"--max-cost needs the price of {model.identity}: set it with --prices FILE")
