"""What the command and the API both call: an evaluation, or a sweep over several.

run = evaluate("hicupid", model="embedded", judge="builtin", limit=10)
run.metrics["metrics"]["score.total"]

swept = sweep("hicupid", model="embedded", history=["full", "gold", "last:4k"])
swept.points["gold"].metrics["metrics"]["score.total"]
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from bowstring.benchmarks.cupid.evaluation import CupidEvaluation, CupidSettings
from bowstring.benchmarks.hicupid import truth
from bowstring.benchmarks.hicupid.evaluation import HicupidEvaluation, HicupidReaders, HicupidSettings
from bowstring.benchmarks.interface import Benchmark
from bowstring.datasets import DataSet, load_cupid, load_hicupid
from bowstring.errors import UsageError
from bowstring.history.dense import VECTORS_NAME, DenseSearch
from bowstring.judging import builtin
from bowstring.models.batch import Batch
from bowstring.models.embedder import Embedder
from bowstring.models.endpoint import Endpoint
from bowstring.models.interface import Model
from bowstring.models.names import open_model
from bowstring.models.prices import Prices, load_prices
from bowstring.models.transport import Patience
from bowstring.prompts import PromptFolder
from bowstring.runs.folder import default_name, fingerprint
from bowstring.runs.runner import Snapshot
from bowstring.runs.running import Evaluation, Run, Running, RunOptions
from bowstring.runs.sweep import AXES, Sweep, Swept, slug, variant_name

BENCHMARKS: Mapping[str, type[HicupidSettings] | type[CupidSettings]] = {
    "hicupid": HicupidSettings,
    "cupid": CupidSettings,
}
LEDGER_NAME = "batches"

Settings = HicupidSettings | CupidSettings


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
    return Sweep(dict(zip(names, running.evaluations, strict=True)), running, folder, tell)


def _prepare(
    benchmark: str,
    *,
    model: Any = None,
    judge: Any = builtin.NAME,
    matcher: Any = None,
    data: str = "mini",
    revision: str | None = None,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    with_keys: bool = True,
    **settings: Any,
) -> tuple[Running, list[Settings]]:
    if benchmark not in BENCHMARKS:
        raise UsageError(f"no benchmark {benchmark!r}; expected {' or '.join(BENCHMARKS)}")
    options, chosen = _sorted_settings(settings, BENCHMARKS[benchmark])
    named = _roles(benchmark, chosen[0], {"model": model, "judge": judge, "matcher": matcher})
    patience = Patience(attempts=options.attempts, timeout=options.timeout)
    models = {role: open_model(n, patience=patience, tell=tell, with_key=with_keys) for role, n in named.items()}
    if options.batch:
        models = _in_batches(models, options, tell)
    prices = load_prices(options.prices)
    check_budget(options, prices, list(models.values()))
    search = _dense_search(chosen, options, tell)
    known = truth.load_truth(str(data)) if judge == truth.NAME else None
    loaded, open_items = _opener(chosen[0], str(data), revision, models, search, known)
    evaluations = []
    for one in chosen:
        prompts = PromptFolder(options.prompts)
        items = open_items(one, prompts)
        configuration = {
            "benchmark": benchmark,
            "model": models["model"].identity if models else None,
            "judge": models["judge"].identity if "judge" in models else str(judge) if models else None,
            **({"matcher": models["matcher"].identity} if "matcher" in models else {}),
            "data": {"name": str(data), "revision": revision, "fingerprint": loaded.fingerprint},
            "settings": json.loads(json.dumps(one.configuration())),
            **({"retriever": search.embedder.identity} if search and one.view().kind == "dense" else {}),
            "prompts": prompts.fingerprints if models else {},
        }
        evaluations.append(Evaluation(benchmark, items, configuration, _folder(options, configuration, one, chosen)))
    return Running(evaluations, models, options, prices, watch), chosen


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


def _dense_search(chosen: Sequence[Settings], options: RunOptions, tell: Callable[[str], None]) -> DenseSearch | None:
    for one in chosen:
        if isinstance(one, HicupidSettings) and one.view().kind == "dense":
            return DenseSearch(Embedder(one.retriever, tell), options.store_path.with_name(VECTORS_NAME))
    return None


def _folder(options: RunOptions, configuration: Mapping[str, Any], one: Settings, chosen: Sequence[Settings]) -> Path:
    if len(chosen) > 1 and options.out:  # the sweep's own folder; its runs lie inside
        folder = options.out / slug(variant_name(one, chosen))
    else:
        subject = configuration["model"] or "retrieval"
        name = default_name(configuration["benchmark"], subject, fingerprint(configuration))
        folder = options.out or options.runs / name
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; choose another --out")
    return folder


def _opener(
    settings: Settings,
    data: str,
    revision: str | None,
    models: Mapping[str, Model],
    search: DenseSearch | None,
    known: truth.Truth | None,
) -> tuple[DataSet, Callable[[Settings, PromptFolder], Benchmark]]:
    """The data, and what opens evaluations of it, with whatever those of one data set can share."""
    names = {role: model.name for role, model in models.items()}
    if isinstance(settings, HicupidSettings):
        hicupid = load_hicupid(data, revision=revision, splits=settings.splits, leave_out=("train",))
        readers = HicupidReaders(hicupid, tokens=settings.bm25_tokens)
        return hicupid, lambda one, prompts: HicupidEvaluation(
            hicupid, one, prompts, readers=readers, search=search, judge=names.get("judge"), truth=known
        )
    cupid = load_cupid(data, revision=revision)
    return cupid, lambda one, prompts: CupidEvaluation(cupid, one, prompts, matcher=names.get("matcher"))


def _roles(benchmark: str, settings: Settings, named: Mapping[str, Any]) -> dict[str, Any]:
    """The models that are to be opened, by role."""
    if isinstance(settings, HicupidSettings) and settings.retrieval_only:
        for role, name in named.items():
            if name is not None and name != builtin.NAME:
                raise UsageError(f"--retrieval-only asks no model: leave out --{role}")
        return {}
    if named["model"] is None:
        raise UsageError("Missing option '--model': the model to evaluate, such as openai/gpt-4o-mini or embedded")
    if named["matcher"] is not None and benchmark != "cupid":
        raise UsageError("a matcher is for CUPID")
    if named["judge"] == truth.NAME and benchmark != "hicupid":
        raise UsageError("--judge truth is for HiCUPID sets that were generated offline")
    own = (builtin.NAME, truth.NAME)
    found = {r: n for r, n in named.items() if n is not None and not (r != "model" and n in own)}
    if "matcher" in found and "judge" not in found:
        raise UsageError(
            "--matcher needs --judge, and a model for it: the judge writes the checklists that are matched"
        )
    return found


def _sorted_settings(settings: Mapping[str, Any], kind: type[Settings]) -> tuple[RunOptions, list[Settings]]:
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
