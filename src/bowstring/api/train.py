"""Training of adapters, for the command and the Python API.

trained = train("sft", data="sets/mine", model="embedded", out="adapters/mine", epochs=2)
trained.folder      # for --model hf/embedded+adapters/mine

The folder of the adapter has the files of PEFT and training.json: data, settings and loss curve. The same call resumes
an interrupted training and does nothing for a complete one.
"""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any, Unpack

from bowstring import __version__
from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Benchmark, Training, require_part
from bowstring.benchmarks.loading import load
from bowstring.datasets.dataset import DataSet
from bowstring.errors import MissingSplit, UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import check_folder
from bowstring.models.hubfiles import TRAINING, ModelFiles, model_files
from bowstring.models.loading import Weights, load_weights, require_torch
from bowstring.prompts import PromptFolder
from bowstring.runs.folder import RunFolder, fingerprint, is_running
from bowstring.settings import split_keywords
from bowstring.training.adapters import card, with_adapter
from bowstring.training.arguments import last_checkpoint, steps_between_checkpoints, trainer_arguments
from bowstring.training.curve import draw_training
from bowstring.training.evaluators import HeldOut
from bowstring.training.examples import Examples
from bowstring.training.packs import Packing, order_packs, pack_all, tokenize_groups
from bowstring.training.settings import EVALUATORS, Method, TrainKeywords, TrainOptions, TrainSettings, settings_for

_TRAIN = "train"  # the split
_CHECKPOINTS = "checkpoints"
_LEFT = (
    *("adapter_model.safetensors", "adapter_config.json", "training_args.bin", "reference.json"),
    *("held_out.jsonl", "curve.svg", "README.md", TRAINING),
)
# Tokens of the packs in one forward pass. A GPU uses as many as the published settings allow per example; on a CPU
# more tokens are not faster, and without checkpointing need more memory than a laptop has.
_AT_ONCE = 20_480
_AT_ONCE_ELSEWHERE = 4_096
Tell = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class TrainingResult:
    folder: Path
    record: dict[str, Any]  # training.json
    speaks: bool = True  # with several processes, whether this one reports

    @property
    def complete(self) -> bool:
        return bool(self.record["status"] == "complete")


def train(
    method: Method,
    *,
    data: str | Path | None = None,
    out: str | Path | None = None,
    tell: Tell = lambda line: None,
    watch: Callable[[Any], None] = lambda step: None,
    **given: Unpack[TrainKeywords],
) -> TrainingResult:
    """Train an adapter on a data set, as `bowstring train` does; `data` and `out` are required.

    Other settings are those of `TrainOptions` (model, init_from, prompts …) and `TrainSettings` (history, epochs, lr
    …). Defaults are the published ones of the method.
    """
    require_torch()
    places = {"data": None if data is None else str(data), "out": out}
    of_run, of_training = split_keywords((TrainOptions, TrainSettings), {**places, **given}, where="train()")
    if lacking := [name for name in places if name not in of_run]:
        raise UsageError(f"train() needs {' and '.join(lacking)}")
    settings, options = settings_for(method, **of_training), TrainOptions(**of_run)
    init_from = options.init_from
    check_folder(options.out)
    files = model_files("hf", options.model.removeprefix("hf/") + (f"+{init_from}" if init_from else ""), tell)
    examples, held_out, about = _examples(settings, options.data, options.revision, options.prompts)
    if init_from is not None and not {"rank", "alpha"}.isdisjoint(of_training):
        raise UsageError("--rank and --alpha are fixed by the adapter given with --init-from; leave them out")
    configuration = settings.configuration() | {"weights": files.fingerprint, **about}
    if init_from is not None:
        for name in ("rank", "alpha"):
            del configuration[name]
    arguments = trainer_arguments(settings, options.out / _CHECKPOINTS, tensorboard=options.tensorboard, tell=tell)
    if arguments.process_index:  # only the main process prints
        tell = watch = lambda line: None
    named = {"model": options.model.removeprefix("hf/"), "init_from": init_from, "data": options.data}
    job = _Job(
        settings,
        files,
        examples,
        held_out,
        configuration,
        named,
        options.out,
        arguments,
        options.save_every,
        options.tokens_at_once,
        tell,
    )
    return job.run(watch, fresh=options.fresh, stop_on_collapse=options.stop_on_collapse)


def _examples(
    settings: TrainSettings, data: str, revision: str | None, prompts: Path | None
) -> tuple[Examples, Sequence[HeldOut], dict[str, Any]]:
    if settings.method in EVALUATORS:
        benchmark, training = _teaching(settings.method)
        folder = benchmark.prompts(prompts)
        found = training.evaluator(data, revision, settings, folder)
        about = {"data_fingerprint": found.fingerprint, "prompts": _used(folder, training.evaluator_prompts)}
        return found.examples, found.held_out, about
    loaded = _loaded(data, revision, settings)
    benchmark = registry.get(loaded.benchmark)
    training = require_part(benchmark, benchmark.training(), "training")
    folder = benchmark.prompts(prompts)
    examples = training.assistant(loaded, settings, folder)
    if tests := [split for split in loaded.splits if split.startswith("test")]:
        note = f"the training data includes {', '.join(tests)}, so these splits cannot be used to test the result"
        examples = replace(examples, notes=(*examples.notes, note))
    about = {"data_fingerprint": loaded.fingerprint, "prompts": _used(folder, training.assistant_prompts)}
    return examples, (), about | {f"{name}_fingerprint": value for name, value in examples.sources.items()}


def _teaching(method: str) -> tuple[Benchmark, Training]:
    """The benchmark whose evaluators are trained with this method."""
    having = ((b, training) for b in registry.all_benchmarks() if (training := b.training()) is not None)
    return next((b, training) for b, training in having if method in training.evaluators)


def _loaded(data: str, revision: str | None, settings: TrainSettings) -> DataSet:
    """The training data: the named splits, or else the train split; never a test split by default."""
    try:
        return load(data, revision=revision, splits=settings.splits or (_TRAIN,))
    except MissingSplit as missing:
        if settings.splits or not missing.available:
            raise
        found = registry.get(load(data, revision=revision).benchmark)
        require_part(found, found.training(), "training")
        way_out = f"to train on another split, give --split {missing.available[0]}"
        raise UsageError(f"{data} has no {_TRAIN} split; {way_out}") from missing


def _used(folder: PromptFolder, names: tuple[str, ...]) -> dict[str, str]:
    """The hashes of the prompts in the training examples; other prompts may have been read, too."""
    return {name: words for name, words in folder.fingerprints.items() if name.startswith(names)}


@dataclass(slots=True)
class _Job:
    settings: TrainSettings
    files: ModelFiles
    examples: Examples
    held_out: Sequence[HeldOut]
    configuration: dict[str, Any]  # everything that changes the result
    named: dict[str, Any]  # the names that the user gave
    out: Path
    arguments: Any  # Trainer's
    save_every: int | None
    tokens_at_once: int | None
    tell: Tell

    def run(self, watch: Callable[[Any], None], *, fresh: bool, stop_on_collapse: bool) -> TrainingResult:
        main = self.arguments.process_index == 0
        before = self._before(fresh=fresh)
        if before is not None and (before["status"] == "complete" or self._has_collapsed(before, stop_on_collapse)):
            done = "is already trained" if before["status"] == "complete" else "collapsed"
            self.tell(f"{self.out} {done}; use --fresh to train it again.")
            return TrainingResult(self.out, before, main)
        replace_old = fresh or (before is None and (self.out / TRAINING).is_file())
        folder = RunFolder(self.out) if main else None
        try:
            return self._train(folder, watch, before, replace_old=replace_old, stop_on_collapse=stop_on_collapse)
        finally:
            if folder is not None:
                folder.close()

    @staticmethod
    def _has_collapsed(before: dict[str, Any], stop_on_collapse: bool) -> bool:
        return bool(before["status"] == "collapsed") and stop_on_collapse

    def _before(self, *, fresh: bool) -> dict[str, Any] | None:
        """The record of an earlier call, if it is the same training and is to be resumed."""
        if self.out.resolve() in {p.resolve() for p in (self.files.folder, self.files.adapter) if p is not None}:
            raise UsageError(f"--out {self.out} is the model that the training starts from; choose another folder")
        path = self.out / TRAINING
        if not path.is_file():
            if self.out.is_dir() and any(p.name not in (".lock", _CHECKPOINTS) for p in self.out.iterdir()):
                raise UsageError(f"{self.out} is not empty and not a training of Bowstring; choose another --out")
            return None
        try:
            found: dict[str, Any] = parse_strict_json(path.read_bytes())
            same = found["fingerprint"] == fingerprint(self.configuration)
        except (ParseError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is not a training record of Bowstring; choose another --out") from error
        if fresh:
            return None
        if not same and self._left_nothing(found):
            self.tell(f"The training that was started in {self.out} left no checkpoint; it is replaced.")
            return None
        if not same:
            raise UsageError(
                f"{self.out} contains another training; choose another --out, or use --fresh to replace it"
            )
        return found

    def _left_nothing(self, found: dict[str, Any]) -> bool:
        """Whether an earlier training ended without any result. A folder in use does not count; with several processes,
        the main process checks this, because it then uses the folder itself."""
        left = any((self.out / _CHECKPOINTS).glob("*")) or any(self.out.glob("adapter_*"))
        main = self.arguments.process_index == 0
        return bool(found.get("status") == "running") and not left and not (main and is_running(self.out))

    def _clear(self) -> None:
        """Remove the files of a training, and nothing else."""
        for name in (_CHECKPOINTS, "tensorboard"):
            shutil.rmtree(self.out / name, ignore_errors=True)
        for name in _LEFT:
            (self.out / name).unlink(missing_ok=True)

    def _train(
        self,
        folder: RunFolder | None,
        watch: Callable[[Any], None],
        before: dict[str, Any] | None,
        *,
        replace_old: bool,
        stop_on_collapse: bool,
    ) -> TrainingResult:
        from transformers import PrinterCallback, set_seed

        from bowstring.training.trainer import PackSet, TreeTrainer
        from bowstring.training.watching import Watcher, json_log_line

        s, arguments = self.settings, self.arguments
        set_seed(s.seed)
        weights = load_weights(self.files.folder, dtype=_dtype(arguments), device=arguments.device, tell=self.tell)
        if weights.model.config.is_encoder_decoder:
            raise UsageError(
                f"{self.files.folder} is not a decoder-only model; only decoder-only models can be trained"
            )
        packing = self._pack(weights)
        # If packs hold fewer examples than planned, a step has more packs, so the batch size stays the same.
        per_step = s.users_per_step * (
            s.branches if weights.no_tree_reason else round(len(packing.packs) / packing.lots)
        )
        if per_step % arguments.world_size:
            raise UsageError(f"--users-per-step {per_step}: expected a multiple of {arguments.world_size} processes")
        order = order_packs([pack.owner for pack in packing.packs], per_step, s.epochs, s.seed)
        steps = math.ceil(len(order) / per_step)
        most = self.tokens_at_once or (_AT_ONCE if arguments.device.type == "cuda" else _AT_ONCE_ELSEWHERE)
        together = _together(per_step // arguments.world_size, packing.longest, most)
        arguments.per_device_train_batch_size = together
        arguments.gradient_accumulation_steps = per_step // arguments.world_size // together
        arguments.warmup_steps = round(s.warmup * steps)  # rounding up would make a training of one step learn nothing
        arguments.save_steps = self.save_every or steps_between_checkpoints(steps)
        record = self._record(weights, packing, per_step, steps)
        model = with_adapter(weights.model, self.files.adapter, s)
        with arguments.main_process_first():
            # The new training is fully checked: only now may the old one be removed.
            if replace_old and folder is not None:
                self._clear()
        self.tell(f"Loss: {record['loss']}; {steps:,} {'step' if steps == 1 else 'steps'}.")
        if folder is not None:
            folder.write_json(TRAINING, record)
        watcher = Watcher(watch, self.tell, stop_on_collapse)
        trainer = TreeTrainer(
            model=model,
            args=arguments,
            train_dataset=PackSet(packing.packs, order),
            callbacks=[watcher.callback()],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.objective = self._objective(trainer, weights)
        last = last_checkpoint(self.out / _CHECKPOINTS)
        if last is not None:
            self.tell(f"Resuming from step {last.name.rpartition('-')[2]}.")
        elif before is not None:
            self.tell("No checkpoint yet: starting at step 1.")
        trainer.train(resume_from_checkpoint=str(last) if last else None)
        record["log"] = [json_log_line(line) for line in trainer.state.log_history if "loss" in line]
        record["collapsed_at"] = watcher.collapsed
        stopped = watcher.broken or (watcher.collapsed is not None and stop_on_collapse)
        record["status"] = "collapsed" if stopped else "complete"
        trainer.save_model(str(self.out))
        if folder is not None:
            if self.held_out:
                if trainer.is_fsdp_enabled:
                    weights.model = self._reload_trained()
                else:
                    weights.model = trainer.model
                record["held_out"] = self._test(folder, weights)
            self._finish(folder, record)
        return TrainingResult(self.out, record, folder is not None)

    def _objective(self, trainer: Any, weights: Weights) -> Any:
        from bowstring.training.objectives import Dpo, Sft
        from bowstring.training.reference import reference

        without_tree = weights.no_tree_reason is not None
        if self.settings.method != "dpo":
            return Sft(self.settings.normalise, without_tree)
        self.tell("Computing reference log-probabilities with the initial model …")
        return Dpo(self.settings.beta, reference(trainer, self.out, without_tree=without_tree), without_tree)

    def _pack(self, weights: Weights) -> Packing:
        self.tell("Reading and packing the examples …")
        limit = min(self.settings.max_length, weights.limit)
        groups = tokenize_groups(self.examples.groups(), weights.rendering)
        branches = 1 if weights.no_tree_reason else self.settings.branches
        packing = pack_all(groups, branches=branches, max_length=limit, seed=self.settings.seed)
        if not packing.packs:
            raise UsageError(f"all {packing.too_long:,} examples are longer than {self._length_limit(limit)}")
        for note in self._notes(weights, packing, limit):
            self.tell(note)
        return packing

    def _length_limit(self, limit: int) -> str:
        """The limit that all examples exceed, where it comes from, and what to try."""
        asked = limit == self.settings.max_length
        whose = f"--max-length {limit}; increase it" if asked else f"the model's {limit:,} tokens; use another model"
        return whose + (", or try --history last:4k" if self.settings.method in ("sft", "dpo") else "")

    def _notes(self, weights: Weights, packing: Packing, limit: int) -> list[str]:
        notes = [*self.examples.notes]
        if weights.no_tree_reason:
            notes.append(f"examples are trained one at a time: {weights.no_tree_reason}")
        if packing.too_long:
            notes.append(f"left out {packing.too_long:,} examples longer than {limit:,} tokens")
        if len(packing.packs) > packing.lots:
            notes.append("the prompts share little text, so packs hold fewer questions and a step has more packs")
        times = packing.separate_tokens / packing.packed_tokens
        notes.append(
            f"{packing.examples:,} examples in {len(packing.packs):,} packs of {packing.packed_tokens:,} "
            f"tokens; unpacked they would be {packing.separate_tokens:,} ({times:.1f} times as many)"
        )
        return [f"Note: {note}." for note in notes]

    def _record(self, weights: Weights, packing: Packing, per_step: int, steps: int) -> dict[str, Any]:
        return {
            "status": "running",
            "fingerprint": fingerprint(self.configuration),
            "configuration": self.named | self.configuration,
            "loss": _loss_description(self.settings),
            "counts": {
                "examples": packing.examples,
                "too_long": packing.too_long,
                "packs": len(packing.packs),
                "packs_per_step": per_step,
                "steps": steps,
                "packed_tokens": packing.packed_tokens,
                "separate_tokens": packing.separate_tokens,
            },
            "plain": weights.no_tree_reason,
            "processes": self.arguments.world_size,
            "versions": {"bowstring": __version__}
            | {name: version(name) for name in ("torch", "transformers", "peft", "accelerate")},
        }

    def _test(self, folder: RunFolder, weights: Weights) -> dict[str, Any]:
        from bowstring.models.local import LocalGenerator
        from bowstring.training.examining import evaluate_held_out

        kinds = {example.kind for group in self.examples.groups() for example in group}
        found, records = evaluate_held_out(LocalGenerator(weights), self.held_out, kinds, self.tell)
        folder.write_lines("held_out.jsonl", records)
        return found

    def _reload_trained(self) -> Any:
        """The sharded model, loaded into this process from the saved adapter."""
        arguments = self.arguments
        again = load_weights(self.files.folder, dtype=_dtype(arguments), device=arguments.device, tell=self.tell)
        return with_adapter(again.model, self.out, self.settings)

    def _finish(self, folder: RunFolder, record: dict[str, Any]) -> None:
        (self.out / "training_args.bin").unlink(missing_ok=True)  # a pickle of the settings in training.json
        folder.write_text("curve.svg", draw_training(record["log"]))
        folder.write_text("README.md", card(self.files.folder.name, record))
        folder.write_json(TRAINING, record)
        if record["status"] == "complete":
            shutil.rmtree(self.out / _CHECKPOINTS, ignore_errors=True)
            (self.out / "reference.json").unlink(missing_ok=True)


def _together(packs: int, longest: int, most: int) -> int:
    """The number of packs per forward pass: as many as fit into `most` tokens."""
    return max(n for n in range(1, packs + 1) if packs % n == 0 and (n == 1 or n * longest <= most))


def _dtype(arguments: Any) -> Any:
    import torch

    return torch.bfloat16 if arguments.bf16 else torch.float32


def _loss_description(s: TrainSettings) -> str:
    """Return the loss in words. It is written to training.json, whose bytes are part of an adapter's identity."""
    if s.method == "dpo":
        return f"DPO (sigmoid, beta {s.beta}), the mean over a step's pairs"
    over = "answer tokens" if s.normalise == "token" else "answers, of each one's mean over its tokens"
    return f"cross-entropy of answers and their end token, the mean over a step's {over}"
