"""The interface of `bowstring certify`: how a benchmark is compared with its authors' code."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

from bowstring.certification.reference import Reference
from bowstring.certification.server import Script, request_hash
from bowstring.certification.transcripts import Results
from bowstring.datasets.dataset import DataSet
from bowstring.prompts import PromptFolder
from bowstring.runs.runner import Record


@dataclass(frozen=True, slots=True)
class Case:
    """One run of both programs. `results` compares requests and scores, `requests` only what is asked, and `ends` has
    an answer on which the authors' program ends."""

    name: str
    kind: Literal["results", "requests", "ends"]
    stages: tuple[str, ...]  # the requests that are compared
    malformed: float = 0.0  # the share of answers in another form than the one asked for
    fault: str = ""  # of an `ends` case
    settings: Mapping[str, Any] = field(default_factory=dict)  # of our evaluation, besides the common ones


class Certification(Protocol):
    """How both programs are run on the same data against one scripted server."""

    repository: str  # where the authors' code is published
    packages: tuple[str, ...]  # what their code imports
    model: str  # name of the evaluated model
    judge: str
    as_openai: tuple[str, ...]  # roles whose requests theirs makes as OpenAI recommends
    replaced: str  # what is replaced in their program, and why that changes nothing; empty: nothing is

    def cases(self) -> Sequence[Case]: ...

    def prepare(self, data: DataSet, folder: Path) -> None:
        """Write the data in the form that the authors' code reads."""
        ...

    def script(self, prompts: PromptFolder, case: Case) -> Script:
        """The answers of the server; `prompts` are those of the authors."""
        ...

    def run_reference(self, case: Case, reference: Reference, data: Path) -> Results: ...

    def settings(self, case: Case) -> Mapping[str, Any]:
        """The settings of our evaluation, besides protocol and prompts."""
        ...

    def results(self, case: Case, records: Sequence[Record], metrics: Mapping[str, Any]) -> Results:
        """What our evaluation counted, in the terms of the reference's results."""
        ...


T = TypeVar("T")
_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


def filled_with(template: str, text: str) -> dict[str, str] | None:
    """Return what was filled into a template, or None if the text does not come from it: the inverse of filling.

    >>> filled_with("Ask {who}: {{x}} {what}", "Ask Ann: {x} why?")
    {'who': 'Ann', 'what': 'why?'}
    """
    pattern, at = "", 0
    for match in _TOKEN.finditer(template):
        pattern += re.escape(template[at : match.start()])
        pattern += f"(?P<{match[1]}>.*?)" if match[1] else re.escape(match[0][0])
        at = match.end()
    found = re.fullmatch(pattern + re.escape(template[at:]), text, re.DOTALL)
    return None if found is None else found.groupdict()


class Chooser:
    """Random choices for a request, the same for whoever sends it."""

    def __init__(self, body: Mapping[str, Any], case: Case) -> None:
        self._random = random.Random(f"{case.name} {request_hash(body)}")  # noqa: S311 - for a script
        self.malformed = self._random.random() < case.malformed

    def one_of(self, choices: Sequence[T]) -> T:
        return self._random.choice(choices)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def text(self, clean: str, forms: Sequence[Callable[[str], str]]) -> str:
        """The clean text, or a malformed one."""
        return self.one_of(forms)(clean) if self.malformed else clean


def text_of(message: Mapping[str, Any]) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part["text"] for part in content)
