"""The progress of a run as text, for the list, the progress page and screen readers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

HEADINGS = ("role", "model", "requests", "from store", "failed", "prompt tokens", "from cache", "answer tokens", "cost")


@dataclass(frozen=True, slots=True)
class ProgressText:
    """Items done and total, a line of text, and a table row per role."""

    done: int
    total: int
    line: str
    rows: tuple[tuple[str, ...], ...]

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def describe_progress(status: str, progress: Mapping[str, Any] | None) -> ProgressText:
    if progress is None:
        return ProgressText(0, 0, "The progress is unknown.", ())
    done, total = progress["done"], progress["total"]
    parts = [f"{done:,} of {total:,} items"]
    if status != "running":
        parts.append(f"last seen {_clock(progress.get('written'))}")
    elif progress.get("stopping") is True and done < total:
        parts.append("stopping: waiting for open requests")
    elif done == total or progress.get("finished") is True:
        parts.append("computing scores")
    elif isinstance(left := progress.get("seconds_left"), int | float):
        parts.append(f"about {duration(left)} left")
    usage = progress.get("usage")
    rows = [_row(role, used) for role, used in usage.items()] if isinstance(usage, dict) else []
    return ProgressText(done, total, " · ".join(parts), tuple(row for row in rows if row))


def _row(role: str, used: object) -> tuple[str, ...]:
    if not isinstance(used, dict):
        return ()
    counts = {k: used.get(k) for k in ("requests", "from_store", "failed", "prompt_tokens", "completion_tokens")}
    asked, stored, failed, prompt, answered = (f"{n:,}" if isinstance(n, int) else "–" for n in counts.values())
    cached, whole, cost = used.get("cached_tokens"), used.get("prompt_tokens"), used.get("cost")
    share = f"{cached / whole:.1%}" if isinstance(cached, int) and isinstance(whole, int) and whole else "–"
    money = f"${cost:,.4f}" if isinstance(cost, int | float) else "unknown"
    return role, str(used.get("model", "")), asked, stored, failed, prompt, share, answered, money


def duration(seconds: float) -> str:
    """A duration in one unit."""
    unit, size = next((u for u in (("hour", 3600), ("minute", 60)) if seconds >= 1.5 * u[1]), ("second", 1))
    n = max(1, round(seconds / size))
    return f"{n:,} {unit}{'' if n == 1 else 's'}"


def moment(when: datetime) -> str:
    """A time in the local time zone."""
    return when.astimezone().strftime("%Y-%m-%d %H:%M")


def _clock(written: object) -> str:
    try:
        return moment(datetime.fromisoformat(str(written)))
    except (ValueError, OverflowError):
        return "at an unknown time"
