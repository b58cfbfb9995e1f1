"""The terminal output of `bowstring train`: progress and summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bowstring.cli.output import counted
from bowstring.cli.progress import MovingLine, duration
from bowstring.training.adapters import next_command

if TYPE_CHECKING:
    from bowstring.api.train import TrainingResult
    from bowstring.training.watching import Step

_SHOWN = {
    "loss": "loss {:.4f}",
    "margin": "margin {:.3f}",
    "accuracy": "accuracy {:.0%}",
    "chosen_change": "chosen {:+.3f}",
}


_WORDS = {"accuracy": "accuracy", "macro_f1": "macro F1", "kappa": "kappa"}


class StepLine:
    """Prints the progress of a training; pass it as `watch`."""

    def __init__(self) -> None:
        self._line = MovingLine()

    def __call__(self, step: Step) -> None:
        self._line.show(describe(step), last=step.step == step.steps)


def describe(step: Step) -> str:
    parts = [f"step {step.step:,}/{step.steps:,}"]
    parts += [form.format(step.values[name]) for name, form in _SHOWN.items() if name in step.values]
    if step.seconds_left is not None and step.step < step.steps:
        parts.append(f"{duration(step.seconds_left)} left")
    return " · ".join(parts)


def summary(trained: TrainingResult) -> str:
    record = trained.record
    counts, log = record["counts"], record.get("log", [])
    lines = [f"{trained.folder}: {counted(counts['examples'], 'example')}, {counted(counts['steps'], 'step')}"]
    losses = [line["loss"] for line in log if line["loss"] is not None]
    if losses:
        lines[0] += f", loss {losses[0]:.4f} → {losses[-1]:.4f}"
    if record.get("collapsed_at") is not None:
        lines.append(f"collapsed at step {record['collapsed_at']}: do not use this adapter")
        return "\n".join(lines)
    lines += _held_out(record.get("held_out"))
    lines.append(f"next: {next_command(record['configuration'], str(trained.folder))}")
    return "\n".join(lines)


def _held_out(found: dict[str, Any] | None) -> list[str]:
    """Agreement with the teacher, one line per type."""
    if found is None:
        return []
    lines = ["agreement with the teacher on held-out data:"]
    for name, group in {"all": found["all"], **found["by_type"]}.items():
        numbers = ", ".join(f"{_WORDS[n]} {_shown(group[n])}" for n in _WORDS)
        unseen = "" if group.get("trained_on", True) else " (not trained on this type)"
        lines.append(f"  {name:<12} {numbers}; {group['n']:,} labels, {group['unparsed']:,} unparsed{unseen}")
    return lines


def _shown(estimate: dict[str, Any] | None) -> str:
    if estimate is None:
        return "–"
    doubt = "" if estimate["trusted"] else "?"
    return f"{estimate['value']:.2f} [{estimate['low']:.2f}, {estimate['high']:.2f}]{doubt}"
