"""The audit interface of a benchmark: its checks, and the items that they judge again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bowstring.prompts import PromptFolder
from bowstring.runs.items import Items
from bowstring.runs.runner import Record

NO_JUDGE = ("length",)  # checks that ask no model
SECOND = "second-judge"  # the check that needs a second judge
NO_HISTORY = "no-history"  # the check that asks the evaluated model again


@dataclass(frozen=True, slots=True)
class AuditRequest:
    """The input of an audit. `run_judge` is the judge of the run, if it is not the judge of the audit."""

    records: Sequence[Record]
    settings: Any  # settings of the run
    prompts: PromptFolder
    checks: Sequence[str]
    sample: int
    run_judge: str | None
    judges: Mapping[str, str]  # names by role (judge, second), including judges that are not models
    openai: frozenset[str]  # roles whose model is asked as OpenAI's API is
    matcher: str | None  # name of the run's matcher
    data: str  # location of the run's data set
    skipped: Mapping[str, str]  # skipped checks -> reason


class AuditItems(Items, Protocol):
    run_judge: str | None  # set later if the run was judged with other prompts


class Auditing(Protocol):
    checks: tuple[str, ...]

    def skips(self, settings: Mapping[str, Any]) -> dict[str, str]:
        """Checks that do not apply to a run with these settings -> reason."""
        ...

    def open(self, request: AuditRequest) -> AuditItems: ...
