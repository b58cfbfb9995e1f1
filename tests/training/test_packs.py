"""Packs: which examples share a trunk, where the loss applies, and their order."""

from collections import Counter
from collections.abc import Sequence

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.benchmarks.hicupid.training import hicupid_examples
from bowstring.benchmarks.loading import load_hicupid
from bowstring.models.loading import load_weights
from bowstring.training.packs import order_packs, pack, pack_all, tokenize_groups
from bowstring.training.settings import settings_for
from tests.support.ordinary import random_users
from tests.support.tiny import TEMPLATE, write_model

owners = st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=40)
steps = st.integers(1, 9)


@given(owners, steps, st.integers(0, 3))
def test_every_epoch_has_every_pack_once(of, per_step, seed):
    order = order_packs(of, per_step, 3, seed)
    for n in range(3):
        assert sorted(order[n * len(of) : (n + 1) * len(of)]) == list(range(len(of)))


@given(owners, steps)
def test_an_owner_comes_twice_in_a_step_only_when_all_that_are_left_did(of, per_step):
    order = order_packs(of, per_step, 2, 0)
    for start in range(0, len(order), per_step):
        met: set[str] = set()
        for place in range(start, min(start + per_step, len(order))):
            epoch_end = len(of) * (place // len(of) + 1)
            left = {of[n] for n in order[place:epoch_end]}
            assert of[order[place]] not in met or left <= met
            met.add(of[order[place]])


def in_steps(all_of_them: Sequence, per_step: int) -> list[Sequence]:
    return [all_of_them[n : n + per_step] for n in range(0, len(all_of_them), per_step)]


def can_be_distinct(of: list[str], per_step: int) -> bool:
    """Whether some order has no owner twice in a step: by Gale and Ryser, the owners with the most packs decide."""
    counts = sorted(Counter(of).values(), reverse=True)
    sizes = [len(step) for step in in_steps(of, per_step)]
    return all(sum(counts[:k]) <= sum(min(size, k) for size in sizes) for k in range(1, len(counts) + 1))


@given(owners, steps, st.integers(0, 3))
def test_steps_are_of_different_owners_whenever_some_order_is(of, per_step, seed):
    found = [[of[n] for n in step] for step in in_steps(order_packs(of, per_step, 1, seed), per_step)]
    assert all(len(set(step)) == len(step) for step in found) == can_be_distinct(of, per_step)


def test_the_order_is_the_seeds_and_each_epochs_own():
    of = [str(n) for n in range(20)]
    order = order_packs(of, 4, 2, 0)
    assert order == order_packs(of, 4, 2, 0)
    assert order != order_packs(of, 4, 2, 1)
    assert order[:20] != order[20:]


@pytest.mark.parametrize(("epochs", "packs"), [(0.5, 5), (1.0, 10), (2.3, 23), (0.01, 1)])
def test_epochs_may_be_broken_and_something_is_always_trained_on(epochs, packs):
    order = order_packs(["a", "b"] * 5, 3, epochs, 0)
    assert len(order) == packs
    assert order == order_packs(["a", "b"] * 5, 3, 3, 0)[:packs], "a shorter training is the beginning of a longer one"


@pytest.mark.parametrize(("examples", "sizes"), [(33, [17, 16]), (32, [32]), (65, [22, 22, 21]), (1, [1])])
def test_lots_are_even(examples, sizes):
    found = pack_all(random_users(examples), branches=32, max_length=512, seed=0)
    assert [pack.answers for pack in found.packs] == sizes


def test_every_example_is_in_one_pack_of_its_owner():
    users = random_users(7, 1, 4, answers=2)
    found = pack_all(users, branches=3, max_length=512, seed=0)
    assert sorted(key for pack in found.packs for key in pack.keys) == sorted(e.key for g in users for e in g)
    owner = {e.key: e.owner for group in users for e in group}
    assert all({owner[key] for key in pack.keys} == {pack.owner} for pack in found.packs)
    assert found.examples == 12
    assert found.separate_tokens == sum(len(e.prompt) + len(a) for g in users for e in g for a in e.answers)
    assert found.packed_tokens < found.separate_tokens


def test_what_is_too_long_by_its_longest_answer_is_left_out_and_counted():
    (user,) = random_users(8, answers=2)
    length = {e.key: len(e.prompt) + max(len(answer) for answer in e.answers) for e in user}
    limit = sorted(length.values())[4]
    found = pack_all([user], branches=8, max_length=limit, seed=0)
    kept = {key for key in length if length[key] <= limit}
    assert {key for pack in found.packs for key in pack.keys} == kept
    assert (found.examples, found.too_long) == (len(kept), 8 - len(kept))
    assert pack_all([user], branches=8, max_length=3, seed=0).packs == []


def test_no_more_tokens_stand_together_than_there_is_room_for():
    (user,) = random_users(20, trunk=2, rest=(20, 30))
    for longest, packs in ((10_000, 1), (400, 2), (200, 4), (50, 20)):
        found = pack_all([user], branches=32, max_length=50, seed=0, longest=longest)
        assert (len(found.packs), found.lots, found.examples) == (packs, 1, 20)
        assert max(len(pack.tokens) for pack in found.packs) <= longest
        assert sorted(key for pack in found.packs for key in pack.keys) == sorted(e.key for e in user)


def test_a_pair_whose_prompts_share_little_is_read_once():
    (user,) = random_users(6, answers=2, trunk=2, rest=(20, 30))
    found = pack(user)
    assert len(found.tokens) == sum(len(e.prompt) + sum(map(len, e.answers)) + 1 for e in user), "its last token twice"
    assert found.answers == 12


@pytest.mark.parametrize("answers", [1, 2])
def test_an_answers_first_token_is_learned_at_its_prompts_last(answers):
    (user,) = random_users(3, answers=answers)
    found = pack(user)
    ends = [n for n, start in enumerate(found.of) if n == 0 or found.of[n - 1] != start]
    prompts = [e.prompt for e in user for _ in e.answers]
    for place, prompt in zip(ends, prompts, strict=True):
        at = found.keep[place]
        assert found.tokens[at] == prompt[-1]
        assert found.positions[at] == len(prompt) - 1
    assert tuple(found.targets) == tuple(token for e in user for answer in e.answers for token in answer)
    pairs = zip(found.keep, found.of, found.of[1:], strict=False)
    following = [found.tokens[at + 1] for at, branch, next_ in pairs if branch == next_]
    assert following == [token for e in user for answer in e.answers for token in answer[:-1]]


@pytest.mark.parametrize(
    ("template", "end"),
    [
        (TEMPLATE, "<|end|>"),
        # Its turns end with a token that is not the tokenizer's own end.
        (TEMPLATE.replace("<|end|>", "<|user|>"), "<|user|>"),
        # Its turns end with words, which end no answer.
        (TEMPLATE.replace("<|end|>", " so be it "), "<|end|>"),
    ],
)
def test_answers_end_as_the_template_ends_them(template, end, tmp_path):
    path = write_model(tmp_path / "m", template=template, eos_token_id=[2, 4])
    weights = load_weights(path, dtype=torch.float32, device="cpu", tell=lambda line: None)
    data = load_hicupid("mini")
    examples = hicupid_examples(data, settings_for("dpo", limit=3), HICUPID.prompts())
    (group,) = tokenize_groups(examples.groups(), weights.rendering)
    for tokens in group:
        for answer in tokens.answers:
            assert weights.tokenizer.convert_ids_to_tokens(answer[-1]) == end
            assert answer[-1] not in answer[:-1]
        assert weights.tokenizer.convert_ids_to_tokens(tokens.prompt[-1]) == "<|assistant|>"
