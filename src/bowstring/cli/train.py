"""bowstring train sft --data sets/mine --model embedded --out adapters/mine: train an adapter."""

from __future__ import annotations

from functools import partial
from typing import Any, get_args

import typer

from bowstring.cli.options import add_command, changed
from bowstring.settings import Option, options_of
from bowstring.training.settings import EVALUATORS, PUBLISHED, Method, TrainOptions, TrainSettings, relevant_settings

app = typer.Typer(
    help="Train a LoRA adapter for local weights, with every history read once.\n\n"
    "The same command resumes. On several GPUs: accelerate launch -m bowstring train …",
    add_completion=False,
    rich_markup_mode=None,
)

_ABOUT: dict[Method, str] = {
    "sft": "Answers as they should be: HiCUPID's personalized ones, CUPID's preferences.",
    "dpo": "Better answers rather than worse: HiCUPID's personalized over general ones, CUPID's replies that "
    "satisfied.",
    "judge": "A judge of HiCUPID answers, from what another judge wrote; tested against it on users held out.",
    "matcher": "A matcher of CUPID checklists, from another matcher's labels; tested against it on personas held out.",
}
# What evaluators are trained on, and the types of what they evaluate.
_EVALUATED: dict[Method, tuple[str, str]] = {
    "judge": ("Judge transcripts: of export-judgements, or a hub id.", "A question type"),
    "matcher": ("Coverage labels of export-judgements.", "An instance type"),
}


_JSON = Option("json", "--json", bool, False, help="Print training.json instead of a summary.")


def method_options(method: Method) -> tuple[Option, ...]:
    """The options of a method: what bears on it, with its published defaults."""
    used = relevant_settings(method) - ({"dropout"} if method == "dpo" else set())
    settings = tuple(one for one in options_of(TrainSettings) if one.offered and one.field in used)
    for name, value in PUBLISHED[method].items():
        if name in used:
            settings = changed(settings, name, default=value)
    options = tuple(one for one in options_of(TrainOptions) if method == "dpo" or one.field != "stop_on_collapse")
    if method in EVALUATORS:
        data, one_type = _EVALUATED[method]
        trained = f"{one_type} to train on; the others are tested all the same. May be repeated."
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
    add_command(app, _method, partial(_train, _method), method_options(_method), help=_ABOUT[_method])
