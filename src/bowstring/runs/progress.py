"""Write a run's progress to progress.json in its folder, at most once per second.

progress = Progress(folder, total=60, usage=lambda: {"model": {"requests": 12, ...}})
Group(items, progress.counting(open_group))
Runner(groups, askers, watch=progress.note)
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, TypeVar

from bowstring.runs.folder import RunFolder
from bowstring.runs.runner import Record, Snapshot, Work

NAME = "progress.json"
_EVERY = 1.0  # seconds between two updates

Item = TypeVar("Item")


@dataclass(slots=True)
class Progress:
    """The progress of one run, of several that run together; the estimated time left is that of all of them."""

    folder: RunFolder
    total: int
    usage: Callable[[], Mapping[str, Any]]
    _done: int = 0
    _noted: float | None = None

    def counting(self, open_group: Callable[[Sequence[Item]], Work[Item]]) -> Callable[[Sequence[Item]], Work[Item]]:
        """Wrap `open_group` so that every finished record is counted."""

        def opened(items: Sequence[Item]) -> Work[Item]:
            work = open_group(items)

            async def counted(item: Item) -> Record:
                record = await work(item)
                self._done += 1
                return record

            return counted

        return opened

    def note(self, snapshot: Snapshot) -> None:
        """Write an update; pass it to a runner as `watch`."""
        now = time.monotonic()
        if self._noted is not None and now - self._noted < _EVERY and not snapshot.finished:
            return
        self._noted = now
        with suppress(OSError):  # a full disk is reported elsewhere
            self.folder.write_note(
                NAME,
                {
                    "written": datetime.now(UTC).isoformat(timespec="seconds"),
                    "done": self._done,
                    "total": self.total,
                    "seconds": round(snapshot.seconds, 1),
                    "seconds_left": None if snapshot.seconds_left is None else round(snapshot.seconds_left, 1),
                    "stopping": snapshot.stopping,
                    "finished": snapshot.finished,
                    "usage": self.usage(),
                },
            )
