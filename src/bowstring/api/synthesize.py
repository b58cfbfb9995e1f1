"""Making a set with models, from beginning to end: what the command and the API call.

made = synthesize("cupid", model="openai/gpt-4o-mini", personas=4, out="sets/mine")
made.quality.as_json()
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from bowstring.benchmarks import registry
from bowstring.benchmarks.cupid.data import write_parquet
from bowstring.benchmarks.cupid.synthesis import CupidPipeline, CupidSynthesis, roles
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.hicupid.synthesis import HicupidPipeline, HicupidSynthesis
from bowstring.benchmarks.hicupid.users import SetWriter, Sizes, User
from bowstring.errors import UsageError
from bowstring.models.interface import Model, RequestFailed
from bowstring.models.names import open_model
from bowstring.models.prices import Price, Prices, load_prices
from bowstring.models.transport import Patience
from bowstring.prompts import PromptFolder
from bowstring.records import Usage
from bowstring.runs.asking import Asker
from bowstring.runs.budget import Budget
from bowstring.runs.folder import default_name, fingerprint
from bowstring.runs.runner import Group, Record, Runner, Snapshot
from bowstring.runs.store import Store
from bowstring.synthesis.finishing import at_work_on, begin, check_out, finish
from bowstring.synthesis.making import Dropped, Maker
from bowstring.synthesis.quality import Quality
from bowstring.synthesis.seeds import FIELD, load_seeds

STORE_NAME = "responses.sqlite"


class Pipeline(Protocol):
    async def make(self, number: int, maker: Maker) -> Any: ...


@dataclass(frozen=True, slots=True)
class Estimate:
    """What one item is likely to take, by role: requests, prompt tokens, answer tokens."""

    role: str
    requests: int
    prompt: int
    completion: int


@dataclass(slots=True)
class Made:
    """What a synthesis has come to: complete with its folder, or stopped, to be gone on with."""

    folder: Path
    items: list[Any]  # users, or lists of instances
    quality: Quality
    usage: dict[str, Any]
    failed: list[Record]
    stopped: str | None
    written: bool

    @property
    def cost(self) -> float | None:
        """What the items took, whether it was paid now or before; None where a price is not known."""
        costs = [used["cost_in_all"] for used in self.usage.values()]
        return None if any(cost is None for cost in costs) else sum(costs)


@dataclass(slots=True)
class Synthesis:
    """A synthesis that is ready: everything is checked, and nothing has been asked."""

    benchmark: str
    pipeline: Pipeline
    n: int
    models: dict[str, Model]
    prices: Prices
    configuration: dict[str, Any]
    folder: Path
    store: Path
    temperature: float
    seed: int
    estimates: Sequence[Estimate]
    concurrency: int | None = None
    max_cost: float | None = None
    fresh: bool = False
    preview: int | None = None
    watch: Callable[[Snapshot], None] = field(default=lambda snapshot: None)

    def run(self) -> Made:
        """Make everything, or with `preview` the first few, and write the set where nothing is missing."""
        with nullcontext() if self.preview else at_work_on(self.folder):
            try:
                made = asyncio.run(self._run())
            except asyncio.CancelledError as cancelled:  # interrupted twice
                raise KeyboardInterrupt from cancelled
            if not (made.stopped or made.failed or self.preview):
                self._write(made)
        return made

    async def _run(self) -> Made:
        store = Store(self.store)
        quality = Quality()
        try:
            askers = self._askers(store)
            maker = Maker(askers, seed=self.seed, quality=quality, temperature=self.temperature)
            numbers = range(min(self.n, self.preview) if self.preview else self.n)
            groups = [Group([number], lambda _: partial(self._record, maker=maker)) for number in numbers]
            outcome = await Runner(groups, list(askers.values()), self.watch).run()
        finally:
            await store.close()
            for model in {id(m): m for m in self.models.values()}.values():
                await model.close()
        records = [r for r in outcome.records if r is not None]
        quality.dropped += [r["dropped"] for r in records if "dropped" in r]
        return Made(
            self.folder,
            [r["made"] for r in records if "made" in r],
            quality,
            {role: _usage(asker, self.prices.of(asker.model.identity)) for role, asker in askers.items()},
            [r for r in records if "failure" in r],
            outcome.stopped,
            written=False,
        )

    async def _record(self, number: int, maker: Maker) -> Record:
        try:
            return {"made": await self.pipeline.make(number, maker)}
        except Dropped as dropped:
            return {"dropped": {"what": dropped.what, "key": dropped.key, "reason": dropped.reason}}
        except RequestFailed as failed:
            return {"failure": {"number": number, "kind": failed.kind, "reason": failed.reason}}

    def _askers(self, store: Store) -> dict[str, Asker]:
        """By role; roles of one model stand beside each other."""
        budget = Budget(self.max_cost) if self.max_cost is not None else None
        askers: dict[str, Asker] = {}
        for role, model in self.models.items():
            beside = next((a for a in askers.values() if a.model.name == model.name), None)
            askers[role] = Asker(
                beside.model if beside else model,
                store,
                beside=beside,
                concurrency=self.concurrency,
                price=self.prices.of(model.identity),
                budget=budget,
                fresh=self.fresh,
            )
        return askers

    def _write(self, made: Made) -> None:
        if not made.items:
            return
        begin(self.folder, self.configuration)
        if self.benchmark == "cupid":
            instances: list[Instance] = [instance for of_one in made.items for instance in of_one]
            write_parquet(instances, self.folder)
        else:
            users: list[User] = made.items
            with SetWriter(self.folder) as writer:
                writer.add(users)
        by = self.configuration["models"]["model"]
        name = "CUPID" if self.benchmark == "cupid" else "HiCUPID"
        made_by = (
            f"Written by {by} with Bowstring's {name} pipeline: checked by rule, "
            "regenerated where a check failed, and dropped where that did not help (quality.json). All people in "
            "it are invented."
        )
        finish(self.folder, self.configuration, made.quality, made=made_by, title=self.folder.name)
        made.written = True

    def projected(self, made: Made) -> tuple[float, float] | None:
        """What a preview took, and what the whole is likely to: the estimate, held against what was measured."""
        rows = [row["cost"] for row in self.projection().values()]
        if made.cost is None or not made.items or None in rows:
            return None
        expected = sum(rows) * len(made.items) / self.n
        return made.cost, sum(rows) * made.cost / expected if expected else 0.0

    def projection(self) -> dict[str, dict[str, Any]]:
        """What the whole is likely to take, by role; the cost where prices are known."""
        found: dict[str, dict[str, Any]] = {}
        for e in self.estimates:
            model = self.models[e.role]
            price = self.prices.of(model.identity)
            row = found.setdefault(
                e.role,
                {"model": model.identity, "requests": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": None},
            )
            row["requests"] += e.requests * self.n
            row["prompt_tokens"] += e.prompt * self.n
            row["completion_tokens"] += e.completion * self.n
            if price is not None:
                row["cost"] = (row["cost"] or 0.0) + price.of(Usage(e.prompt * self.n, 0, e.completion * self.n))
        return found


def prepare_synthesis(
    benchmark: str,
    *,
    model: Any,
    assistant: Any = None,
    judge: Any = None,
    out: Path | str | None = None,
    store: Path | str | None = None,
    seeds: str | None = None,
    seeds_field: str = FIELD,
    prompts: Path | str | None = None,
    prices: Path | str | None = None,
    concurrency: int | None = None,
    max_cost: float | None = None,
    fresh: bool = False,
    preview: int | None = None,
    timeout: float = 600.0,
    attempts: int = 6,
    with_keys: bool = True,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    **settings: Any,
) -> Synthesis:
    """Check everything that can be checked before anything is asked."""
    if benchmark not in ("hicupid", "cupid"):
        raise UsageError(f"no benchmark {benchmark!r}; expected hicupid or cupid")
    if model is None:
        raise UsageError(f"synth {benchmark} needs --model, or --offline")
    if benchmark == "hicupid" and (assistant is not None or judge is not None):
        raise UsageError("--assistant and --judge are for CUPID, whose sessions are conversations")
    folder_of_prompts = registry.get(benchmark).prompts(Path(prompts) if prompts else None)
    listed = load_seeds(seeds, field=seeds_field, seed=int(settings.get("seed", 0)))
    pipeline, n, estimates = _pipeline(benchmark, settings, listed, folder_of_prompts)
    chosen = pipeline.settings
    named = (
        roles({"model": model, "assistant": assistant, "judge": judge}) if benchmark == "cupid" else {"model": model}
    )
    patience = Patience(attempts=attempts, timeout=timeout)
    opened: dict[int, Model] = {}
    models: dict[str, Model] = {}
    for role, name in named.items():
        known = next((opened[id(other)] for other in named.values() if other == name and id(other) in opened), None)
        models[role] = known or open_model(name, patience=patience, tell=tell, with_key=with_keys)
        opened[id(name)] = models[role]
    table = load_prices(Path(prices) if prices else None)
    for one in models.values() if max_cost is not None else ():
        if table.of(one.identity) is None:
            raise UsageError(f"--max-cost needs the price of {one.identity}: give it with --prices FILE")
    configuration = {
        "benchmark": benchmark,
        "models": {role: one.identity for role, one in models.items()},
        "settings": json.loads(json.dumps(chosen.configuration())) | ({"personas": n} if benchmark == "cupid" else {}),
        "seeds": fingerprint({"seeds": listed}),
        "prompts": folder_of_prompts.fingerprints,
    }
    identity = models["model"].identity
    folder = Path(out) if out else Path("sets") / default_name(benchmark, identity, fingerprint(configuration))
    if not preview:
        check_out(folder, configuration)
    return Synthesis(
        benchmark,
        pipeline,
        n,
        models,
        table,
        configuration,
        folder,
        Path(store) if store else folder.parent / STORE_NAME,
        chosen.temperature,
        chosen.seed,
        estimates,
        concurrency,
        max_cost,
        fresh,
        preview,
        watch,
    )


def _pipeline(
    benchmark: str, settings: Mapping[str, Any], seeds: Sequence[str], prompts: PromptFolder
) -> tuple[CupidPipeline | HicupidPipeline, int, list[Estimate]]:
    if benchmark == "cupid":
        cupid: CupidSynthesis = _settings(CupidSynthesis, settings)
        return CupidPipeline(cupid, seeds, prompts), cupid.personas, _cupid_estimate(cupid)
    sizes = Sizes(**{name: value for name, value in settings.items() if name in Sizes.__slots__})
    rest = {name: value for name, value in settings.items() if name not in Sizes.__slots__}
    hicupid: HicupidSynthesis = _settings(HicupidSynthesis, rest | {"sizes": sizes})
    return HicupidPipeline(hicupid, seeds, prompts), sizes.users, _hicupid_estimate(sizes)


def synthesize(benchmark: str, **settings: Any) -> Made:
    """Make a data set with models, as `bowstring synth` does."""
    return prepare_synthesis(benchmark, **settings).run()


def _settings(kind: Any, given: Mapping[str, Any]) -> Any:
    unknown = given.keys() - kind.__dataclass_fields__.keys()
    if unknown:
        raise UsageError(f"synthesize() has no setting {', '.join(sorted(unknown))}")
    return kind(**given)


def _cupid_estimate(s: CupidSynthesis) -> list[Estimate]:
    """Of one persona. A session takes about three replies; a chat is sent anew with every turn."""
    chats, turns = s.sessions - 1, min(3, s.turns)
    return [
        Estimate("model", 3, 1500 + 60 * s.factors + 40 * s.sessions, 250 + 170 * s.factors + 190 * s.sessions),
        Estimate("judge", s.factors + 1, 260 * (s.factors + 1), 70 * (s.factors + 1)),
        Estimate("assistant", chats * turns, chats * turns * 400, chats * turns * 160),
        Estimate("judge_user", chats * turns, chats * turns * 1300, chats * turns * 230),
    ]


def _hicupid_estimate(s: Sizes) -> list[Estimate]:
    """Of one user; what is shared between users is counted by its share."""
    shared = 1 / s.share
    table = s.dimensions * shared
    questions = s.dimensions * shared + s.profile_questions
    prompt = 300 * s.dimensions * shared + 250 * questions + 200 * table / 20 + 1500
    answers = (70 * s.turns + 60) * s.dimensions * shared + 90 * questions + 25 * table + 900 + 230 * s.schedules
    return [Estimate("model", round(s.dimensions * shared + questions + 5), round(prompt), round(answers))]


def _usage(asker: Asker, price: Price | None) -> dict[str, Any]:
    tally = asker.tally
    return {
        "model": asker.model.identity,
        "requests": tally.asked,
        "from_store": tally.stored,
        "prompt_tokens": tally.usage.prompt,
        "cached_tokens": tally.usage.cached,
        "completion_tokens": tally.usage.completion,
        "cost": tally.cost,
        "cost_in_all": None if price is None else (tally.cost or 0.0) + price.of(tally.stored_usage),
    }
