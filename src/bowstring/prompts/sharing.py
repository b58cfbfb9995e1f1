"""Split prompts with a common beginning into their shared trunk and one branch each."""

from __future__ import annotations

from collections.abc import Sequence

from bowstring.records import Message, Prompt, Trunk


def share_trunk(prompts: Sequence[Sequence[Message]]) -> list[Prompt]:
    """Return the prompts with one trunk: their longest common beginning, by messages and message parts.

    Each keeps at least one part in its branch. A single prompt has an empty trunk, because it shares nothing.
    """
    if len(prompts) < 2:
        return [Prompt(Trunk(()), tuple(prompt)) for prompt in prompts]
    flat = [[(n, m.role, part) for n, m in enumerate(prompt) for part in m.parts] for prompt in prompts]
    most = min(map(len, flat)) - 1
    common = 0
    while common < most and all(parts[common] == flat[0][common] for parts in flat):
        common += 1
    trunk = Trunk(_rebuilt(flat[0][:common]), branches=len(prompts))
    return [Prompt(trunk, _rebuilt(parts[common:])) for parts in flat]


def _rebuilt(parts: Sequence[tuple[int, str, str]]) -> tuple[Message, ...]:
    messages: list[Message] = []
    numbers: list[int] = []
    for n, role, part in parts:
        if numbers and numbers[-1] == n:
            messages[-1] = Message(messages[-1].role, (*messages[-1].parts, part))
        else:
            messages.append(Message(role, (part,)))  # type: ignore[arg-type]
            numbers.append(n)
    return tuple(messages)
