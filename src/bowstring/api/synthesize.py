"""Generation of data sets, with models or offline, for the command and the Python API.

made = prepare_synthesis(NAME, model="openai/gpt-4o-mini", personas=4, out="sets/mine").run()
made.quality.as_json()

made = synthesize_offline(NAME, users=30, out="sets/people")
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.cards import card_of
from bowstring.benchmarks.interface import Benchmark, require_part
from bowstring.benchmarks.loading import load
from bowstring.benchmarks.synthesis import Pipeline, Synthesis
from bowstring.concurrency import run_anywhere
from bowstring.datasets.card import Origin
from bowstring.datasets.personal import search_data_set
from bowstring.errors import UsageError
from bowstring.models.interface import Model, RequestFailed
from bowstring.models.names import check_as_openai, open_model
from bowstring.models.prices import Prices, load_prices
from bowstring.models.rates import rate_limiter
from bowstring.models.tokens import counter_or_none
from bowstring.models.transport import Patience
from bowstring.records import Usage
from bowstring.runs.asking import Asker
from bowstring.runs.budget import Budget
from bowstring.runs.failures import failure_of
from bowstring.runs.folder import fingerprint, run_folder_name
from bowstring.runs.runner import Group, Record, Runner, Snapshot
from bowstring.runs.running import STORE_NAME, servers_of
from bowstring.runs.served_as import served_names
from bowstring.runs.store import Store
from bowstring.settings import options_of, split_keywords
from bowstring.synthesis.finishing import check_out, finish, lock_folder, mark_started
from bowstring.synthesis.making import Dropped, Maker
from bowstring.synthesis.quality import Quality
from bowstring.synthesis.seeds import load_seeds
from bowstring.synthesis.settings import SynthesisOptions

_SETS = Path("sets")
_CALL = "synthesize()"
_CHECKING = "checked by rule, regenerated where a check failed, and dropped where that did not help"
_MANY = 300  # users; for larger sets the card has no token counts and no search for personal information
Tell = Callable[[str], None]


@dataclass(slots=True)
class SynthesisResult:
    """The result of a synthesis: complete, with its folder, or stopped and resumable."""

    folder: Path
    items: list[Any]  # as the benchmark's pipeline returns them; empty for an offline set, which is written directly
    quality: Quality
    usage: dict[str, Any]
    failed: list[Record]
    stopped: str | None
    written: bool

    @property
    def cost(self) -> float | None:
        """The cost of the items, including stored responses; None if a price is unknown."""
        costs = [used["cost_in_all"] for used in self.usage.values()]
        return None if any(cost is None for cost in costs) else sum(costs)


@dataclass(slots=True)
class PreparedSynthesis:
    """A prepared synthesis: all settings are checked, and no request was sent."""

    benchmark: Benchmark
    synthesis: Synthesis
    settings: Any  # of the class that the benchmark defines
    options: SynthesisOptions
    pipeline: Pipeline
    models: dict[str, Model]
    prices: Prices
    configuration: dict[str, Any]
    folder: Path
    watch: Callable[[Snapshot], None] = field(default=lambda snapshot: None)
    _runner: Runner[Any] | None = None

    @property
    def n(self) -> int:
        """The number of things to generate."""
        return self.synthesis.count(self.settings)

    @property
    def preview(self) -> int | None:
        return self.options.preview

    def run(self) -> SynthesisResult:
        """Generate everything, or with `preview` the first few; write the set if nothing is missing."""
        with nullcontext() if self.preview else lock_folder(self.folder):
            made = run_anywhere(self._run, self._interrupt)
            if not (made.stopped or made.failed or self.preview):
                self._write(made)
        return made

    def _interrupt(self) -> None:
        if self._runner is not None:
            self._runner.stop("interrupted")

    async def _run(self) -> SynthesisResult:
        store = Store(self.options.store or self.folder.parent / STORE_NAME)
        quality = Quality()
        try:
            askers = self._askers(store)
            s = self.settings
            maker = Maker(askers, seed=s.seed, quality=quality, temperature=s.temperature)
            numbers = range(min(self.n, self.preview) if self.preview else self.n)
            groups = [Group([number], lambda _: partial(self._record, maker=maker)) for number in numbers]
            self._runner = Runner(groups, list(askers.values()), self.watch)
            outcome = await self._runner.run()
        finally:
            await store.close()
            for model in {id(m): m for m in self.models.values()}.values():
                await model.close()
        records = [r for r in outcome.records if r is not None]
        quality.dropped += [r["dropped"] for r in records if "dropped" in r]
        return SynthesisResult(
            self.folder,
            list(self.synthesis.finish([r["made"] for r in records if "made" in r], quality)),
            quality,
            {role: _usage(asker) for role, asker in askers.items()},
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
            return {"number": number, "failure": failure_of("synthesis", failed)}

    def _askers(self, store: Store) -> dict[str, Asker]:
        """Usage by role; roles with the same model are adjacent."""
        budget = Budget(self.options.max_cost) if self.options.max_cost is not None else None
        askers: dict[str, Asker] = {}
        began = time.time()
        for role, model in self.models.items():
            beside = next((a for a in askers.values() if a.model.name == model.name), None)
            askers[role] = Asker(
                beside.model if beside else model,
                store,
                beside=beside,
                concurrency=self.options.concurrency,
                price=self.prices.of(model),
                budget=budget,
                limiter=rate_limiter(self.options.requests_per_minute, self.options.tokens_per_minute),
                fresh_since=began if self.options.fresh else None,
                role=role,
            )
        return askers

    def _write(self, made: SynthesisResult) -> None:
        if not made.items:
            return
        mark_started(self.folder, self.configuration)
        self.synthesis.write(made.items, self.folder)
        by = self.configuration["models"]["model"]
        checking = getattr(self.pipeline, "checking", _CHECKING)
        made_by = (
            f"Written by {by} with Bowstring's {self.benchmark.title} pipeline: {checking} (quality.json). "
            f"All people in it are invented.\n\n{made.quality.rates.markdown()}"
        )
        _finish(self.folder, self.configuration, made.quality, made_by=made_by, title=self.folder.name)
        made.written = True

    def projected(self, made: SynthesisResult) -> tuple[float, float] | None:
        """The cost of the preview and the projected cost of the whole set: the estimate, scaled by the measured
        cost."""
        whole, expected = (self._projected_cost(n) for n in (self.n, len(made.items)))
        if made.cost is None or not made.items or whole is None or expected is None:
            return None
        return made.cost, whole * made.cost / expected if expected else 0.0

    def _projected_cost(self, n: int) -> float | None:
        costs = [row["cost"] for row in self.projection(n).values()]
        return None if None in costs else sum(costs)

    def projection(self, n: int | None = None) -> dict[str, dict[str, Any]]:
        """Estimated requests and tokens by role, and the cost if prices are known; of `n` things, or of all."""
        n = self.n if n is None else n
        found: dict[str, dict[str, Any]] = {}
        for e in self.synthesis.estimates(self.settings):
            if e.role not in self.models:
                continue
            model, times = self.models[e.role], 1 if e.once else n
            price = self.prices.of(model)
            row = found.setdefault(
                e.role,
                {"model": model.identity, "requests": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": None},
            )
            row["requests"] += e.requests * times
            row["prompt_tokens"] += e.prompt * times
            row["completion_tokens"] += e.completion * times
            if price is not None:
                row["cost"] = (row["cost"] or 0.0) + price.of(Usage(e.prompt * times, 0, e.completion * times))
        return found


def prepare_synthesis(
    benchmark: str,
    *,
    with_keys: bool = True,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Tell = lambda line: None,
    **given: Any,
) -> PreparedSynthesis:
    """Check all settings before any request is sent. A projection needs no keys."""
    of, synthesis = _synthesis_of(benchmark)
    in_roles, in_settings, in_options = _sorted(synthesis, given)
    named: dict[str, Any] = synthesis.roles(**in_roles).by_role()
    if named["model"] is None:
        raise UsageError(f"synth {benchmark} needs --model{' or --offline' if synthesis.offline else ''}")
    settings, options = synthesis.settings(**in_settings), SynthesisOptions(**in_options)
    prompts = of.prompts(options.prompts)
    seeds = load_seeds(options.seeds, field=options.seeds_field, seed=settings.seed)
    pipeline = synthesis.pipeline(settings, seeds, prompts)
    settings = getattr(pipeline, "settings", settings)
    check_as_openai(options.as_openai, named)
    patience = Patience(attempts=options.attempts, timeout=options.timeout)
    models = _opened(named, options, patience, tell, with_keys=with_keys)
    prices = load_prices(options.prices)
    for one in models.values() if options.max_cost is not None else ():
        if prices.of(one) is None:
            raise UsageError(f"--max-cost needs the price of {one.identity}: give it with --prices FILE")
    configuration = {
        "benchmark": benchmark,
        "models": {role: one.identity for role, one in models.items()},
        **({"as_openai": sorted(set(options.as_openai))} if options.as_openai else {}),
        "settings": json.loads(json.dumps(settings.configuration())),
        "seeds": fingerprint({"seeds": seeds}),
        "prompts": prompts.fingerprints,
    }
    name = run_folder_name(benchmark, models["model"].identity, fingerprint(configuration))
    folder = options.out or _SETS / name
    if not options.preview:
        check_out(folder, configuration)
    for line in synthesis.remarks(models):
        tell(line)
    return PreparedSynthesis(of, synthesis, settings, options, pipeline, models, prices, configuration, folder, watch)


def _opened(
    named: Mapping[str, Any], options: SynthesisOptions, patience: Patience, tell: Tell, *, with_keys: bool
) -> dict[str, Model]:
    """Models by role; roles with the same name share one model, and are asked in the same way."""
    openai = [named[role] for role in options.as_openai]
    served = served_names(options.served_as, named, list(named))
    models: dict[str, Model] = {}
    for role, name in named.items():
        same = next((r for r in models if named[r] == name and served.get(role) in (None, served.get(r))), "")
        models[role] = models.get(same) or open_model(
            name,
            patience=patience,
            tell=tell,
            with_key=with_keys,
            served_as=served.get(role),
            as_openai=name in openai,
            option=f"--{role}",
        )
    return models


def synthesize_offline(benchmark: str, *, tell: Tell = lambda line: None, **given: Any) -> SynthesisResult:
    """Generate a set from word banks, without a model; the same seed gives the same bytes."""
    of, synthesis = _synthesis_of(benchmark)
    generator = require_part(of, synthesis.offline, "offline generator")
    _, in_settings, in_options = _sorted(synthesis, given)
    for kind in (synthesis.roles, synthesis.settings, SynthesisOptions):
        for one in options_of(kind):
            value = given.get(one.field)
            if value is not None and value is not False and one.field not in (*generator.settings, "out"):
                raise UsageError(f"--offline uses no model; leave out {one.flag}")
    settings = synthesis.settings(**in_settings)
    n = synthesis.count(settings)
    folder = in_options.get("out") or _SETS / f"{benchmark}-offline-{n}-{settings.seed}"
    offline = generator.open(settings)
    configuration = {"benchmark": benchmark, "model": "offline", "seed": settings.seed, **offline.configuration}
    check_out(folder, configuration)
    mark_started(folder, configuration)
    quality = offline.write(folder, _Counting(tell, synthesis.thing.many))
    title = f"{of.title}, generated offline ({n:,} {synthesis.thing.many})"
    _finish(folder, configuration, quality, made_by=generator.made_by, title=title)
    return SynthesisResult(folder, [], quality, usage={}, failed=[], stopped=None, written=True)


class _Counting:
    """Reports progress about ten times in total."""

    def __init__(self, tell: Tell, things: str) -> None:
        self._tell = tell
        self._things = things
        self._next = 0

    def __call__(self, done: int, total: int) -> None:
        if done >= self._next or done == total:
            self._tell(f"{done:,}/{total:,} {self._things}")
            self._next = done + max(1, total // 10)


def _synthesis_of(name: str) -> tuple[Benchmark, Synthesis]:
    benchmark = registry.get(name)
    return benchmark, require_part(benchmark, benchmark.synthesis(), "synthesis")


def _sorted(synthesis: Synthesis, given: Mapping[str, Any]) -> tuple[dict[str, Any], ...]:
    kinds = (synthesis.roles, synthesis.settings, SynthesisOptions)
    return split_keywords(kinds, given, where=_CALL, besides=("offline",) if synthesis.offline else ())


def _finish(folder: Path, configuration: Mapping[str, Any], quality: Quality, *, made_by: str, title: str) -> None:
    """Write the card and provenance of a set. It is loaded for the card, so a bad set is found now."""
    data = load(str(folder), str(configuration["benchmark"]))
    many = len(data.history_keys()) > _MANY
    counter = None if many else counter_or_none("embedded", lambda line: None)
    card = card_of(
        data, Origin("cc-by-4.0", made_by), None if many else list(search_data_set(data)), counter, title=title
    )
    finish(folder, configuration, quality, card)


def _usage(asker: Asker) -> dict[str, Any]:
    tally = asker.tally
    return {
        "model": asker.model.identity,
        "requests": tally.asked,
        "from_store": tally.stored,
        "prompt_tokens": tally.usage.prompt,
        "cached_tokens": tally.usage.cached,
        "completion_tokens": tally.usage.completion,
        "estimated_requests": tally.estimated,
        "cost": tally.cost,
        "cost_in_all": asker.cost_in_all,
        **servers_of(asker),
    }
