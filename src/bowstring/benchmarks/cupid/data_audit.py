"""What can be guessed in a CUPID set without understanding its sessions: the type, the preference, the checklist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance
from bowstring.benchmarks.data_audit.audit import Column, DataAudit
from bowstring.benchmarks.data_audit.features import Features, pairs, style, words
from bowstring.benchmarks.data_audit.findings import DataFinding, Words, guessed, told
from bowstring.benchmarks.data_audit.guessing import (
    Guess,
    Labelled,
    Options,
    best_share,
    guess_by_rule,
    guess_label,
    guess_option,
    sample_of_users,
    with_another,
)
from bowstring.datasets.dataset import DataSet
from bowstring.history.bm25 import TOKENS, Bm25

_MOST = 600  # instances that a classifier is fitted on: their texts are long


class CupidDataAudit(DataAudit):
    order_by_design: ClassVar[str] = (
        "The design fixes the order: the session before the request is never in its context, and a changed preference "
        "comes after the old one."
    )

    def user_of(self, data: DataSet, item: Any) -> str:  # noqa: ARG002
        return str(item.persona_id)

    def answers(self, data: DataSet) -> Iterator[Column]:
        """The gold preferences, each once per persona."""
        assert isinstance(data, CupidSet)
        known = dict.fromkeys((i.persona_id, i.preference) for i in data.instances)
        yield Column("gold preference", [persona for persona, _ in known], [text for _, text in known])

    def turns(self, data: DataSet) -> Iterator[Column]:
        """The messages of users, and the last reply of each session: earlier replies are its drafts. Sessions that
        instances of a persona share count once."""
        assert isinstance(data, CupidSet)
        said: dict[tuple[str, str], None] = {}
        replies: dict[tuple[str, str], None] = {}
        for instance in data.instances:
            for session in instance.sessions:
                messages = session.dialogue.messages
                said |= dict.fromkeys((instance.persona_id, m.text) for m in messages if m.role == "user")
                drafts = [m.text for m in messages if m.role == "assistant"]
                replies |= dict.fromkeys((instance.persona_id, text) for text in drafts[-1:])
        for name, known in (("messages of the user", said), ("last replies of sessions", replies)):
            if known:
                yield Column(name, [persona for persona, _ in known], [text for _, text in known])

    def guesses(self, data: DataSet) -> Iterator[DataFinding]:
        assert isinstance(data, CupidSet)
        sample = sample_of_users(data.instances, lambda i: i.persona_id, _MOST)
        yield from self._type(sample)
        yield from self._preference(data.instances)
        yield from self._without_sessions(sample)

    def _type(self, instances: Sequence[Instance]) -> Iterator[DataFinding]:
        for name, text in (
            ("request", lambda i: i.request),
            ("last session", lambda i: _text(i, len(i.sessions) - 1)),
        ):
            found = Words(
                f"The {name} does not show the type.",
                f"The {name} shows which type an instance has, so a model can use the rule of that type.",
                f"the {name} shows the type",
                f"the type can be guessed from the {name}",
            )
            yield guessed("type", f"the type from the {name}", self._type_from(instances, text), found, self.cluster)

    @staticmethod
    def _type_from(instances: Sequence[Instance], text: Callable[[Instance], str]) -> Guess | None:
        features: dict[str, Features] = {}  # instances of a persona share texts
        rows = []
        for instance in instances:
            seen = text(instance)
            if seen not in features:
                features[seen] = (*words(seen), *style(seen))
            rows.append(Labelled(instance.persona_id, instance.type, features[seen]))
        return guess_label(rows)

    def _preference(self, instances: Sequence[Instance]) -> Iterator[DataFinding]:
        """Rules that choose among the preferences of the sessions."""
        last = self._by_rule(instances, lambda i: [float(n) for n in range(len(i.sessions))])
        found = Words(
            "The last session has the gold preference no more often than any other.",
            "The preference of the last session is the gold one: reading only the end is enough.",
            "the last session has the gold preference",
            "the preference of the last session is gold",
        )
        yield guessed("preference", "gold is the preference of the last session", last, found, self.cluster)
        for kinds in ((), *((kind,) for kind in INSTANCE_TYPES)):
            chosen = [i for i in instances if not kinds or i.type in kinds]
            frequent = self._by_rule(chosen, _frequencies)
            name = "gold is the most frequent preference of the sessions"
            if kinds:
                said = "By type. The published design repeats the gold preference where the type is consistent."
                yield told("preference", f"{name}, {kinds[0]}", frequent, said, self.cluster)
                continue
            found = Words(
                "Counting preferences does not find the gold one.",
                "The preference that occurs most often is the gold one too often: the request need not be read.",
                "the most frequent preference is gold",
                "the most frequent preference of the sessions is gold",
            )
            yield guessed("preference", name, frequent, found, self.cluster)
        nearest = self._by_rule(instances, _nearness)
        said = "A reader that only finds the session with the most similar words is right this often: the floor."
        name = "gold is the preference of the session nearest to the request by BM25"
        yield told("preference", name, nearest, said, self.cluster)

    @staticmethod
    def _by_rule(instances: Sequence[Instance], value: Callable[[Instance], list[float]]) -> Guess | None:
        """How often the session with the highest value has the gold preference, against choosing one at random among
        the different preferences."""
        hits = []
        for instance in instances:
            listed = list(dict.fromkeys(s.preference for s in instance.sessions))
            values = value(instance)
            best = [max(v for v, s in zip(values, instance.sessions, strict=True) if s.preference == p) for p in listed]
            if len(listed) > 1:
                there = instance.preference in listed
                hit = best_share(best, listed.index(instance.preference)) if there else 0.0
                hits.append((instance.persona_id, hit, 1 / len(listed) if there else 0.0))
        return guess_by_rule(hits) if hits else None

    def _without_sessions(self, instances: Sequence[Instance]) -> Iterator[DataFinding]:
        among = [_among_sessions(i) for i in instances]
        found = Words(
            "The request does not show which preference of the sessions is gold.",
            "The request alone shows which preference of the sessions is gold.",
            "the request shows the gold preference",
            "the gold preference can be guessed from the request, without the sessions",
        )
        guess = guess_option([one for one in among if one is not None])
        name = "gold among the preferences of the sessions, from the request"
        yield guessed("preference", name, guess, found, self.cluster)
        for field, text in (
            ("preference", lambda i: i.preference),
            ("checklist", lambda i: " ".join(i.checklist)),
        ):
            found = Words(
                f"The request does not show whose {field} belongs to it.",
                f"The request shows its {field} without any session: a model can guess it.",
                f"the request shows the {field}",
                f"the {field} can be guessed from the request, without the sessions",
            )
            others = with_another(instances, lambda i: i.persona_id, lambda i: i.type, text)
            guess = guess_option(
                [
                    Options(own.persona_id, [pairs(own.request, text(one)) for one in (own, other)], 0, fold)
                    for own, other, fold in others
                ]
            )
            name = f"the gold {field} or another persona's, from the request"
            yield guessed("checklist" if field == "checklist" else "preference", name, guess, found, self.cluster)


def _text(instance: Instance, session: int) -> str:
    return "\n".join(message.text for message in instance.sessions[session].dialogue.messages)


def _frequencies(instance: Instance) -> list[float]:
    counts = Counter(s.preference for s in instance.sessions)
    return [float(counts[s.preference]) for s in instance.sessions]


def _nearness(instance: Instance) -> list[float]:
    tokens = TOKENS["stems"]
    index = Bm25([tokens(_text(instance, n)) for n in range(len(instance.sessions))])
    return [round(score, 9) for score in index.scores(tokens(instance.request)).tolist()]


def _among_sessions(instance: Instance) -> Options | None:
    listed = list(dict.fromkeys(s.preference for s in instance.sessions))
    if instance.preference not in listed or len(listed) < 2:
        return None
    features = [pairs(instance.request, preference) for preference in listed]
    return Options(instance.persona_id, features, listed.index(instance.preference))
