"""Separate the reasoning of a model from its answer.

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
    """Return the answer, and the reasoning before it, if any.

    Templates that open the block themselves leave only its closing tag in the answer. An answer truncated during
    reasoning has only the opening tag, and then the answer is empty.
    """
    if match := _BLOCK.match(text):
        return text[match.end() :], match[2].strip()
    if match := _UNCLOSED.match(text):
        return "", match[2].strip()
    if match := _UNOPENED.match(text):
        return text[match.end() :], match[1].strip()
    return text, None
