"""Channels of gpt-oss: it writes each thought and the answer in a channel. Special tokens may be missing.

>>> channel_parts("<|channel|>analysis<|message|>No beetroot.<|end|><|start|>assistant<|channel|>final<|message|>Rice.")
[Part(is_thought=True, text='No beetroot.'), Part(is_thought=False, text='Rice.')]
>>> bare_channel_parts("analysisNo beetroot.assistantfinalRice.", cut=False)
[Part(is_thought=True, text='No beetroot.'), Part(is_thought=False, text='Rice.')]
"""

from __future__ import annotations

import re
from typing import NamedTuple

from bowstring.models.mentions import Mentions

# What may precede a text: white space, a byte order mark, spaces without width.
BLANKS = re.compile(r"[\s\ufeff\u200b\u2060]*+")

_END = r"<\|(?:end|return|call)\|>"
_ROLE = r"assistant|user|system|developer|tool|functions\.[\w.]{1,80}+|"
_START = rf"(?P<start><\|start\|>)(?P<role>{_ROLE})(?: to=[\w.]{{1,80}}+)?"
_MESSAGE = r"[^<\n]{0,200}+(?:<\|constrain\|>[^<\n]{0,80}+)?<\|message\|>"
_CHANNEL = rf"<\|channel\|>(?P<channel>\w{{0,80}}+)(?:{_MESSAGE}|(?<=analysis)|(?<=commentary)|(?<=final)|\Z)"
_HEADER = rf"(?P<header>(?:{_START})?+(?:{_CHANNEL}|(?(start)(?:<\|message\|>|\Z)|(?!))))"
_STARTS_IN_CHANNEL = re.compile(BLANKS.pattern + _HEADER)
_CONTROL = re.compile(rf"(?:{_END}\s*+)?+{_HEADER}|{_END}")

_BARE_START = re.compile(rf"{BLANKS.pattern}(?:(?:assistant)?(?:analysis|commentary)|assistant(final)(?=[^\s.,;:!?)]))")
_BARE_CUT = re.compile(rf"{BLANKS.pattern}(?:assistant)?analysis[A-Z]")
_BARE = re.compile(r"assistant(?:analysis|commentary|(final))")


class Part(NamedTuple):
    """A part of what a model wrote, without markers."""

    is_thought: bool
    text: str


def starts_in_channel(text: str) -> bool:
    return _STARTS_IN_CHANNEL.match(text) is not None


def channel_parts(text: str, start: int = 0) -> list[Part]:
    """Return what stands in the channels from `start` on. What stands outside of them is part of the answer."""
    mentions, parts = Mentions(text), list[Part]()
    in_channel = is_thought = False
    at = start
    for control in _CONTROL.finditer(text, start):
        if in_channel and _is_mention(mentions, control, in_thought=is_thought):
            continue
        if at > start:  # only blanks precede the first one
            parts.append(Part(is_thought, text[at : control.start()]))
        at = control.end()
        in_channel = control["header"] is not None
        is_thought = in_channel and not _is_answer(control)
    return [*parts, Part(is_thought, text[at:])]


def _is_mention(mentions: Mentions, control: re.Match[str], *, in_thought: bool) -> bool:
    if in_thought and control["start"]:  # the header of the next message, whatever the thought ends with
        return False
    place = control.span()
    return mentions.is_quoted(*place) or mentions.is_in_sentence(*place)


def _is_answer(control: re.Match[str]) -> bool:
    return control["channel"] in ("final", None) and control["role"] in ("assistant", "", None)


def bare_channel_parts(text: str, *, cut: bool) -> list[Part]:
    """Return the parts of channels whose special tokens were removed: analysis…assistantfinal… Without an answer they
    are channels only if the text was `cut`. Return nothing if the text has none."""
    opening = _BARE_START.match(text)
    if opening is None:
        return []
    mentions, parts = Mentions(text), list[Part]()
    is_thought, at = opening[1] is None, opening.end()
    for name in _BARE.finditer(text, at):
        if mentions.is_quoted(*name.span()) or mentions.is_in_sentence(*name.span()):
            continue
        parts.append(Part(is_thought, text[at : name.start()]))
        is_thought, at = name[1] is None, name.end()
    parts.append(Part(is_thought, text[at:]))
    has_answer = not all(part.is_thought for part in parts)
    return parts if has_answer or (cut and _BARE_CUT.match(text)) else []
