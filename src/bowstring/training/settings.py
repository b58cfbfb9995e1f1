"""Training settings. Defaults are the published ones, or common values where nothing is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, TypedDict, get_args

from bowstring.errors import UsageError, check_choice
from bowstring.settings import check_settings, option, options_of, split_keywords

Method = Literal["sft", "dpo", "judge", "matcher"]
GENERAL = "general"  # the answer for everybody, which DPO's pairs reject by default
EVALUATORS = ("judge", "matcher")  # the methods that train evaluators
Normalise = Literal["token", "answer"]
Precision = Literal["auto", "bf16", "float32"]
Instruction = Literal["system", "user"]
Task = Literal["inference", "generation", "both"]

# Published by HiCUPID's authors: assistants, then evaluators. CUPID's matcher was trained like an evaluator, with other
# ranks.
PUBLISHED: dict[Method, dict[str, Any]] = {
    "sft": {"lr": 1e-4, "rank": 256, "alpha": 512, "dropout": 0.05, "max_length": 20_480},
    "dpo": {"lr": 1e-6, "rank": 256, "alpha": 512, "dropout": 0.0, "max_length": 20_480},
    "judge": {"lr": 2e-4, "rank": 64, "alpha": 128, "dropout": 0.05, "max_length": 1024, "users_per_step": 2},
    "matcher": {"lr": 2e-4, "rank": 64, "alpha": 128, "dropout": 0.05, "max_length": 2048, "users_per_step": 2},
}


class TrainKeywords(TypedDict, total=False):
    """The fields of `TrainOptions` and `TrainSettings` as keywords of `bowstring.train`, which names `method`, `data`
    and `out` itself."""

    model: str
    init_from: str | None
    revision: str | None
    prompts: str | Path | None
    save_every: int | None
    tokens_at_once: int | None
    stop_on_collapse: bool
    tensorboard: bool
    fresh: bool
    history: str
    drop_irrelevant: int
    splits: Sequence[str]
    types: Sequence[str]
    instruction: Instruction
    task: Task
    branches: int
    users_per_step: int
    normalise: Normalise
    rejected: Sequence[str]
    epochs: float
    lr: float
    rank: int
    alpha: int
    dropout: float
    warmup: float
    grad_norm: float
    beta: float
    max_length: int
    limit: int | None
    hold_out: float
    checkpointing: bool
    precision: Precision
    seed: int


@dataclass(frozen=True, slots=True)
class TrainOptions:
    """What to train on, where to write it, and how training runs."""

    data: str = field(metadata=option("A hub id, a folder or a file."))
    out: Path = field(metadata=option("The folder for the adapter."))
    model: str = field(default="embedded", metadata=option("The weights: a folder, a hub id, or embedded."))
    init_from: str | None = field(
        default=None, metadata=option("An adapter to start from, such as an SFT adapter for DPO.")
    )
    revision: str | None = field(default=None, metadata=option("A commit, tag or branch of a hub data set."))
    prompts: Path | None = field(default=None, metadata=option("A folder of prompts that override the built-in ones."))
    save_every: int | None = field(
        default=None,
        metadata=option("Steps between two checkpoints.", min=1, shown_default="a tenth of all steps, at most 50"),
    )
    tokens_at_once: int | None = field(
        default=None,
        metadata=option(
            "Tokens in one forward pass, unless a pack is longer. More are faster and need more memory.",
            min=1,
            shown_default="20,480 on a GPU, 4,096 elsewhere",
        ),
    )
    stop_on_collapse: bool = field(default=False, metadata=option("Stop when the chosen answers become unlikely."))
    tensorboard: bool = field(default=False, metadata=option("Also write a TensorBoard log (pip install tensorboard)."))
    fresh: bool = field(default=False, metadata=option("Discard the training in the folder and start again."))

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class TrainSettings:
    """Everything that affects the result, and nothing else. PUBLISHED has other defaults for some methods."""

    method: Method
    history: str = field(
        default="full",
        metadata=option("What the model sees: full, gold, none, last:4k, bm25/utterance/K …"),
    )
    drop_irrelevant: int = field(
        default=0, metadata=option("Drop N dialogues that no packed question needs, if the benchmark has such.", min=0)
    )
    splits: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "A split to train on; repeatable. A set without train needs one named.",
            name="--split",
            shown_default="train",
        ),
    )
    types: tuple[str, ...] = field(
        default=(),
        metadata=option("An item type to train on; repeatable.", name="--type", shown_default="all"),
    )
    instruction: Instruction = field(
        default="system", metadata=option("The message that contains the instruction, if the benchmark has a choice.")
    )
    task: Task = field(
        default="inference",
        metadata=option("The task to train, if the benchmark has a choice: infer a preference, answer, or both."),
    )
    branches: int = field(default=32, metadata=option("Examples packed after one history.", min=1))
    users_per_step: int = field(default=8, metadata=option("Packs per step, of different users.", min=1))
    normalise: Normalise = field(
        default="token", metadata=option("Average the loss over answer tokens, or over answers.")
    )
    rejected: tuple[str, ...] = field(
        default=(GENERAL,),
        metadata=option(
            "DPO: answers that the gold answer is preferred to; repeatable. The general answer, wrong options of a set "
            "that has them (wrong_side, wrong_person, ...), or wrong: all of these.",
            metavar="KIND",
        ),
    )
    epochs: float = field(default=1.0, metadata=option("Passes over the data.", above=0))
    lr: float = field(default=1e-4, metadata=option("Peak learning rate, after the warm-up.", above=0))
    rank: int = field(default=256, metadata=option("Rank of the LoRA adapter.", min=1))
    alpha: int = field(default=512, metadata=option("Alpha of the LoRA adapter.", min=1))
    dropout: float = field(default=0.05, metadata=option("Dropout of the LoRA adapter.", min=0, below=1))
    warmup: float = field(
        default=0.03, metadata=option("Share of steps in which the learning rate rises.", min=0, below=1)
    )
    grad_norm: float = field(
        default=0.3, metadata=option("Maximum gradient norm; larger gradients are clipped.", above=0)
    )
    beta: float = field(
        default=0.1, metadata=option("DPO's beta: higher keeps the model closer to its start.", above=0)
    )
    max_length: int = field(
        default=20_480, metadata=option("Maximum tokens per example; longer ones are left out and counted.", min=1)
    )
    limit: int | None = field(default=None, metadata=option("Use only the first N examples.", min=1, metavar="N"))
    hold_out: float = field(default=0.1, metadata=option("Share of users held out for the test.", min=0, below=1))
    checkpointing: bool = field(
        default=True, metadata=option("Recompute activations instead of storing them (gradient checkpointing).")
    )
    precision: Precision = field(
        default="auto", metadata=option("Number format; auto is bf16 on a GPU, float32 elsewhere.")
    )
    seed: int = field(default=0, metadata=option("Random seed of order, adapter and dropout.", min=0, max=2**32 - 1))

    def __post_init__(self) -> None:
        check_settings(self)
        if not self.rejected:
            raise UsageError("--rejected needs at least one kind of answer")
        if self.method == "dpo" and self.dropout:
            raise UsageError(
                "--dropout must be 0 for DPO: it compares log-probabilities with those of the initial model"
            )
        if self.drop_irrelevant and self.history != "full":
            raise UsageError(f"--drop-irrelevant needs --history full, not {self.history}")

    def configuration(self) -> dict[str, Any]:
        """Return the settings that apply to this method."""
        found = asdict(self)
        for name in set(found) - relevant_settings(self.method):
            del found[name]
        return found


_ASSISTANT = {"history", "drop_irrelevant", "splits", "types", "instruction"}
_EVALUATOR = {"hold_out", "types"}


def relevant_settings(method: Method) -> set[str]:
    """Return the settings that affect a method."""
    special = _ASSISTANT | _EVALUATOR | {"beta", "rejected", "normalise", "task"}
    common = {one.name for one in fields(TrainSettings)} - special
    return (
        common
        | {
            "sft": _ASSISTANT | {"normalise", "task"},
            "dpo": _ASSISTANT | {"beta", "rejected"},
            "judge": _EVALUATOR | {"normalise"},
            "matcher": _EVALUATOR | {"normalise"},
        }[method]
    )


def settings_for(method: Method, **given: Any) -> TrainSettings:
    """Return the published settings of a method, overridden by those given (None: not given)."""
    check_choice("method", method, get_args(Method))
    (settings,) = split_keywords((TrainSettings,), given, where="train()", besides=_OPTIONS)
    return TrainSettings(method, **(PUBLISHED[method] | settings))


_OPTIONS = [one.field for one in options_of(TrainOptions)]
