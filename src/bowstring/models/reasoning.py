"""Separate the thoughts of a model from its answer, by the markers that families of models put around them.

>>> split_reasoning("<think>They avoid beetroot.</think>Try lentils.")
('Try lentils.', 'They avoid beetroot.')

A text without an answer is all thought, and its answer is empty: it was truncated, or the model stopped too early.
"""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ThoughtFormat:
    """What a family of models writes before and after its thoughts."""

    open: str
    close: str


# gpt-oss writes each thought and the answer in a channel.
HARMONY = ThoughtFormat("<|channel|>analysis<|message|>", "<|end|><|start|>assistant<|channel|>final<|message|>")
FORMATS = (
    *(ThoughtFormat(f"<{tag}>", f"</{tag}>") for tag in ("think", "thinking", "reasoning", "thought", "seed:think")),
    ThoughtFormat("[THINK]", "[/THINK]"),  # Magistral
    ThoughtFormat("<|START_THINKING|>", "<|END_THINKING|>"),  # Command A
    ThoughtFormat("◁think▷", "◁/think▷"),  # Kimi
    ThoughtFormat("<|channel>thought", "<channel|>"),  # Gemma
    HARMONY,
)
_CHANNELS = re.compile(r"\s*(?:<\|start\|>assistant)?<\|channel\|>")
_CHANNEL = re.compile(
    r"<\|channel\|>(\w+)(?:(?!<\|message\|>).)*<\|message\|>(.*?)(?=<\|(?:end|return|call|start|channel)\|>|\Z)",
    re.DOTALL,
)
# What is left of channels where special tokens were removed: analysis…assistantfinal…
_BARE_ANALYSIS, _BARE_FINAL = "analysis", "assistantfinal"
_BARE_NEXT = re.compile(r"assistant(?:analysis|commentary)")
_BARE_CUT = re.compile(r"analysis[A-Z]")
_QUOTES = {"`": "`", '"': '"', "'": "'", "“": "”", "‘": "’", "«": "»"}
_AFTER_A_WORD = tuple(".,;:!?)")  # no answer begins with these
_FENCE = "```"


def opened_format(prompt: str) -> ThoughtFormat | None:
    """Return the format of the thought that a prompt ends with the opening of; None if it ends outside of thoughts."""
    end = prompt.rstrip()
    return next((format for format in FORMATS if end.endswith(format.open)), None)


def split_reasoning(text: str, *, opened: ThoughtFormat | None = None, cut: bool = False) -> tuple[str, str | None]:
    """Return the answer, and the thoughts before it, if any.

    `opened` is the format of a thought that the prompt has opened. Where that is not known, a closing marker without an
    opening one ends a thought, unless the text quotes it. `cut` says that the text ended at its limit.
    """
    if opened is not None:
        text = opened.open + text
    if _CHANNELS.match(text):
        return _split_channels(text)
    if (bare := _split_bare_channels(text, cut=cut)) is not None:
        return bare
    answer, thoughts = text, []
    last = None
    while (format := next((f for f in FORMATS if answer.lstrip().startswith(f.open)), None)) is not None:
        inside = answer.lstrip()[len(format.open) :]
        thought, closed, answer = _partition(inside, format.close)
        thoughts.append(thought)
        last = format
        if not closed:
            return "", _joined(thoughts)
    # A model may go on thinking after it has closed its thought, and close it a second time.
    for format in (last,) if last else FORMATS:
        while (at := _stray_close(answer, format, again=bool(thoughts))) is not None:
            thoughts.append(answer[:at])
            answer = answer[at + len(format.close) :]
    return (answer.lstrip(), _joined(thoughts)) if thoughts else (text, None)


def _joined(thoughts: list[str]) -> str | None:
    return "\n\n".join(filter(None, (thought.strip() for thought in thoughts))) or None


def _partition(inside: str, close: str) -> tuple[str, bool, str]:
    """Return the thought, whether it is closed, and what follows. A marker that is only quoted does not close it,
    unless there is no other one."""
    places = [match.start() for match in re.finditer(re.escape(close), inside)]
    if not places:
        return inside, False, ""
    at = next((at for at in places if not _is_quoted(inside, at, close)), places[0])
    return inside[:at], True, inside[at + len(close) :]


def _stray_close(text: str, format: ThoughtFormat, *, again: bool) -> int | None:
    """Return where a thought ends whose opening is not in the text. After another thought, the marker must end its
    line, or begin the text: an answer may be about it."""
    at = text.find(format.close)
    if at < 0 or format.open in text[:at] or _is_quoted(text, at, format.close):
        return None
    after = text[at + len(format.close) :]
    if again and text[:at].strip() and not re.match(r"[ \t]*(\n|\Z)", after):
        return None
    return at


def _is_quoted(text: str, at: int, marker: str) -> bool:
    """Return whether a text speaks of a marker: in quotes, in code, or within a sentence."""
    before, after = text[:at], text[at + len(marker) :]
    if before and after and _QUOTES.get(before[-1]) == after[0]:
        return True
    if after.startswith(_AFTER_A_WORD):
        return True
    return before.count(_FENCE) % 2 == 1 and _FENCE in after


def _split_channels(text: str) -> tuple[str, str | None]:
    found = _CHANNEL.findall(text)
    answer = "".join(content for name, content in found if name == "final")
    return answer.lstrip(), _joined([content for name, content in found if name != "final"])


def _split_bare_channels(text: str, *, cut: bool) -> tuple[str, str | None] | None:
    start = text.lstrip()
    before, closed, answer = start.partition(_BARE_FINAL)
    if not start.startswith(_BARE_ANALYSIS) or not (closed or (cut and _BARE_CUT.match(start))):
        return None
    return answer.lstrip(), _joined(_BARE_NEXT.split(before.removeprefix(_BARE_ANALYSIS)))
