"""The dry run: number of requests, tokens in total and after sharing, and estimated cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from bowstring.metrics.comparing import planned_difference
from bowstring.models.interface import Model
from bowstring.models.prices import Price
from bowstring.models.scores import options_of
from bowstring.models.tokens import TokenCounter, counter_or_none
from bowstring.records import MODEL_ROLE, STAGE_ROLE, Known, Message, Planned, Prompt, Sampling, Usage, request_key
from bowstring.runs.items import chosen_groups, cluster_sizes
from bowstring.runs.repeats import Repeat, repeats_of
from bowstring.runs.store import Store

if TYPE_CHECKING:
    from bowstring.runs.running import Running

_AROUND = 5  # approximate template tokens per message


@dataclass(slots=True)
class RolePlan:
    """The planned requests of one role. `after_sharing` counts a trunk once for all of its branches."""

    model: str
    requests: int = 0
    stored: int = 0
    prompt_tokens: int = 0
    after_sharing: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    cost_unshared: float | None = None

    def add(self, planned: Planned, lengths: _Lengths, seen: dict[str, int]) -> None:
        """Count a request; `seen` has the lengths of earlier trunks."""
        trunk = planned.prompt.trunk
        first = trunk.digest not in seen
        if first:
            seen[trunk.digest] = lengths.of(trunk.messages)
        branch = lengths.of(planned.prompt.branch) + lengths.of_texts(options_of(planned.sampling))
        self.requests += 1
        self.prompt_tokens += seen[trunk.digest] + branch
        self.after_sharing += branch + (seen[trunk.digest] if first else 0)
        self.completion_tokens += planned.answer_tokens

    def price(self, price: Price | None) -> None:
        if price is None:
            return
        cached = self.prompt_tokens - self.after_sharing
        self.cost = price.of(Usage(self.prompt_tokens, cached, self.completion_tokens))
        self.cost_unshared = price.of(Usage(self.prompt_tokens, 0, self.completion_tokens))


@dataclass(frozen=True, slots=True)
class Plan:
    items: int
    groups: int
    roles: dict[str, RolePlan]
    tokenizer: str
    prices_dated: str
    batch: bool = False
    clusters: int = 0  # of one setting; 0 if the benchmark does not say whose its items are
    items_each: float = 0.0  # in a cluster
    detectable: float | None = None  # the difference between two runs that these can show, as a share of the range
    shard: str | None = None  # which part of the items these are


class _Lengths:
    """Token counts of messages: by tokenizer if available, otherwise by characters."""

    def __init__(self, counter: TokenCounter | None) -> None:
        self._counter = counter
        self.name = counter.name if counter else "4 characters per token"

    def of(self, messages: tuple[Message, ...]) -> int:
        texts = [m.text for m in messages]
        return self.of_texts(texts) + _AROUND * len(texts)

    def of_texts(self, texts: Sequence[str]) -> int:
        if self._counter is None:
            return sum(len(t) for t in texts) // 4
        return sum(self._counter.count(texts))


def _repeated(planned: Planned, repeats: Sequence[Repeat]) -> Iterator[Planned]:
    """Return a request for each answer, or each judgement of each answer. What further answers say is not known."""
    seen = set()
    for repeat in repeats:
        sample = repeat.sample(planned.role)
        of_answer = repeat.answer if planned.role != STAGE_ROLE else 0
        if (sample, of_answer) not in seen:
            seen.add((sample, of_answer))
            unknown = planned.role != MODEL_ROLE and of_answer > 0
            yield replace(planned, sampling=planned.sampling.again(sample), estimated=planned.estimated or unknown)


def _with_thoughts(planned: Planned, running: Running) -> Planned:
    """Return a request with the settings of thoughts; a model may use all of its budget."""
    sampling = running.completed(planned.role, planned.sampling)
    return replace(planned, sampling=sampling, answer_tokens=planned.answer_tokens + (sampling.thinking_tokens or 0))


def _as_asked(planned: Planned, model: Model, known: Known) -> Planned:
    """Return a request in the form in which this model is asked: by a schema, as text, or as text after all."""
    if planned.as_text is None:
        return planned
    prompt, sampling = planned.as_text
    if not getattr(model, "takes_schema", False):
        return replace(planned, prompt=prompt, sampling=sampling)
    refused = replace(sampling, schema="")
    asked_again = not known(planned.role, planned.prompt, planned.sampling) and known(planned.role, prompt, refused)
    return replace(planned, prompt=prompt, sampling=refused) if asked_again else planned


def make_plan(running: Running) -> Plan:
    """Return what a run would request and cost; nothing is sent."""
    options = running.options
    groups = [
        (e.items, group)
        for e in running.evaluations
        for group in chosen_groups(e.items, limit=options.limit, users=options.users, shard=options.part)
    ]
    roles = {role: RolePlan(model.identity) for role, model in running.models.items()}
    store = Store(options.store_path, readonly=True) if options.store_path.exists() else None
    lengths = _Lengths(counter_or_none("embedded", lambda line: None))
    trunks: dict[str, dict[str, int]] = {role: {} for role in roles}
    asked: set[str] = set()

    def known(role: str, prompt: Prompt, sampling: Sampling) -> str | None:
        if store is None or options.fresh:
            return None
        found = store.get(request_key(roles[role].model, prompt, running.completed(role, sampling)))
        return found.text if found else None

    repeats = repeats_of(options.answers, options.judgements)
    for items, group in groups:
        requests = (_as_asked(one, running.models[one.role], known) for one in items.plan(group, list(roles), known))
        for planned in (again for one in requests for again in _repeated(one, repeats)):
            role = roles[planned.role]
            planned = _with_thoughts(planned, running)
            if not planned.estimated:
                key = request_key(role.model, planned.prompt, planned.sampling)
                if key in asked:
                    continue  # identical requests are sent once
                asked.add(key)
                if known(planned.role, planned.prompt, planned.sampling) is not None:
                    role.stored += 1
                    continue
            role.add(planned, lengths, trunks[planned.role])
    if store is not None:
        store.close_now()
    first = [group for items, group in groups if items is running.evaluations[0].items]
    sizes = cluster_sizes(running.evaluations[0].items, first)
    for name, model in running.models.items():
        roles[name].price(running.price(model))
    return Plan(
        sum(len(group) for _, group in groups),
        len(groups),
        roles,
        lengths.name,
        running.prices.dated,
        options.batch,
        len(sizes),
        sum(sizes) / len(sizes) if sizes else 0.0,
        planned_difference(sizes),
        options.shard,
    )
