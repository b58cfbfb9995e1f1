"""A prompt is a trunk and a branch, and its identity does not depend on where the trunk ends."""

from hypothesis import given
from hypothesis import strategies as st

from bowstring.records import Message, Prompt, Trunk

roles = st.sampled_from(["system", "user", "assistant"])
messages = st.lists(st.builds(lambda r, t: Message(r, (t,)), roles, st.text(max_size=20)), max_size=6)


def alternating(found: list[Message]) -> list[Message]:
    """A chat whose neighbours differ in role, as chats do."""
    kept: list[Message] = []
    for message in found:
        if not kept or kept[-1].role != message.role:
            kept.append(message)
    return kept


def texts(prompt: Prompt) -> list[tuple[str, str]]:
    return [(m.role, m.text) for m in prompt.messages]


@given(messages.map(alternating), st.data())
def test_the_same_text_has_the_same_digest_wherever_the_trunk_ends(chat, data):
    whole = Prompt(Trunk(()), tuple(chat))
    cut = data.draw(st.integers(0, len(chat)))
    assert Prompt(Trunk(chat[:cut]), tuple(chat[cut:])).digest == whole.digest
    if chat:
        at = data.draw(st.integers(0, len(chat) - 1))
        middle = data.draw(st.integers(0, len(chat[at].text)))
        head, tail = chat[at].text[:middle], chat[at].text[middle:]
        role = chat[at].role
        inside = Prompt(Trunk([*chat[:at], Message(role, (head,))]), (Message(role, (tail,)), *chat[at + 1 :]))
        assert texts(inside) == texts(whole)
        assert inside.digest == whole.digest


@given(messages.map(alternating), messages.map(alternating))
def test_other_text_has_another_digest(a, b):
    first, second = Prompt(Trunk(()), tuple(a)), Prompt(Trunk(()), tuple(b))
    assert (first.digest == second.digest) == (texts(first) == texts(second))


def test_a_branch_goes_on_in_a_message_of_its_role():
    trunk = Trunk([Message("system", ("s",)), Message("user", ("log ",))])
    assert Prompt(trunk, (Message("user", ("task",)),)).messages == (
        Message("system", ("s",)),
        Message("user", ("log ", "task")),
    )
    assert len(Prompt(trunk, (Message("assistant", ("ok",)), Message("user", ("q",)))).messages) == 4
