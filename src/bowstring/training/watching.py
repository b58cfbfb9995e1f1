"""Monitor a training: report progress, and detect a DPO collapse."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from transformers import TrainerCallback

# Nats per token. Beyond this, the chosen answers have become e times less likely per token than at the start: margins
# then grow only because everything falls, which is the collapse that HiCUPID's authors saw.
COLLAPSE = 1.0
# Far beyond the margin at which the loss has nothing left to gain (at 10 it is below 1e-4).
EXPLOSION = 50.0
_WINDOW = 5  # number of steps averaged


@dataclass(frozen=True, slots=True)
class Step:
    """The latest step of a training and its metrics."""

    step: int
    steps: int
    seconds_left: float | None
    values: dict[str, float]


@dataclass(slots=True)
class Watcher:
    """Keeps the log, reports every step, and detects a collapse."""

    watch: Callable[[Step], None]
    tell: Callable[[str], None]
    stop_on_collapse: bool
    log: list[dict[str, float]] = field(default_factory=list)
    collapsed: int | None = None  # the step at which it was detected

    def callback(self) -> TrainerCallback:
        return _Callback(self)

    def record_step(self, step: int, values: dict[str, float]) -> bool:
        """Record a step and return whether to continue; never with a loss that is not a number."""
        self.log.append({"step": step, **values})
        what = self._collapse()
        if self.collapsed is None and what:
            self.collapsed = step
            margin = f", margin {values['margin']:.1f}" if "margin" in values else ""
            first = ", or SFT first (--init-from)" if "margin" in values else ""
            self.tell(f"Collapse at step {step}: {what}{margin}. Try a lower --lr{first}.")
        return not self.broken and (self.collapsed is None or not self.stop_on_collapse)

    def _collapse(self) -> str | None:
        """Return what went wrong over the last steps, if anything."""
        if self.broken:
            return "the loss is not a number"
        if self._mean("chosen_change") < -COLLAPSE:
            return f"chosen answers lost {-self._mean('chosen_change'):.1f} nats per token"
        return "margins explode" if self._mean("margin") > EXPLOSION else None

    def _mean(self, name: str) -> float:
        seen = [line[name] for line in self.log[-_WINDOW:] if name in line]
        return sum(seen) / len(seen) if len(seen) == _WINDOW else 0.0

    @property
    def broken(self) -> bool:
        return bool(self.log) and not math.isfinite(self.log[-1].get("loss", 0.0))


def json_log_line(logs: dict[str, float]) -> dict[str, float | None]:
    """Return a line of Trainer's log for training.json; None for values that are not numbers, which JSON cannot
    represent."""
    return {name: value if math.isfinite(value) else None for name, value in _rename_metrics(logs).items()}


def _rename_metrics(logs: dict[str, float]) -> dict[str, float]:
    return {"lr" if name == "learning_rate" else name: float(v) for name, v in logs.items() if name != "epoch"}


class _Callback(TrainerCallback):
    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._times: deque[tuple[int, float]] = deque(maxlen=20)

    def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:  # noqa: ARG002
        """Restore the log of the steps before a resume."""
        for line in state.log_history:
            if "loss" in line:
                self._watcher.record_step(int(line["step"]), _rename_metrics(line))

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:  # noqa: ARG002
        if not logs or "loss" not in logs:
            return
        # Every process sees the same means and reaches the same conclusion.
        values = _rename_metrics(logs)
        self._times.append((state.global_step, time.monotonic()))
        self._watcher.watch(Step(state.global_step, state.max_steps, self._left(state), values))
        if not self._watcher.record_step(state.global_step, values):
            control.should_training_stop = True

    def _left(self, state: Any) -> float | None:
        (first, start), (last, end) = self._times[0], self._times[-1]
        if last == first:
            return None
        return (end - start) / (last - first) * float(state.max_steps - last)
