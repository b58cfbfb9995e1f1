"""Controls of CUPID under the truth judge: what is answered without knowing the user, and by an answer that knows all.

They are scored exactly, on the items of a run, by the metrics of the run.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.controls import Control, Kind, code_fingerprint, scored_control
from bowstring.benchmarks.cupid.banks import matters
from bowstring.benchmarks.cupid.drafts import write_draft
from bowstring.benchmarks.cupid.evaluation import CupidEvaluation
from bowstring.benchmarks.cupid.rules import rules
from bowstring.benchmarks.cupid.scores import cluster_of, metrics
from bowstring.benchmarks.cupid.truth import Truth
from bowstring.benchmarks.cupid.types import Instance
from bowstring.judging.structured import Unreadable, read_labels
from bowstring.metrics.measures import estimates_as_json
from bowstring.records import is_repeated
from bowstring.runs.runner import Record
from bowstring.seeding import seeded_number

# What assistants write to everybody: a long list with emphasis after a greeting, nothing that commits.
_USUAL = ("bullets", "bold", "greeting", "long", "second-person", "no-source", "no-contractions", "no-jargon")
_USUALLY_SAID = "The user wants a greeting, bullet points, bold key terms and no jargon."
_EVERYTHING = "All of this applies: " + "; ".join(rule.clauses[0] for rule in rules().values()) + "."


@dataclass(frozen=True, slots=True)
class _Kind:
    """A control: what it states as the preference, and what it answers; None where it has nothing to say."""

    name: str
    kind: Kind
    about: str
    states: Callable[[_Case], str]
    answers: Callable[[_Case], str]


@dataclass(frozen=True, slots=True)
class _Case:
    """An instance, and what its log has."""

    instance: Instance
    truth: Truth

    @property
    def last(self) -> str:
        return self.instance.sessions[-1].preference

    @property
    def most_frequent(self) -> str:
        """The preference of most sessions; of several, the latest."""
        said = [session.preference for session in reversed(self.instance.sessions)]
        return Counter(said).most_common(1)[0][0]

    @property
    def other(self) -> str:
        """The preference of a random session in another context."""
        others = [s.preference for s in self.instance.sessions if s.context_factor != self.instance.context_factor]
        chosen = others or [self.last]
        return chosen[seeded_number(0, "control", self.instance.key) % len(chosen)]

    @property
    def last_reply(self) -> str:
        replies = [m.text for m in self.instance.sessions[-1].dialogue.messages if m.role == "assistant"]
        return replies[-1] if replies else ""

    def following(self, wanted: Sequence[str]) -> str:
        """An answer to the request that meets these rules and is random in everything else."""
        subject = self.truth.subject(self.instance)
        matter = next((n for n, one in enumerate(matters()) if subject.startswith(one["name"])), None)
        if matter is None:
            return ""
        rng = random.Random(f"control/{self.instance.key}/{'/'.join(wanted)}")  # noqa: S311 - repeatable on purpose
        return write_draft(matter, rng, meets=wanted)

    def by_preference(self, preference: str) -> str:
        return self.following(self.truth.stated(preference))


_KINDS = (
    _Kind("no answer", "floor", "An empty answer.", lambda case: "", lambda case: ""),
    _Kind(
        "echo",
        "floor",
        "The request, repeated.",
        lambda case: case.instance.request.split("\n")[0],
        lambda case: case.instance.request,
    ),
    _Kind("every rule", "floor", "A list of all rules that exist.", lambda case: _EVERYTHING, lambda case: _EVERYTHING),
    _Kind(
        "one for all",
        "floor",
        "The same preference for all: a greeting, bullet points, bold key terms, no jargon; an answer that follows it.",
        lambda case: _USUALLY_SAID,
        lambda case: case.following(_USUAL),
    ),
    _Kind(
        "last answer",
        "floor",
        "The preference of the last session; the answer that was accepted in it, copied.",
        lambda case: case.last,
        lambda case: case.last_reply,
    ),
    _Kind(
        "last preference",
        "floor",
        "The preference of the last session; an answer that follows it.",
        lambda case: case.last,
        lambda case: case.by_preference(case.last),
    ),
    _Kind(
        "most frequent",
        "floor",
        "The preference of most sessions, of several the latest; an answer that follows it.",
        lambda case: case.most_frequent,
        lambda case: case.by_preference(case.most_frequent),
    ),
    _Kind(
        "another context",
        "floor",
        "The preference of a random session in another context; an answer that follows it.",
        lambda case: case.other,
        lambda case: case.by_preference(case.other),
    ),
    _Kind(
        "gold",
        "ceiling",
        "The preference that applies; an answer that follows it.",
        lambda case: case.instance.preference,
        lambda case: case.by_preference(case.instance.preference),
    ),
)


def controls_of(evaluation: CupidEvaluation, records: Sequence[Record]) -> list[Control]:
    """The controls on the items of these records; none without the truth of the set."""
    truth, settings = evaluation.truth, evaluation.settings
    if truth is None or not records:
        return []
    known = {instance.key: instance for instance in evaluation.data.instances}
    instances = [known[r["key"]] for r in records if not is_repeated(r) and r["key"] in known]
    of_run = metrics("bowstring")
    main = {n: of_run.measures[n] for n in of_run.headline if n.partition(".")[0] in settings.tasks}
    found = []
    for kind in _KINDS:
        made = [_record(kind, _Case(instance, truth), settings.tasks) for instance in instances]
        values = estimates_as_json(main, [(cluster_of(record), record) for record in made])
        found.append(scored_control(kind.name, kind.kind, kind.about, values, list(main), len(made)))
    return found


def basis_of(evaluation: CupidEvaluation, records: Sequence[Record]) -> Mapping[str, Any] | None:
    """What the controls depend on."""
    if evaluation.truth is None:
        return None
    return {
        "code": code_fingerprint("bowstring.benchmarks.cupid"),
        "data": evaluation.data.fingerprint,
        "tasks": list(evaluation.settings.tasks),
        "items": [r["key"] for r in records if not is_repeated(r)],
    }


def _record(kind: _Kind, case: _Case, tasks: Sequence[str]) -> Record:
    """The parts of a record that are scored."""
    instance, truth = case.instance, case.truth
    record: Record = {"persona": instance.persona_id, "checklist": list(instance.checklist)}
    if "generation" in tasks:
        record["generation"] = {"score": truth.verdict(instance, kind.answers(case)).score}
    if "inference" in tasks:
        stated = kind.states(case)
        try:
            items = truth.items(stated)
        except Unreadable:
            record["inference"] = {"unparsed": "checklist"}
        else:
            record["inference"] = {
                "precision": list(read_labels(truth.labels(items, instance.preference), items)),
                "recall": list(read_labels(truth.labels(instance.checklist, stated), instance.checklist)),
            }
    return record
