"""The dry run: how many requests, how many tokens in all and after sharing, and what it would cost."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks.hicupid import JUDGE_SAMPLING
from bowstring.models.prices import Price
from bowstring.models.tokens import TokenCounter, counter_or_none
from bowstring.records import Message, Prompt, Usage
from bowstring.runs.store import Store, request_key

if TYPE_CHECKING:
    from bowstring.benchmarks.evaluate import Evaluation

_AROUND = 5  # tokens that a chat template puts around a message, about
_ANSWER = 60  # tokens of an answer, about, where a judge will read it
_VERDICT = 90  # tokens that a judge writes, about


@dataclass(slots=True)
class RolePlan:
    """What one role would ask. `after_sharing` counts a trunk once for all of its branches."""

    model: str
    requests: int = 0
    stored: int = 0
    prompt_tokens: int = 0
    after_sharing: int = 0
    completion_tokens: int = 0
    cost: float | None = None
    cost_unshared: float | None = None

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


class _Lengths:
    """Tokens of messages: by a vocabulary where one is at hand, otherwise by characters."""

    def __init__(self, counter: TokenCounter | None) -> None:
        self._counter = counter
        self.name = counter.name if counter else "4 characters a token"

    def of(self, messages: tuple[Message, ...]) -> int:
        texts = [m.text for m in messages]
        if self._counter is None:
            return sum(len(t) for t in texts) // 4 + _AROUND * len(texts)
        return sum(self._counter.count(texts)) + _AROUND * len(texts)


def make_plan(evaluation: Evaluation) -> Plan:
    counter = counter_or_none("embedded", lambda line: None)
    lengths = _Lengths(counter)
    groups = evaluation.items.groups(evaluation.options.limit)
    roles = {"model": RolePlan(evaluation.model.identity)}
    if evaluation.judge is not None:
        roles["judge"] = RolePlan(evaluation.judge.identity)
    store = Store(evaluation.store_path) if evaluation.store_path.exists() else None
    trunk_lengths: dict[int, int] = {}
    for group in groups:
        _plan_group(evaluation, group, roles, lengths, store, trunk_lengths)
    roles["model"].price(evaluation.prices.of(evaluation.model.identity))
    if evaluation.judge is not None:
        roles["judge"].price(evaluation.prices.of(evaluation.judge.identity))
    return Plan(sum(map(len, groups)), len(groups), roles, lengths.name, evaluation.prices.dated)


def _plan_group(
    evaluation: Evaluation,
    group: Any,
    roles: dict[str, RolePlan],
    lengths: _Lengths,
    store: Store | None,
    judge_trunks: dict[int, int],
) -> None:
    trunks: dict[int, int] = {}
    for question, prompt in zip(group, evaluation.items.prompts(group), strict=True):
        sampling = evaluation.items.sampling(question)
        key = request_key(evaluation.model.identity, prompt, sampling)
        if store is not None and not evaluation.options.fresh and store.get(key) is not None:
            roles["model"].stored += 1
        else:
            _add(roles["model"], prompt, min(sampling.max_tokens, _ANSWER), lengths, trunks)
        if "judge" in roles:
            judged = evaluation.items.judge_prompt(question, "word " * int(_ANSWER * 0.8))
            _add(roles["judge"], judged, min(JUDGE_SAMPLING.max_tokens, _VERDICT), lengths, judge_trunks)


def _add(role: RolePlan, prompt: Prompt, answer: int, lengths: _Lengths, seen: dict[int, int]) -> None:
    first = id(prompt.trunk) not in seen
    trunk = seen.setdefault(id(prompt.trunk), lengths.of(prompt.trunk.messages)) if first else seen[id(prompt.trunk)]
    branch = lengths.of(prompt.branch)
    role.requests += 1
    role.prompt_tokens += trunk + branch
    role.after_sharing += branch + (trunk if first else 0)
    role.completion_tokens += answer
