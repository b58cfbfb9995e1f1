"""A training as it goes, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bowstring.cli.progress import MovingLine, duration

if TYPE_CHECKING:
    from bowstring.training.training import Trained
    from bowstring.training.watching import Step

_SHOWN = {
    "loss": "loss {:.4f}",
    "margin": "margin {:.3f}",
    "accuracy": "right {:.0%}",
    "chosen_change": "chosen {:+.3f}",
}


class StepLine:
    """Give it to a training as `watch`."""

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


def summary(trained: Trained) -> str:
    record = trained.record
    counts, log = record["counts"], record.get("log", [])
    lines = [f"{trained.folder}: {counts['examples']:,} examples, {counts['steps']:,} steps"]
    if log:
        lines[0] += f", loss {_mean(log[:5]):.4f} → {_mean(log[-5:]):.4f}"
    if record.get("collapsed_at") is not None:
        lines.append(f"collapsed at step {record['collapsed_at']}: not an adapter to use")
    use = f"hf/{record['configuration']['model'].removeprefix('hf/')}+{trained.folder}"
    lines.append(f"next: bowstring eval hicupid --model {use} …")
    return "\n".join(lines)


def _mean(lines: list[dict[str, float]]) -> float:
    return sum(line["loss"] for line in lines) / len(lines)
