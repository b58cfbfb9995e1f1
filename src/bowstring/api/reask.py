"""Send stored requests again and replace their responses, for the command `bowstring store reask`.

reask(Path("runs/responses.sqlite"), Chosen(empty=True), max_cost=1.0)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bowstring.concurrency import run_anywhere
from bowstring.errors import UsageError
from bowstring.models.interface import Model, RequestFailed
from bowstring.models.names import SERVED, check_address_of_run, has_several_servers, name_of_identity, open_model
from bowstring.models.prices import load_prices
from bowstring.models.transport import Patience
from bowstring.records import Trunk, Usage
from bowstring.runs.asking import Asker
from bowstring.runs.budget import Budget
from bowstring.runs.runner import Group, Record, Runner
from bowstring.runs.store import Store
from bowstring.runs.stored import Chosen, StoredResponse, select, trunks_of
from bowstring.settings import check_settings, option


@dataclass(frozen=True, slots=True)
class ReaskSettings:
    at: str | None = field(
        default=None,
        metadata=option(
            "Model to ask, if its name is not in the store: one that was given --served-as, or weights in a folder.",
            metavar="NAME",
        ),
    )
    max_cost: float | None = field(
        default=None, metadata=option("Budget in dollars; requests that might exceed it are not sent.", min=0)
    )
    prices: Path | None = field(default=None, metadata=option("YAML file of prices that override the built-in ones."))
    concurrency: int | None = field(
        default=None, metadata=option("Maximum requests in flight.", min=1, shown_default="the model's own")
    )
    timeout: float = field(default=600.0, metadata=option("Seconds to wait for one response.", min=1))
    attempts: int = field(default=6, metadata=option("Attempts per request.", min=1))

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(slots=True)
class Reasked:
    """`cost` is an estimate before anything is sent, from what the stored responses took; None if a price is unknown.
    `reason` is the most common failure. `without_prompt` has the keys of responses whose prompt is missing or damaged,
    which cannot be asked again."""

    chosen: int
    cost: float | None = None
    replaced: int = 0
    failed: int = 0
    reason: str = ""
    stopped: str | None = None
    without_prompt: tuple[str, ...] = ()


def reask(
    store: Path,
    chosen: Chosen,
    *,
    dry_run: bool = False,
    tell: Callable[[str], None] = lambda line: None,
    **given: Any,
) -> Reasked:
    """Send the requests of the chosen responses again. A request that fails keeps its old response."""
    settings = ReaskSettings(**given)
    selected = select(store, chosen)
    trunks = trunks_of(store, selected)
    rows = [row for row in selected if row.trunk in trunks]
    prices = load_prices(settings.prices)
    models = {identity: _open(identity, settings, tell, dry_run) for identity in dict.fromkeys(r.model for r in rows)}
    costs = []
    for row in rows:
        price = prices.of(models[row.model])
        usage = Usage(row.prompt_tokens, row.cached_tokens, row.completion_tokens)
        costs.append(None if price is None else price.of(usage))
    known = [cost for cost in costs if cost is not None]
    done = Reasked(len(rows), sum(known) if len(known) == len(costs) else None)
    done.without_prompt = tuple(row.key for row in selected if row.trunk not in trunks)
    if settings.max_cost is not None and done.cost is None:
        unknown = next(row.model for row, cost in zip(rows, costs, strict=True) if cost is None)
        raise UsageError(f"--max-cost needs the price of {unknown}: set it with --prices FILE")
    if not dry_run and rows:
        _Asking(store, rows, trunks, models, settings, done).run()
    return done


def _open(identity: str, settings: ReaskSettings, tell: Callable[[str], None], dry_run: bool) -> Model:
    name = (
        settings.at
        if settings.at is not None
        else check_address_of_run(name_of_identity(identity), "--at", "the store")
    )
    if settings.at is None and identity.startswith(SERVED):
        raise UsageError(f"{identity} has no address in the store; give its name with --at NAME")
    served_as = identity.removeprefix(SERVED) if identity.startswith(SERVED) else None
    patience = Patience(attempts=settings.attempts, timeout=settings.timeout)
    if served_as is None and has_several_servers(name):
        raise UsageError(f"{identity} is one server, and {settings.at} is several; give one with --at NAME")
    found = open_model(name, patience=patience, tell=tell, with_key=not dry_run, served_as=served_as)
    if found.identity != identity:
        raise UsageError(f"{name} is {found.identity}, but the responses are of {identity}; choose with --model")
    return found


class _Asking:
    def __init__(
        self,
        path: Path,
        rows: list[StoredResponse],
        trunks: dict[str, Trunk],
        models: dict[str, Model],
        settings: ReaskSettings,
        done: Reasked,
    ) -> None:
        self._path, self._rows, self._trunks = path, rows, trunks
        self._models, self._settings, self._done = models, settings, done
        self._runner: Runner[StoredResponse] | None = None

    def run(self) -> None:
        run_anywhere(self._run, self._interrupt)

    def _interrupt(self) -> None:
        if self._runner is not None:
            self._runner.stop("interrupted")

    async def _run(self) -> None:
        settings, reasons = self._settings, Counter[str]()
        prices = load_prices(settings.prices)
        budget = Budget(settings.max_cost) if settings.max_cost is not None else None
        store = Store(self._path)
        try:
            by_trunk: dict[str, list[StoredResponse]] = {}
            for row in self._rows:
                by_trunk.setdefault(row.trunk, []).append(row)
            began = time.time()
            askers = {
                (identity, role): Asker(
                    model,
                    store,
                    concurrency=settings.concurrency,
                    price=prices.of(model),
                    budget=budget,
                    fresh_since=began,
                    role=role,
                )
                for identity, model in self._models.items()
                for role in dict.fromkeys(row.role for row in self._rows if row.model == identity)
            }

            async def ask(row: StoredResponse) -> Record:
                prompt = row.prompt(self._trunks[row.trunk])
                try:
                    await askers[row.model, row.role].ask(prompt, row.settings())
                    self._done.replaced += 1
                except RequestFailed as failed:
                    self._done.failed += 1
                    reasons[failed.reason] += 1
                return {}

            groups = [Group(own, lambda items: ask) for own in by_trunk.values()]
            self._runner = Runner(groups, list(askers.values()))
            outcome = await self._runner.run()
            self._done.stopped = outcome.stopped
            self._done.reason = reasons.most_common(1)[0][0] if reasons else ""
        finally:
            await store.close()
            for model in self._models.values():
                await model.close()
