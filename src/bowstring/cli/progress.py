"""Progress of a run: one updated line on a terminal, a line every 10 seconds elsewhere."""

from __future__ import annotations

import shutil
import sys
import time

from bowstring.cli.output import counted, print_to_stderr, tell
from bowstring.runs.runner import Snapshot

_BETWEEN = " · "  # parts of a line
_EVERY = 10.0  # seconds between two lines if there is no terminal


class MovingLine:
    def __init__(self) -> None:
        self._moves = sys.stderr.isatty()
        self._last = time.monotonic()
        self._width = 0

    def show(self, line: str, *, last: bool) -> None:
        now = time.monotonic()
        if self._moves:
            # A wrapped line cannot be overwritten.
            line = shortened(line, max(10, shutil.get_terminal_size().columns - 1))
            print_to_stderr("\r" + line.ljust(self._width) + ("\n" if last else ""))
            self._width = len(line)
        elif last or now - self._last >= _EVERY:
            self._last = now
            tell(line)


class ProgressLine:
    """Prints the progress of a run; pass it as `watch`."""

    def __init__(self) -> None:
        self._line = MovingLine()

    def __call__(self, snapshot: Snapshot) -> None:
        if snapshot.total:  # an audit may have nothing to ask
            self._line.show(describe(snapshot), last=snapshot.finished)


def describe(s: Snapshot) -> str:
    parts = [f"{s.done:,}/{s.total:,}"]
    if s.requests:
        parts.append(f"{s.rate:.1f} requests/s")
    if s.stored:
        parts.append(f"{s.stored:,} from the store")
    if s.waiting and not s.finished:
        parts.append(f"waiting for {counted(s.waiting, 'answer')} of another process")
    if not s.finished and s.seconds_left is not None and s.done < s.total:
        parts.append(f"{duration(s.seconds_left)} left")
    if s.usage.prompt:
        tokens = f"{short(s.usage.prompt + s.usage.completion)} tokens"
        parts.append(f"{tokens}, {s.usage.cached / s.usage.prompt:.0%} from cache")
    if s.cost:
        parts.append(f"${s.cost:.4f}")
    if s.failed:
        parts.append(f"{s.failed:,} failed")
    if s.stopping and not s.finished:
        parts.insert(0, "stopping (press Ctrl-C again to stop immediately)")
    if s.finished:
        parts.append(f"in {duration(s.seconds)}")
    return _BETWEEN.join(parts)


def shortened(line: str, width: int) -> str:
    """A line of parts without the last ones, if it is too long: part of a number is another number."""
    if len(line) <= width:
        return line
    begin = line[: width - 1]
    kept, separator, _ = begin.rpartition(_BETWEEN)
    if separator:
        return f"{kept} …"
    return "…" if any(c.isdigit() for c in begin) else f"{begin}…"


def duration(seconds: float) -> str:
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


def short(number: float) -> str:
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"
