"""bowstring train sft --data sets/mine --model embedded --out adapters/mine: train an adapter."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

app = typer.Typer(
    help="Train a LoRA adapter for local weights, with every history read once.\n\n"
    "The same command resumes. On several GPUs: accelerate launch -m bowstring train …",
    add_completion=False,
    rich_markup_mode=None,
)


class Instruction(StrEnum):
    system = "system"
    user = "user"


class Normalise(StrEnum):
    token = "token"  # noqa: S105 - a word of the field
    answer = "answer"


class Precision(StrEnum):
    auto = "auto"
    bf16 = "bf16"
    float32 = "float32"


Data = Annotated[str, typer.Option(help="A hub id, a folder or a file.", show_default=False)]
ModelName = Annotated[str, typer.Option("--model", help="The weights: a folder, a hub id, or embedded.")]
Out = Annotated[Path, typer.Option(help="The folder for the adapter.", show_default=False)]
InitFrom = Annotated[str | None, typer.Option(help="An adapter to go on from, such as SFT's before DPO.")]
Revision = Annotated[str | None, typer.Option(help="A commit, tag or branch of a hub data set.")]
Split = Annotated[
    list[str] | None,
    typer.Option(
        "--split",
        help="A split to train on; may be repeated. A set without train, as CUPID's are, wants one named.",
        show_default="train",
    ),
]
Type = Annotated[
    list[str] | None, typer.Option("--type", help="A question or instance type; may be repeated. By default all.")
]
HistoryView = Annotated[
    str, typer.Option("--history", help="What the model sees: full, gold, none, last:4k, bm25/utterance/K …")
]
Drop = Annotated[int, typer.Option(help="HiCUPID: leave out so many dialogues that no packed question needs.")]
Where = Annotated[Instruction, typer.Option(help="HiCUPID: where the instruction stands.")]
Branches = Annotated[int, typer.Option(min=1, help="Examples packed behind one history.")]
Users = Annotated[int, typer.Option("--users-per-step", min=1, help="Packs a step, of different users.")]
Norm = Annotated[Normalise, typer.Option(help="The loss is a mean over answer tokens, or over answers.")]
Epochs = Annotated[float, typer.Option(help="How often every example is seen.")]
Rate = Annotated[
    float | None,
    typer.Option("--lr", help="The learning rate after the warm-up. As published: 1e-4, DPO 1e-6, judges 2e-4."),
]
Rank = Annotated[int | None, typer.Option(help="Of the LoRA adapter. As published: 256, of judges 64.")]
Alpha = Annotated[int | None, typer.Option(help="Of the LoRA adapter. As published: 512, of judges 128.")]
Dropout = Annotated[float | None, typer.Option(help="Of the LoRA adapter. As published: 0.05.")]
Warmup = Annotated[float, typer.Option(help="The share of steps in which the rate rises.")]
GradNorm = Annotated[float, typer.Option(help="Gradients are cut to this norm.")]
MaxLength = Annotated[
    int | None,
    typer.Option(help="Longer examples are left out, and counted: 20,480 tokens; judges 1,024, matchers 2,048."),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Only the first so many examples.")]
Checkpointing = Annotated[
    bool, typer.Option("--checkpointing/--no-checkpointing", help="Compute activations twice instead of keeping them.")
]
Numbers = Annotated[Precision, typer.Option("--precision", help="auto is bf16 on a GPU, float32 elsewhere.")]
Seed = Annotated[int, typer.Option(help="Of order, adapter and dropout.")]
SaveEvery = Annotated[
    int | None, typer.Option(min=1, help="Steps between two checkpoints. By default a tenth of all, and at most 50.")
]
Board = Annotated[bool, typer.Option("--tensorboard", help="Write TensorBoard's log too (pip install tensorboard).")]
Prompts = Annotated[Path | None, typer.Option(help="A folder of prompts that override the built-in ones.")]
Fresh = Annotated[bool, typer.Option("--fresh", help="Throw away the training that is in the folder, and begin anew.")]
Json = Annotated[bool, typer.Option("--json", help="Print training.json instead of a summary.")]


@app.command()
def sft(
    context: typer.Context,
    out: Out,
    data: Data,
    model: ModelName = "embedded",
    init_from: InitFrom = None,
    revision: Revision = None,
    splits: Split = None,
    types: Type = None,
    history: HistoryView = "full",
    drop_irrelevant: Drop = 0,
    instruction: Where = Instruction.system,
    branches: Branches = 32,
    users_per_step: Users = 8,
    normalise: Norm = Normalise.token,
    epochs: Epochs = 1.0,
    lr: Rate = None,
    rank: Rank = None,
    alpha: Alpha = None,
    dropout: Dropout = None,
    warmup: Warmup = 0.03,
    grad_norm: GradNorm = 0.3,
    max_length: MaxLength = None,
    limit: Limit = None,
    checkpointing: Checkpointing = True,
    precision: Numbers = Precision.auto,
    seed: Seed = 0,
    save_every: SaveEvery = None,
    tensorboard: Board = False,
    prompts: Prompts = None,
    fresh: Fresh = False,
    json: Json = False,
) -> int:
    """Answers as they should be: HiCUPID's personalized ones, CUPID's preferences."""
    return _train("sft", context)


@app.command()
def dpo(
    context: typer.Context,
    out: Out,
    data: Data,
    model: ModelName = "embedded",
    init_from: InitFrom = None,
    revision: Revision = None,
    splits: Split = None,
    types: Type = None,
    history: HistoryView = "full",
    drop_irrelevant: Drop = 0,
    instruction: Where = Instruction.system,
    beta: Annotated[float, typer.Option(help="How closely the model is held to its start.")] = 0.1,
    stop_on_collapse: Annotated[
        bool, typer.Option("--stop-on-collapse", help="Stop when the answers to prefer become unlikely themselves.")
    ] = False,
    branches: Branches = 32,
    users_per_step: Users = 8,
    epochs: Epochs = 1.0,
    lr: Rate = None,
    rank: Rank = None,
    alpha: Alpha = None,
    warmup: Warmup = 0.03,
    grad_norm: GradNorm = 0.3,
    max_length: MaxLength = None,
    limit: Limit = None,
    checkpointing: Checkpointing = True,
    precision: Numbers = Precision.auto,
    seed: Seed = 0,
    save_every: SaveEvery = None,
    tensorboard: Board = False,
    prompts: Prompts = None,
    fresh: Fresh = False,
    json: Json = False,
) -> int:
    """Better answers rather than worse: HiCUPID's personalized over general ones, CUPID's replies that satisfied."""
    return _train("dpo", context)


HoldOut = Annotated[float, typer.Option(help="The share of users or personas that is tested on afterwards.")]


@app.command()
def judge(
    context: typer.Context,
    out: Out,
    data: Annotated[
        str, typer.Option(help="Judge transcripts: of export-judgements, or a hub id.", show_default=False)
    ],
    model: ModelName = "embedded",
    init_from: InitFrom = None,
    revision: Revision = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="A question type to train on; the others are tested all the same. May be repeated."
        ),
    ] = None,
    hold_out: HoldOut = 0.1,
    branches: Branches = 32,
    users_per_step: Annotated[int, typer.Option("--packs-per-step", min=1, help="Packs a step.")] = 2,
    normalise: Norm = Normalise.token,
    epochs: Epochs = 1.0,
    lr: Rate = None,
    rank: Rank = None,
    alpha: Alpha = None,
    dropout: Dropout = None,
    warmup: Warmup = 0.03,
    grad_norm: GradNorm = 0.3,
    max_length: MaxLength = None,
    limit: Limit = None,
    checkpointing: Checkpointing = True,
    precision: Numbers = Precision.auto,
    seed: Seed = 0,
    save_every: SaveEvery = None,
    tensorboard: Board = False,
    prompts: Prompts = None,
    fresh: Fresh = False,
    json: Json = False,
) -> int:
    """A judge of HiCUPID answers, from what another judge wrote; tested against it on users held out."""
    return _train("judge", context)


@app.command()
def matcher(
    context: typer.Context,
    out: Out,
    data: Annotated[str, typer.Option(help="Coverage labels of export-judgements.", show_default=False)],
    model: ModelName = "embedded",
    init_from: InitFrom = None,
    revision: Revision = None,
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type", help="An instance type to train on; the others are tested all the same. May be repeated."
        ),
    ] = None,
    hold_out: HoldOut = 0.1,
    branches: Branches = 32,
    users_per_step: Annotated[int, typer.Option("--packs-per-step", min=1, help="Packs a step.")] = 2,
    normalise: Norm = Normalise.token,
    epochs: Epochs = 1.0,
    lr: Rate = None,
    rank: Rank = None,
    alpha: Alpha = None,
    dropout: Dropout = None,
    warmup: Warmup = 0.03,
    grad_norm: GradNorm = 0.3,
    max_length: MaxLength = None,
    limit: Limit = None,
    checkpointing: Checkpointing = True,
    precision: Numbers = Precision.auto,
    seed: Seed = 0,
    save_every: SaveEvery = None,
    tensorboard: Board = False,
    prompts: Prompts = None,
    fresh: Fresh = False,
    json: Json = False,
) -> int:
    """A matcher of CUPID checklists, from another matcher's labels; tested against it on personas held out."""
    return _train("matcher", context)


def _train(method: str, context: typer.Context) -> int:
    from bowstring.api.train import train
    from bowstring.cli.output import print_json, tell
    from bowstring.cli.train_views import StepLine, summary

    given: dict[str, Any] = dict(context.params)
    as_json = given.pop("json")
    for name in ("splits", "types"):
        if name in given:
            given[name] = tuple(given[name] or ())
    for name, value in given.items():
        if isinstance(value, StrEnum):
            given[name] = value.value
    trained = train(method, tell=tell, watch=StepLine(), **given)
    if not trained.speaks:
        return 0
    if as_json:
        print_json(trained.record)
    else:
        print(summary(trained))
    return 0 if trained.complete else 1
