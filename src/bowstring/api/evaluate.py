"""Evaluations and sweeps, for the command and the Python API: settings are checked, models and data are opened.

prepare(NAME, model="embedded", judge="builtin", limit=10).run()
prepare_sweep(NAME, model="embedded", history=["full", "gold", "last:4k"]).run()
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.controls import FOLDER as CONTROLS_FOLDER
from bowstring.benchmarks.controls import stored_controls
from bowstring.benchmarks.interface import Benchmark, Context
from bowstring.benchmarks.loading import load
from bowstring.benchmarks.of_run import open_run
from bowstring.benchmarks.published_rows import published_beside
from bowstring.benchmarks.standing import about_run, standing_of
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.problems import join_choices
from bowstring.errors import DataError, FetchError, MissingData, UsageError
from bowstring.judging import builtin
from bowstring.models.batch import Batch
from bowstring.models.endpoint import Endpoint
from bowstring.models.interface import Model, can_score, is_openai
from bowstring.models.names import (
    AS_OPENAI_HELP,
    check_address_of_run,
    check_as_openai,
    name_of_identity,
    open_model,
)
from bowstring.models.prices import load_prices
from bowstring.models.replicas import Replicas
from bowstring.models.thinking import ThinkingSettings
from bowstring.models.transport import Patience
from bowstring.records import STAGE_ROLE
from bowstring.reports.items import histories_of
from bowstring.reports.page import write_page
from bowstring.reports.sweep_page import write_sweep_page
from bowstring.runs.folder import EndedRun, fingerprint, names_of_run, read_manifest, run_folder_name
from bowstring.runs.items import Items
from bowstring.runs.runner import Record, Snapshot
from bowstring.runs.running import Evaluation, Run, Running, RunOptions, check_budget
from bowstring.runs.served_as import role_and_name, served_names
from bowstring.runs.stored import models_in
from bowstring.runs.sweep import Sweep, run_folders, slug, variant_name
from bowstring.settings import Option, check_option, option, options_of, split_keywords
from bowstring.studies.data_audit import leaks_of
from bowstring.studies.validity import with_audit

LEDGER_NAME = "batches"
_ROLES = ("model", "judge", "matcher", STAGE_ROLE)
Tell = Callable[[str], None]
Watch = Callable[[Snapshot], None]
ModelLike = Any  # a name such as openai/gpt-4o-mini, an object with `complete`, or a function of your own


class MissingModel(UsageError):
    """No model was named; the command adds its name and the --help hint."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The evaluated model, the judges and the data."""

    model: ModelLike = field(
        default=None, metadata=option("Model to evaluate, such as openai/gpt-4o-mini or embedded.", metavar="NAME")
    )
    judge: ModelLike = field(
        default=builtin.NAME,
        metadata=option("Model that judges.", metavar="NAME"),
    )
    matcher: ModelLike = field(
        default=None,
        metadata=option(
            "Model that matches checklists, such as a served prefmatcher.", metavar="NAME", shown_default="the judge"
        ),
    )
    history_model: ModelLike = field(
        default=None,
        metadata=option(
            "Model for histories that ask a model themselves.",
            metavar="NAME",
            shown_default="the evaluated model",
        ),
    )
    served_as: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Name of the model that a server has, so that addresses with the same name share answers; required with "
            "several servers (openai/NAME@URL1,URL2); ROLE=NAME for a role other than model, against=NAME for "
            "the model of --against; repeatable.",
            metavar="[ROLE=]NAME",
        ),
    )
    as_openai: tuple[str, ...] = field(
        default=(), metadata=option(f"{AS_OPENAI_HELP} (model, judge, matcher); repeatable.", metavar="ROLE")
    )
    template_args: Any = field(
        default=None,
        metadata=option(
            "Arguments of the evaluated model's chat template, such as '{\"enable_thinking\": false}'.",
            metavar="JSON",
        ),
    )
    thinking_tokens: int | None = field(
        default=None,
        metadata=option(
            "Budget of the evaluated model's thoughts, in tokens; --max-tokens is then the budget of the answer alone.",
            min=0,
            shown_default="one limit for both",
        ),
    )
    data: str = field(default="mini", metadata=option("Data set: a hub id, a folder, a file, or mini."))
    revision: str | None = field(default=None, metadata=option("Branch, tag or commit of a hub data set."))

    def __post_init__(self) -> None:
        budget = next(one for one in options_of(type(self)) if one.field == "thinking_tokens")
        check_option(budget, self.thinking_tokens)


def eval_options(benchmark: Benchmark) -> list[Option]:
    """All options of an evaluation on a benchmark."""
    roles = {"matcher"} - set(benchmark.roles)
    subject = [_of_benchmark(benchmark, one) for one in options_of(Subject) if one.field not in roles]
    words = benchmark.option_help()
    settings = [replace(one, help=words.get(one.field, one.help)) for one in options_of(benchmark.settings)]
    return [*subject, *settings, *options_of(RunOptions)]


def _of_benchmark(benchmark: Benchmark, one: Option) -> Option:
    """An option of `Subject`, with the judges and the data that the benchmark has."""
    if one.field == "judge" and benchmark.judges:
        known = {builtin.NAME: "needs no model and is only a smoke test", **benchmark.judge_help}
        judges = "; ".join(f"{name} {known.get(name, 'needs no model')}" for name in benchmark.judges)
        return replace(one, help=f"{one.help} {judges}.")
    if one.field == "data" and not benchmark.has_bundled_set:
        return replace(one, help="Data set: a hub id, a folder or a file.", shown_default="")
    return one


def prepare(benchmark: str | None = None, **given: Any) -> Running:
    """Check all settings before any request is sent. A plan needs no keys."""
    running, _ = _prepare(benchmark, several=False, **given)
    return running


def prepare_sweep(benchmark: str | None = None, *, tell: Tell = lambda line: None, **given: Any) -> Sweep:
    """Like `prepare`, for every combination of the settings that are lists."""
    running, chosen = _prepare(benchmark, several=True, tell=tell, **given)
    first = running.evaluations[0]
    names = [variant_name(one, chosen) for one in chosen]
    prints = [fingerprint(evaluation.configuration) for evaluation in running.evaluations]
    options = running.options
    subject = first.configuration["model"] or "retrieval"
    name = run_folder_name(f"{first.benchmark}-sweep", subject, fingerprint({"of": prints}))
    folder = options.out or options.runs / f"{name}{_suffix(options)}"
    return Sweep(dict(zip(names, running.evaluations, strict=True)), running, folder, write_sweep_page, tell)


def _prepare(
    name: str | None,
    *,
    several: bool,
    like: str | PathLike[str] | Run | None = None,
    watch: Watch = lambda snapshot: None,
    tell: Tell = lambda line: None,
    with_keys: bool = True,
    **given: Any,
) -> tuple[Running, list[Any]]:
    given = {key: value for key, value in given.items() if value is not None}
    repeated = run_to_repeat(like.folder if isinstance(like, Run) else Path(like)) if like is not None else None
    must_be = repeated.configuration["data"]["fingerprint"] if repeated is not None and "data" not in given else None
    if repeated is not None:
        name, given = _like(repeated, name, given)
    if name is None:
        raise UsageError(
            f"no benchmark was named; expected {join_choices(registry.names())}, or a run to repeat (--like RUN)"
        )
    benchmark = registry.get(name)
    subject, options, chosen = _sorted_settings(benchmark, given, several=several)
    is_judged = benchmark.is_judged(chosen[0].configuration())
    if not is_judged:
        _refuse_judging(given, options)
    named = _roles(benchmark, chosen[0], {role: getattr(subject, role) for role in ("model", "judge", "matcher")})
    asks_before = any(one.view().asks for one in chosen)
    if subject.history_model is not None and not asks_before:
        raise UsageError("--history-model is only for histories that use a model: summary, or your own stage")
    if subject.history_model is not None and named:
        named[STAGE_ROLE] = subject.history_model
    thinking = ThinkingSettings.parse(subject.template_args, subject.thinking_tokens)
    patience = Patience(attempts=options.attempts, timeout=options.timeout)
    stored = models_in(options.store_path) if options.no_ask else None
    check_as_openai(subject.as_openai, named)
    served = served_names(subject.served_as, named, _ROLES)
    models = {
        role: open_model(
            n,
            patience=patience,
            tell=tell,
            with_key=with_keys and not options.no_ask,
            stored=stored,
            served_as=served.get(role),
            as_openai=role in subject.as_openai,
            option="--history-model" if role == STAGE_ROLE else f"--{role}",
            others=() if role == "model" else (builtin.NAME, *benchmark.judges),
        )
        for role, n in named.items()
    }
    if models:
        thinking.check(models["model"])
    if options.batch:
        models = _in_batches(models, options, tell)
    if asks_before and models:
        models.setdefault(STAGE_ROLE, models["model"])
    prices = load_prices(options.prices)
    check_budget(options, prices, list(models.values()))
    data = str(subject.data)
    try:
        loaded = load(data, name, revision=subject.revision, choice=benchmark.choice(chosen[0].configuration()))
    except (MissingData, FetchError) as error:
        if repeated is None or must_be is None:
            raise
        gone = f"{data}, the data of {repeated.path}, is not there; give its location with --data"
        raise UsageError(gone if isinstance(error, MissingData) else f"{gone} ({error})") from error
    if repeated is not None and must_be not in (None, loaded.fingerprint):
        raise UsageError(f"{data} has changed since {repeated.path}; give it with --data to use it as it is now")
    without_model = str(subject.judge) if models and is_judged else None  # the judge, if it is no model
    judge_name = models["judge"].name if "judge" in models else without_model
    names = {role: one.name for role, one in models.items()}
    openai = frozenset(role for role, one in models.items() if is_openai(one))
    scores = "model" in models and can_score(models["model"])
    context = Context(data, judge_name, names, openai, options.store_path, scores, tell)
    open_items = benchmark.opener(loaded, chosen, context)
    published, standing = benchmark.published_results(), standing_of(benchmark, loaded)
    evaluations = []
    for one in chosen:
        prompts = benchmark.prompts(options.prompts)
        items = open_items(one, prompts)
        other = subject.history_model is not None and one.view().asks
        configuration = {
            "benchmark": name,
            "model": models["model"].identity if models else None,
            "judge": models["judge"].identity if "judge" in models else without_model,
            **({"matcher": models["matcher"].identity} if "matcher" in models else {}),
            **({"history_model": models[STAGE_ROLE].identity} if other else {}),
            **({"as_openai": sorted(set(subject.as_openai))} if subject.as_openai else {}),
            **(thinking.configuration() if models else {}),
            "data": {"name": data, "revision": subject.revision, "fingerprint": loaded.fingerprint},
            "settings": json.loads(json.dumps(one.configuration())),
            **items.identities(),
            "prompts": prompts.fingerprints if models else {},
        }
        folder = _folder(options, configuration, one, chosen)
        page = partial(_page, loaded, folder)
        longer = "raise --judge-tokens" if hasattr(one, "judge_tokens") else ""
        blocks = (
            about_run(benchmark, loaded, standing, items, configuration, options.part),
            partial(_controls, benchmark, items, options.store_path.parent / CONTROLS_FOLDER),
            partial(published_beside, benchmark, published, prompts),
        )
        evaluations.append(
            Evaluation(
                name,
                items,
                configuration,
                folder,
                benchmark.codec,
                page,
                longer,
                blocks,
                standing.note,
                benchmark.cluster.many,
            )
        )
    notes = tuple(leaks_of(loaded))
    return Running(evaluations, models, options, prices, watch, thinking, notes, served), chosen


def _refuse_judging(given: Mapping[str, Any], options: RunOptions) -> None:
    """Raise a UsageError for settings of judging, where nothing is judged."""
    if (judge := next((role for role in ("judge", "matcher") if role in given), None)) is not None:
        raise UsageError(f"--{judge}: this task is scored exactly, without a judge; leave it out")
    if options.judgements > 1:
        raise UsageError("--judgements: this task is scored exactly, without a judge; leave it out")


def run_to_repeat(path: Path) -> EndedRun:
    """Open the run that --like names."""
    if (path / "sweep.json").is_file():
        points = ", ".join(map(str, run_folders(path)))
        raise UsageError(f"--like {path}: this is a sweep; give one of its runs: {points}")
    return open_run(path)


def _like(run: EndedRun, name: str | None, given: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """The configuration of a run as keyword arguments, replaced by the given ones."""
    configuration = run.configuration
    benchmark = str(configuration["benchmark"])
    if name not in (None, benchmark):
        raise UsageError(f"{run.path} is a run of {benchmark}, not of {name}")
    if "model" not in given and configuration["model"] is not None:
        raise UsageError(f"--like {run.path} needs --model (the run used {configuration['model']})")
    is_judged = registry.get(benchmark).is_judged({**configuration["settings"], **given})
    had = read_manifest(run.path).get("options", {})
    kept = ("limit", "users", "shard", "answers", *(("judgements",) if is_judged else ()), "prompts", "prices")
    options = {key: had[key] for key in kept if had.get(key) is not None}
    if "users" in given or "limit" in given:  # they exclude each other
        options = {key: value for key, value in options.items() if key not in ("users", "limit")}
    asked = ("judge", "matcher", "history_model") if is_judged else ("history_model",)
    judges = {key: configuration[key] for key in asked if configuration.get(key)}
    known = names_of_run(run.path)
    of_role = {"history_model": STAGE_ROLE}
    named: dict[str, Any] = {
        key: check_address_of_run(
            known.names.get(of_role.get(key, key)) or name_of_identity(str(value)), f"--{key.replace('_', '-')}"
        )
        for key, value in judges.items()
        if key not in given
    }
    keyword = {STAGE_ROLE: "history_model"}
    now = given.get("served_as") or ()
    now = (now,) if isinstance(now, str) else tuple(now)
    replaced = {role_and_name(str(one))[0] for one in now} | {r for r in _ROLES if keyword.get(r, r) in given}
    openai = [role for role in configuration.get("as_openai", ()) if role not in given]
    if openai:
        more = given.get("as_openai") or ()
        given = given | {"as_openai": (*openai, *((more,) if isinstance(more, str) else more))}
    served = tuple(f"{role}={name}" for role, name in known.served_as.items() if role not in replaced)
    if served:
        given = given | {"served_as": (*served, *now)}
    thinking = ThinkingSettings.of_configuration(configuration).configuration()
    data = {"data": run.data_name, "revision": configuration["data"]["revision"]}
    data = {key: value for key, value in data.items() if value is not None}
    if "data" in given:
        data = {}
    return benchmark, {**options, **named, **data, **thinking, **configuration["settings"], **given}


def _controls(
    benchmark: Benchmark,
    items: Items,
    folder: Path,
    metrics: Mapping[str, Any],  # noqa: ARG001 - a block may use them
    records: Sequence[Record],
) -> dict[str, Any]:
    found = stored_controls(
        folder, benchmark.controls_basis(items, records), lambda: benchmark.controls(items, records)
    )
    return {"controls": found} if found else {}


def _page(data: DataSet, folder: Path, metrics: dict[str, Any], records: Sequence[Record]) -> str:
    """The page of a run, with its last audit."""
    with suppress(DataError):  # a bad audit.json must not fail the run; bowstring report prints the error
        metrics = with_audit(metrics, folder)
    return write_page(metrics, records, histories_of(data))


def _in_batches(models: Mapping[str, Model], options: RunOptions, tell: Callable[[str], None]) -> dict[str, Model]:
    """The models, with those that have a batch API wrapped in it."""
    found = dict(models)
    for role, model in models.items():
        if isinstance(model, Replicas):
            raise UsageError(f"--batch: a batch belongs to one server, and {model.name} has several; give one of them")
        if isinstance(model, Endpoint):
            ledger = options.store_path.with_name(LEDGER_NAME)
            found[role] = Batch(model, ledger, tell, fresh=options.fresh)
        else:
            tell(f"{model.name} has no batch API; its requests are sent one by one.")
    if not any(isinstance(model, Batch) for model in found.values()):
        raise UsageError(
            "--batch: none of the models has the OpenAI batch API; expected openai/NAME or a compatible server"
        )
    return found


def _suffix(options: RunOptions) -> str:
    """What the name of a folder ends with, if it is a shard's."""
    return options.part.suffix if options.part else ""


def _folder(options: RunOptions, configuration: Mapping[str, Any], one: Any, chosen: Sequence[Any]) -> Path:
    if len(chosen) > 1 and options.out:  # the folder of the sweep, which contains its runs
        folder = options.out / slug(variant_name(one, chosen))
    else:
        subject = configuration["model"] or "retrieval"
        name = run_folder_name(configuration["benchmark"], subject, fingerprint(configuration))
        folder = options.out or options.runs / f"{name}{_suffix(options)}"
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; choose another --out")
    return folder


def _roles(benchmark: Benchmark, settings: Any, named: Mapping[str, Any]) -> dict[str, Any]:
    """The models to open, by role."""
    if not benchmark.asks_models(settings):
        for role, name in named.items():
            if name is not None and name != builtin.NAME:
                raise UsageError(f"--retrieval-only uses no model; leave out --{role}")
        return {}
    if named["model"] is None:
        raise MissingModel("Missing option '--model': the model to evaluate, such as openai/gpt-4o-mini or embedded")
    for role, name in named.items():
        if role not in ("model", *benchmark.roles) and name is not None:
            raise UsageError(f"--{role}: {benchmark.title} has no {role}")
    others = {judge for other in registry.all_benchmarks() for judge in other.judges}
    if isinstance(named["judge"], str) and named["judge"] in others - set(benchmark.judges):
        raise UsageError(f"--judge {named['judge']}: {benchmark.title} has no such judge; expected a model or builtin")
    found = {r: n for r, n in named.items() if n is not None and not (r != "model" and n in benchmark.judges)}
    benchmark.check_roles(found)
    return found


def _sorted_settings(
    benchmark: Benchmark, given: Mapping[str, Any], *, several: bool
) -> tuple[Subject, RunOptions, list[Any]]:
    """Keyword arguments sorted by dataclass; the settings once per combination of the axes."""
    where = "sweep()" if several else "evaluate()"
    kinds = (Subject, benchmark.settings, RunOptions)
    subject, own, options = split_keywords(kinds, benchmark.settle(dict(given), several=several), where=where)
    for one in options_of(benchmark.settings):
        if one.axis and not several and isinstance(own.get(one.field), list):
            raise UsageError(f"{one.field} is a list; expected one value (bowstring.sweep takes several)")
    axes = {
        one.field: _values(one.field, own.pop(one.field))
        for one in options_of(benchmark.settings)
        if one.axis and one.field in own
    }
    combined = (dict(zip(axes, values, strict=True)) for values in product(*axes.values()))
    return Subject(**subject), RunOptions(**options), [benchmark.settings(**own, **one) for one in combined]


def _values(axis: str, given: Any) -> Sequence[Any]:
    if not isinstance(given, list | tuple):
        return [given]
    if not given:
        raise UsageError(f"{axis} is an empty list; expected at least one value")
    return list(dict.fromkeys(given))
