"""The truth judge: scores sets that were generated offline exactly, by the rules of their preferences, without a model.

    generation  1 + 9 × the share of the preference's rules that the answer meets: 10 if it meets all, 1 if none
    inference   the stated preference is read as rules; a rule counts if it is one of the preference's

A text that states no known rule is unparsed. An answer of fewer than 20 words, or one that does not name what the
request is about, is no answer to it and meets no rule; what it only copies from the request does not count.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ValidationError

from bowstring.benchmarks.cupid.rules import VERSION, meets, rules
from bowstring.benchmarks.cupid.rules.reading import read_rules
from bowstring.benchmarks.cupid.types import COVERAGE_LABELS, Instance
from bowstring.errors import DataError, UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.history.bm25 import stems
from bowstring.judging.structured import Unreadable

NAME = "truth"
FILE = "truth.json"
NOTE = "judge truth checks the rules of a generated set by program; a generated set is no substitute for real text"
LOWEST, HIGHEST = 1.0, 10.0
_FEWEST_WORDS = 20  # of an answer
_NAMED = 2  # words of the subject that an answer must name
_COVERED, _, _NOT_COVERED = COVERAGE_LABELS


class TruthFile(BaseModel):
    """The format of truth.json."""

    rules: int  # version of the rules and their checks
    preferences: dict[str, list[str]]  # every preference of the set -> ids of its rules
    subjects: dict[str, str]  # persona -> what its request is about, with key words


class Verdict(NamedTuple):
    """Which of the rules an answer meets, or why it is no answer."""

    met: tuple[str, ...]
    unmet: tuple[str, ...]
    problem: str = ""

    @property
    def score(self) -> float:
        return LOWEST + (HIGHEST - LOWEST) * len(self.met) / len(self.met + self.unmet)


class Truth:
    """The ground truth of a generated set."""

    def __init__(self, known: TruthFile) -> None:
        self._preferences = {preference: tuple(ids) for preference, ids in known.preferences.items()}
        self._subjects = known.subjects

    def rules_of(self, instance: Instance) -> tuple[str, ...]:
        try:
            return self._preferences[instance.preference]
        except KeyError:
            raise DataError(f"{instance.key}: its preference is not in {FILE}; generate the set again") from None

    def is_held_out(self, instance: Instance) -> bool:
        """Whether a rule of the preference is never part of training data."""
        return any(rules()[rule].held_out for rule in self.rules_of(instance))

    def subject(self, instance: Instance) -> str:
        return self._subjects.get(instance.persona_id, "")

    def stated(self, preference: str) -> tuple[str, ...]:
        """The rules that a stated preference has; none if it states none that is known."""
        return self._preferences.get(preference) or read_rules(preference)

    def items(self, preference: str) -> tuple[str, ...]:
        """The checklist of a stated preference: one item per rule; raise Unreadable."""
        found = self.stated(preference)
        if not found:
            raise Unreadable("the preference states no rule that is known")
        return tuple(rules()[rule].items[0] for rule in found)

    def labels(self, items: Iterable[str], preference: str) -> str:
        """How a preference covers each item of a checklist, as a matcher would say it."""
        stated, of_item = self.stated(preference), rules_of_items()
        covered = [of_item.get(item) in stated for item in items]
        entries = enumerate(zip(items, covered, strict=True), 1)
        results = [
            {"index": n, "entry": item, "label": _COVERED if is_covered else _NOT_COVERED}
            for n, (item, is_covered) in entries
        ]
        return json.dumps({"results": results}, ensure_ascii=False)

    def verdict(self, instance: Instance, answer: str) -> Verdict:
        wanted = self.rules_of(instance)
        own = _without_copy(answer, instance.request)
        if problem := self._problem(instance, own):
            return Verdict((), wanted, problem)
        found = tuple(rule for rule in wanted if meets(own, rule))
        return Verdict(found, tuple(rule for rule in wanted if rule not in found))

    def judgement(self, instance: Instance, answer: str) -> str:
        """The verdict as the text of a judge."""
        verdict = self.verdict(instance, answer)
        lines = [f"no answer to the request: {verdict.problem}"] if verdict.problem else []
        for said, ids in (("met", verdict.met), ("not met", verdict.unmet)):
            lines += [f"{said}: {rules()[rule].clauses[0]}" for rule in ids]
        return "\n".join(("### Evaluation", *lines, "### Evaluation Score", f"{verdict.score:g}"))

    def _problem(self, instance: Instance, own: str) -> str:
        if len(own.split()) < _FEWEST_WORDS:
            return f"it has fewer than {_FEWEST_WORDS} words of its own"
        subject = set(stems(self.subject(instance)))
        named = len(subject & set(stems(own)))
        return "" if named >= min(_NAMED, len(subject)) else "it does not name what the request is about"


@cache
def rules_of_items() -> dict[str, str]:
    """The rule of each checklist item."""
    return {item: rule.id for rule in rules().values() for item in rule.items}


def _without_copy(answer: str, request: str) -> str:
    """An answer without the request, and without those of its paragraphs that the answer repeats word for word."""
    for copied in (request, *request.split("\n\n")):
        if copied.strip():
            answer = answer.replace(copied.strip(), "")
    return answer.strip()


def truth_of(preferences: Mapping[str, Sequence[str]], subjects: Mapping[str, str]) -> TruthFile:
    return TruthFile(
        rules=VERSION,
        preferences={preference: list(ids) for preference, ids in preferences.items()},
        subjects=dict(subjects),
    )


def load_truth(data: str) -> Truth:
    """The ground truth of the set in a folder."""
    path = Path(data).expanduser() / FILE
    if not path.is_file():
        raise UsageError(f"--judge truth: {data} has no {FILE}; expected a set from bowstring synth cupid --offline")
    try:
        known = TruthFile.model_validate(parse_strict_json(path.read_bytes()))
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        place = ".".join(map(str, error["loc"]))[:200]
        raise DataError(f"{path}: cannot be read as a generator's truth: {place}: {error['msg']}") from invalid
    except (ParseError, OSError) as error:
        raise DataError(f"{path}: cannot be read as a generator's truth: {error}") from error
    if known.rules != VERSION:
        raise DataError(f"{path}: made for version {known.rules} of the rules, not {VERSION}; generate the set again")
    if unknown := {rule for ids in known.preferences.values() for rule in ids} - set(rules()):
        raise DataError(f"{path}: {min(unknown)!r} is not a rule; generate the set again")
    if not all(known.preferences.values()):
        raise DataError(f"{path}: a preference has no rules; generate the set again")
    return Truth(known)
