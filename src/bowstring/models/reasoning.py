"""Answers of reasoning models: what they thought is kept apart from what they said.

>>> split_reasoning("<think>They avoid beetroot.</think>Try lentils.")
('Try lentils.', 'They avoid beetroot.')
"""

from __future__ import annotations

import re

_OPEN = r"<(think|thinking|reasoning)>"
_BLOCK = re.compile(rf"\s*{_OPEN}(.*?)</\1>\s*", re.DOTALL)
_UNOPENED = re.compile(r"(.*?)</(?:think|thinking|reasoning)>\s*", re.DOTALL)
_UNCLOSED = re.compile(rf"\s*{_OPEN}(.*)", re.DOTALL)


def split_reasoning(text: str) -> tuple[str, str | None]:
    """The answer, and the reasoning in front of it if there is any.

    Templates that open the block themselves leave only its end in the answer; an answer cut off while the
    model was still thinking has only its beginning, and then there is no answer.
    """
    if match := _BLOCK.match(text):
        return text[match.end() :], match[2].strip()
    if match := _UNCLOSED.match(text):
        return "", match[2].strip()
    if match := _UNOPENED.match(text):
        return text[match.end() :], match[1].strip()
    return text, None
