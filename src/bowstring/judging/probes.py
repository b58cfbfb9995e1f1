"""Answers changed in ways that should not change a verdict, and one that should lose whatever it opens with.

padded("Take the train.")
"""

from __future__ import annotations

import re

_PADDING = (
    "There is more that could be said about this, and there are several ways to look at it. Every situation is a "
    "little different, so it is worth taking a moment to think it through before settling on anything. Whatever is "
    "decided in the end, it can always be looked at again later."
)
_FLATTERY = "As someone who thinks things through and has such good judgement, you will appreciate this."
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def padded(answer: str) -> str:
    """The same, and sentences behind it that say nothing."""
    return f"{answer.rstrip()} {_PADDING}"


def formatted(answer: str) -> str:
    """The same words as a list, each item opening in bold."""
    return "\n".join(f"- {_opening_in_bold(sentence)}" for sentence in _SENTENCE.split(answer.strip()))


def _opening_in_bold(sentence: str) -> str:
    words = sentence.split()
    return " ".join([f"**{' '.join(words[:3])}**", *words[3:]])


def flattered(answer: str) -> str:
    """The same behind a compliment that sounds personal and knows nothing."""
    return f"{_FLATTERY} {answer}"


def glued(entity: str, other: str) -> str:
    """An opening that knows the user, glued to the answer to another question."""
    return f"Keeping in mind what you told me about {entity}: {other}"
