"""Prompts with a common beginning share a trunk; their text does not change."""

from hypothesis import given
from hypothesis import strategies as st

from bowstring.prompts.sharing import share_trunk
from bowstring.records import Message

chats = st.lists(
    st.lists(st.tuples(st.sampled_from(["x", "y"]), st.sampled_from(["x", "y", "z"])), min_size=1, max_size=3).map(
        lambda pairs: tuple(Message("user" if n % 2 else "system", pair) for n, pair in enumerate(pairs))
    ),
    min_size=1,
    max_size=4,
)


@given(chats)
def test_sharing_never_changes_a_prompt(prompts):
    for before, after in zip(prompts, share_trunk(prompts), strict=True):
        assert [(m.role, m.text) for m in after.messages] == [(m.role, m.text) for m in before]
        assert after.branch, "each keeps something of its own"


def test_the_trunk_ends_where_the_prompts_part():
    log = Message("user", ("log", "request", "infer"))
    other = Message("user", ("log", "request", "answer"))
    system = Message("system", ("s",))
    first, second = share_trunk([(system, log), (system, other)])
    assert first.trunk is second.trunk
    assert first.trunk.branches == 2
    assert first.trunk.messages == (system, Message("user", ("log", "request")))
    assert first.branch == (Message("user", ("infer",)),)


def test_a_prompt_that_is_alone_shares_nothing():
    (alone,) = share_trunk([(Message("user", ("a", "b")),)])
    assert alone.trunk.messages == ()
    assert alone.trunk.branches == 1
