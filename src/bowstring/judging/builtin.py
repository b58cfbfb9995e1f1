"""The builtin judge: counts words, needs no model, and is no judge.

It exists so that a whole evaluation can run offline: it shows that everything works, and measures nothing. It
writes the verdict lines that real judges write, so that they are read by the same code.
"""

from __future__ import annotations

import re

NAME = "builtin"
WARNING = "judged by the builtin word counter: a smoke test, not a measurement"

_WORDS = re.compile(r"[^\W_]+")
_STOP = frozenset(
    _WORDS.findall(
        "a an and are as at be but by can could do does for from had has have how i if in is it its just like may "
        "me might my no not of on or our so some such than that the their them then there these they this to too try "
        "was we what when which while who will with would you your yours since given considering also"
    )
)
_CLASH = re.compile(
    r"\b(already|conflict\w*|clash\w*|collid\w*|overlap\w*|taken|busy|booked for|reschedul\w*|instead|another time"
    r"|at exactly that|right then|same time|how about|shall i|should i|would \w+ (?:work|suit|do)|free at|move)\b",
    re.IGNORECASE,
)


def pairwise(answer: str, personalized: str, general: str, *, answer_is: str) -> str:
    """A tie where the answer is as near to the personalized one as an answer of its own can be; else a loss."""
    near, far = _overlap(answer, personalized), _overlap(answer, general)
    other = "B" if answer_is == "A" else "A"
    choice = "Tie" if near >= 0.2 and near > far else other
    return (
        f"1. Personalization: {near:.0%} of the words of the personalized answer, {far:.0%} of the general one.\n"
        f"2. Logical Validity: not looked at.\nBetter Response: {choice}"
    )


def satisfaction(answer: str, event: str) -> str:
    # The first letters of a word, so that 'fitting' is named by 'fitted'.
    named = {w[:5] for w in _content(event)} & {w[:5] for w in _content(answer)}
    caught = bool(named) and bool(_CLASH.search(answer))
    return f"1. Conflict: {'named' if caught else 'not named'}.\nSatisfaction: {'YES' if caught else 'NO'}"


def _content(text: str) -> set[str]:
    return {w for w in _WORDS.findall(text.lower()) if w not in _STOP}


def _overlap(a: str, b: str) -> float:
    """F1 of the content words of two texts."""
    first, second = _content(a), _content(b)
    both = len(first & second)
    return 2 * both / (len(first) + len(second)) if both else 0.0
