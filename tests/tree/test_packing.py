"""Prompts as trees of tokens."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.tree.packing import TRUNK, Tree, build_tree, can_attend

prompts = st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=8), min_size=1, max_size=5)


@given(prompts)
def test_a_tree_is_its_prompts_and_shares_as_much_as_it_can(found):
    tree = build_tree(found)
    assert [[*tree.trunk, *branch] for branch in tree.branches] == found
    assert all(tree.branches), "each keeps something to ask with"
    longer = len(tree.trunk) + 1
    if all(len(p) > longer for p in found):
        assert len({tuple(p[:longer]) for p in found}) > 1


@given(prompts)
def test_a_packed_token_sees_what_it_would_see_in_its_own_prompt(found):
    tree = build_tree(found)
    tokens, positions, segments = tree.tokens, tree.positions, tree.segments
    for n, (prompt, start) in enumerate(zip(found, tree.starts, strict=True)):
        for at in range(start, start + len(tree.branches[n])):
            seen = [k for k in range(len(tokens)) if can_attend(at, k, segments)]
            assert [tokens[k] for k in seen] == prompt[: positions[at] + 1]
            assert [positions[k] for k in seen] == list(range(positions[at] + 1))
    trunk = [k for k, segment in enumerate(segments) if segment == TRUNK]
    assert trunk == list(range(len(tree.trunk)))


def test_one_prompt_is_a_trunk_and_its_last_token():
    assert build_tree([[5, 6, 7]]) == Tree((5, 6), ((7,),))
    assert build_tree([[5], [5]]) == Tree((), ((5,), (5,)))


@pytest.mark.parametrize("wrong", [[], [[1], []]])
def test_nothing_is_no_tree(wrong):
    with pytest.raises(ValueError, match="prompt"):
        build_tree(wrong)
