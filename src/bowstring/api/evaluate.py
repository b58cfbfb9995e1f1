"""What the command and the API both call: an evaluation, or a sweep over several.

run = evaluate("hicupid", model="embedded", judge="builtin", limit=10)
run.metrics["metrics"]["score.total"]

swept = sweep("hicupid", model="embedded", history=["full", "gold", "last:4k"])
swept.points["gold"].metrics["metrics"]["score.total"]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.histories import histories_of
from bowstring.benchmarks.interface import Benchmark, Context
from bowstring.benchmarks.loading import load
from bowstring.datasets.dataset import DataSet
from bowstring.errors import DataError, UsageError
from bowstring.judging import builtin
from bowstring.models.batch import Batch
from bowstring.models.endpoint import Endpoint
from bowstring.models.interface import Model
from bowstring.models.names import open_model
from bowstring.models.prices import Prices, load_prices
from bowstring.models.transport import Patience
from bowstring.records import STAGE_ROLE
from bowstring.reports.page import write_page
from bowstring.reports.sweep_page import write_sweep_page
from bowstring.runs.folder import default_name, fingerprint
from bowstring.runs.runner import Record, Snapshot
from bowstring.runs.running import Evaluation, Run, Running, RunOptions
from bowstring.runs.sweep import AXES, Sweep, Swept, slug, variant_name
from bowstring.studies.validity import with_audit

LEDGER_NAME = "batches"


def evaluate(benchmark: str, **settings: Any) -> Run:
    """Evaluate a model and return the run, as `bowstring eval` does.

    `model` and `judge` (and CUPID's `matcher`) are names, or objects of your own; `data` a hub id, a folder, a file or
    mini. Other settings are those of the benchmark (history, max_tokens, temperature, seed …) and of the run (out,
    limit, concurrency, max_cost …).
    """
    return prepare(benchmark, **settings).run()[0]


def sweep(benchmark: str, **settings: Any) -> Swept:
    """Evaluate a model under several settings in one go: `history`, `shots` or `instruction` may be lists."""
    return prepare_sweep(benchmark, **settings).run()


def prepare(benchmark: str, **settings: Any) -> Running:
    """Check everything that can be checked before anything is asked. A plan does not need keys."""
    for axis in AXES:
        if isinstance(settings.get(axis), list | tuple):
            raise UsageError(f"{axis} is a list; expected one value (bowstring.sweep takes several)")
    running, _ = _prepare(benchmark, **settings)
    return running


def prepare_sweep(benchmark: str, **settings: Any) -> Sweep:
    """As `prepare`, for every combination of the axes that are lists."""
    running, chosen = _prepare(benchmark, **settings)
    first = running.evaluations[0]
    names = [variant_name(one, chosen) for one in chosen]
    prints = [fingerprint(evaluation.configuration) for evaluation in running.evaluations]
    options = running.options
    subject = first.configuration["model"] or "retrieval"
    folder = options.out or options.runs / default_name(f"{benchmark}-sweep", subject, fingerprint({"of": prints}))
    tell = settings.get("tell", lambda line: None)
    return Sweep(dict(zip(names, running.evaluations, strict=True)), running, folder, write_sweep_page, tell)


def _prepare(
    name: str,
    *,
    model: Any = None,
    judge: Any = builtin.NAME,
    matcher: Any = None,
    history_model: Any = None,
    data: str = "mini",
    revision: str | None = None,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    with_keys: bool = True,
    **settings: Any,
) -> tuple[Running, list[Any]]:
    benchmark = registry.get(name)
    options, chosen = _sorted_settings(settings, benchmark.settings)
    named = _roles(benchmark, chosen[0], {"model": model, "judge": judge, "matcher": matcher})
    asks_before = any(one.view().asks for one in chosen)
    if history_model is not None and not asks_before:
        raise UsageError("--history-model is for a history that asks a model: summary, or a stage of your own")
    if asks_before and history_model is not None and named:
        named[STAGE_ROLE] = history_model
    patience = Patience(attempts=options.attempts, timeout=options.timeout)
    models = {role: open_model(n, patience=patience, tell=tell, with_key=with_keys) for role, n in named.items()}
    if options.batch:
        models = _in_batches(models, options, tell)
    if asks_before and models:
        models.setdefault(STAGE_ROLE, models["model"])
    prices = load_prices(options.prices)
    check_budget(options, prices, list(models.values()))
    first = chosen[0].configuration()
    loaded = load(str(data), name, revision=revision, choice=benchmark.choice(first))
    judge_name = models["judge"].name if "judge" in models else str(judge) if models else None
    names = {role: one.name for role, one in models.items()}
    open_items = benchmark.opener(loaded, chosen, Context(str(data), judge_name, names, options.store_path, tell))
    evaluations = []
    for one in chosen:
        prompts = benchmark.prompts(options.prompts)
        items = open_items(one, prompts)
        configuration = {
            "benchmark": name,
            "model": models["model"].identity if models else None,
            "judge": models["judge"].identity if "judge" in models else str(judge) if models else None,
            **({"matcher": models["matcher"].identity} if "matcher" in models else {}),
            **({"history_model": models[STAGE_ROLE].identity} if history_model is not None and one.view().asks else {}),
            "data": {"name": str(data), "revision": revision, "fingerprint": loaded.fingerprint},
            "settings": json.loads(json.dumps(one.configuration())),
            **items.identities(),
            "prompts": prompts.fingerprints if models else {},
        }
        folder = _folder(options, configuration, one, chosen)
        evaluations.append(Evaluation(name, items, configuration, folder, partial(_page, loaded, folder)))
    return Running(evaluations, models, options, prices, watch), chosen


def _page(data: DataSet, folder: Path, metrics: dict[str, Any], records: Sequence[Record]) -> str:
    """The page of a run, with what its last audit found."""
    with suppress(DataError):  # it is not the run's fault; bowstring report says so
        metrics = with_audit(metrics, folder)
    return write_page(metrics, records, histories_of(data))


def _in_batches(models: Mapping[str, Model], options: RunOptions, tell: Callable[[str], None]) -> dict[str, Model]:
    """The models that have a batch API, asked through it; the others as they are."""
    found = dict(models)
    for role, model in models.items():
        if isinstance(model, Endpoint):
            ledger = options.store_path.with_name(LEDGER_NAME)
            found[role] = Batch(model, ledger, tell, fresh=options.fresh)
        else:
            tell(f"{model.name} has no batch API here: it is asked one by one.")
    if not any(isinstance(model, Batch) for model in found.values()):
        raise UsageError("--batch: no model here speaks OpenAI's batch API; expected openai/NAME or a server like it")
    return found


def _folder(options: RunOptions, configuration: Mapping[str, Any], one: Any, chosen: Sequence[Any]) -> Path:
    if len(chosen) > 1 and options.out:  # the sweep's own folder; its runs lie inside
        folder = options.out / slug(variant_name(one, chosen))
    else:
        subject = configuration["model"] or "retrieval"
        name = default_name(configuration["benchmark"], subject, fingerprint(configuration))
        folder = options.out or options.runs / name
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; choose another --out")
    return folder


def _roles(benchmark: Benchmark, settings: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """The models that are to be opened, by role."""
    if not benchmark.asks_models(settings):
        for role, name in named.items():
            if name is not None and name != builtin.NAME:
                raise UsageError(f"--retrieval-only asks no model: leave out --{role}")
        return {}
    if named["model"] is None:
        raise UsageError("Missing option '--model': the model to evaluate, such as openai/gpt-4o-mini or embedded")
    for role, name in named.items():
        if role not in ("model", *benchmark.roles) and name is not None:
            raise UsageError(f"--{role}: {benchmark.title} has no {role}")
    others = {judge for other in registry.all_benchmarks() for judge in other.judges}
    if isinstance(named["judge"], str) and named["judge"] in others - set(benchmark.judges):
        raise UsageError(f"--judge {named['judge']}: {benchmark.title} has no such judge; expected a model or builtin")
    found = {r: n for r, n in named.items() if n is not None and not (r != "model" and n in benchmark.judges)}
    benchmark.check_roles(found)
    return found


def _sorted_settings(settings: Mapping[str, Any], kind: type[Any]) -> tuple[RunOptions, list[Any]]:
    """Keyword arguments, told apart by whom they concern; settings once for every combination of the axes."""
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
    axes = {axis: _values(axis, rest.pop(axis)) for axis in AXES if axis in rest}
    combined = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return RunOptions(**of_run), [kind(**rest, **one) for one in combined]


def _values(axis: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise UsageError(f"{axis} is an empty list; expected at least one value")
    return list(dict.fromkeys(given))


def check_budget(options: RunOptions, prices: Prices, models: Sequence[Model]) -> None:
    for model in models if options.max_cost is not None else ():
        if prices.of(model.identity) is None:
            raise UsageError(f"--max-cost needs the price of {model.identity}: give it with --prices FILE")
