"""bowstring train sft --data sets/mine --model embedded --out adapters/mine: train an adapter."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import typer

from bowstring.benchmarks import registry
from bowstring.cli.options import add_command, changed
from bowstring.settings import Option, options_of
from bowstring.training.settings import EVALUATORS, PUBLISHED, Method, TrainOptions, TrainSettings, relevant_settings

app = typer.Typer(
    help="Train a LoRA adapter for local weights; each history is processed once.\n\n"
    "Run the same command again to resume. On several GPUs: accelerate launch -m bowstring train …",
    add_completion=False,
    rich_markup_mode=None,
)

_ABOUT: dict[Method, str] = {
    "sft": "Train an assistant on the best answers (supervised fine-tuning).",
    "dpo": "Train an assistant to prefer better over worse answers (DPO).",
    "judge": "Train a judge on the transcripts of another judge, and test it against that judge on held-out users.",
    "matcher": "Train a matcher on the labels of another matcher, and test it against that one on held-out users.",
}
# The help of --data for evaluators, and what --type selects.
_EVALUATED: dict[Method, tuple[str, str]] = {
    "judge": ("Judge transcripts, from export-judgements or a hub id.", "Question type"),
    "matcher": ("Coverage labels, from export-judgements.", "Instance type"),
}


def _about(method: Method) -> str:
    """The help of a method, with what each benchmark has for it."""
    trainings = ((b.title, training) for b in registry.all_benchmarks() if (training := b.training()) is not None)
    examples = [f"{title}: {t.method_help[method]}" for title, t in trainings if method in t.method_help]
    return f"{_ABOUT[method]} {'; '.join(examples)}." if examples else _ABOUT[method]


_JSON = Option("json", "--json", bool, False, help="Print training.json instead of a summary.")


def method_options(method: Method) -> tuple[Option, ...]:
    """The options that apply to a method, with its published defaults."""
    used = relevant_settings(method) - ({"dropout"} if method == "dpo" else set())
    settings = tuple(one for one in options_of(TrainSettings) if one.offered and one.field in used)
    for name, value in PUBLISHED[method].items():
        if name in used:
            settings = changed(settings, name, default=value)
    options = tuple(one for one in options_of(TrainOptions) if method == "dpo" or one.field != "stop_on_collapse")
    if method in EVALUATORS:
        data, one_type = _EVALUATED[method]
        trained = f"{one_type} to train on; repeatable. All types are tested."
        options = changed(options, "data", help=data)
        settings = changed(settings, "types", help=trained)
        settings = changed(settings, "users_per_step", flag="--packs-per-step", help="Packs per step.")
    return (*options, *settings, _JSON)


def _train(method: Method, given: dict[str, Any]) -> int:
    from bowstring.api.train import train
    from bowstring.cli.output import print_json, tell
    from bowstring.cli.train_views import StepLine, summary

    as_json = given.pop("json", False)
    trained = train(method, tell=tell, watch=StepLine(), **given)
    if not trained.speaks:
        return 0
    if as_json:
        print_json(trained.record)
    else:
        print(summary(trained))
    return 0 if trained.complete else 1


for _method in get_args(Method):
    add_command(app, _method, partial(_train, _method), method_options(_method), help=_about(_method))
