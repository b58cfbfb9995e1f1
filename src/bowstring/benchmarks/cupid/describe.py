"""Description of a CUPID set, and the text of one instance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.layout import CONFIG
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance
from bowstring.datasets.describe import CountTable, Description, describe_histories, spread_of, words
from bowstring.datasets.display import Block, Heading, ItemDisplay, Line, Rule, json_of
from bowstring.datasets.problems import join_choices, quote_value
from bowstring.errors import UsageError
from bowstring.models.tokens import TokenCounter


def describe(data: CupidSet, counter: TokenCounter | None) -> Description:
    instances = data.instances
    types = Counter(i.type for i in instances)
    word_counts, tokens = describe_histories((i.history for i in instances), counter)
    lengths = {
        "sessions per log": spread_of(len(i.sessions) for i in instances),
        "messages per session": spread_of(len(s.dialogue.messages) for i in instances for s in i.sessions),
        "words per log": spread_of(word_counts),
        **({"tokens per log": spread_of(tokens)} if counter else {}),
        "words per request": spread_of(words(i.request) for i in instances),
        "words per preference": spread_of(words(i.preference) for i in instances),
        "checklist items": spread_of(len(i.checklist) for i in instances),
        "sessions since the evidence": spread_of(d for i in instances if (d := _distance(i)) is not None),
    }
    about: dict[str, Any] = {
        "name": data.name,
        "benchmark": data.benchmark,
        "personas": len(data.persona_ids),
        "instances": {t: types[t] for t in INSTANCE_TYPES},
        "parts": data.parts or {CONFIG: {"test": ["test.parquet"]}},
        "context_factors": len({(i.persona_id, s.context_factor) for i in instances for s in i.sessions}),
        "lengths": {name: asdict(spread) for name, spread in lengths.items()},
        "tokenizer": counter.name if counter else None,
        "balance": {"sessions in the request's context": _balance(instances), **_preferences(instances)},
    }
    n, personas, contexts = len(instances), about["personas"], about["context_factors"]
    counts = [f"{count:,}" for count in about["instances"].values()]
    return Description(
        about=about,
        headline=f"CUPID: {personas:,} personas, {n:,} instances, {contexts:,} contexts",
        counts=CountTable(("instances", *INSTANCE_TYPES, "all"), [[" and ".join(data.splits), *counts, f"{n:,}"]]),
        items=n,
        summary=(
            f"{n:,} instances of {personas:,} personas: a request, the sessions that came before it, and the "
            "preference that applies in the request's context, shown in those sessions through feedback only."
        ),
        card_counts=CountTable(
            ("instance type", "instances"), [[k, f"{count:,}"] for k, count in about["instances"].items()]
        ),
    )


def _balance(instances: Sequence[Instance]) -> dict[str, int]:
    return {f"{n} sessions": c for n, c in sorted(Counter(len(i.evidence) for i in instances).items())}


def _preferences(instances: Sequence[Instance]) -> dict[str, dict[str, int]]:
    """Instances by category and type of the preference, if the set has them."""
    kinds = {
        "preference category": Counter(i.category for i in instances if i.category),
        "preference type": Counter(i.preference_type for i in instances if i.preference_type),
    }
    return {axis: dict(counts.most_common()) for axis, counts in kinds.items() if counts}


def _distance(instance: Instance) -> int | None:
    """Sessions between the newest evidence and the request; 0 if it is the last session."""
    return len(instance.sessions) - 1 - instance.evidence[-1] if instance.evidence else None


def look_up(data: CupidSet, id_: str) -> ItemDisplay | None:
    if id_ in data.persona_ids:
        keys = [i.key for i in data.instances if i.persona_id == id_]
        raise UsageError(f"{quote_value(id_)} has {len(keys)} instances; choose one: {join_choices(keys)}")
    instance = next((i for i in data.instances if i.key == id_), None)
    return ItemDisplay(json_of(instance), list(_blocks(instance))) if instance else None


def _blocks(instance: Instance) -> Iterator[Block]:
    yield Rule(instance.key)
    yield Line("request", instance.request)
    yield Line("context", instance.context_factor)
    yield Line("preference", instance.preference)
    yield Line("checklist", "\n".join(f"- {item}" for item in instance.checklist))
    evidence = set(instance.evidence)
    for session in instance.sessions:
        number = session.dialogue.id
        same = "  ◆ the request's context" if number in evidence else ""
        yield Heading(f"session {number + 1}: {session.context_factor}{same}")
        yield from (Line(message.role, message.text) for message in session.dialogue.messages)
        yield Line("preference", session.preference, dim=True)
