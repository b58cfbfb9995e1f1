"""What a benchmark offers to audits: its checks, and the items that they judge again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bowstring.prompts import PromptFolder
from bowstring.runs.items import Items
from bowstring.runs.runner import Record

NO_JUDGE = ("length",)  # checks that ask nobody
SECOND = "second-judge"  # the check that needs a second judge
NO_HISTORY = "no-history"  # the check that asks the evaluated model again


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """What an audit is opened with. `run_judge` is who judged the run, if not this audit's judge."""

    records: Sequence[Record]
    settings: Any  # those of the run
    prompts: PromptFolder
    checks: Sequence[str]
    sample: int
    run_judge: str | None
    judges: Mapping[str, str]  # names by role, judge and second: also those that are no models
    matcher: str | None  # of the run, by name
    data: str  # where the run's data set is
    skipped: Mapping[str, str]  # checks that are left out, and why


class AuditItems(Items, Protocol):
    run_judge: str | None  # may be set when it turns out that the run was judged with other prompts


class Auditing(Protocol):
    checks: tuple[str, ...]

    def skips(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """Checks that make no sense for a run with these settings, and why."""
        ...

    def open(self, request: AuditRequest) -> AuditItems: ...
