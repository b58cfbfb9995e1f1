"""The builtin judge: it compares words, needs no model and is not a real judge.

It lets a whole evaluation run offline, as a smoke test that measures nothing. It writes the same verdict lines as real
judges, so that the same code parses them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

NAME = "builtin"
WARNING = "judged by builtin, which compares words: a smoke test, not a measurement"

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

_TURNED_DOWN = re.compile(
    r"\b(avoid\w*|without|rather than|instead of|skip\w*|not|never|no|free|dislik\w*|leav\w+|steer\w*|clear of"
    r"|other than|away from)\b|n't\b",
    re.IGNORECASE,
)


def pairwise(answer: str, personalized: str, general: str, *, answer_is: str) -> str:
    """Return a tie if the answer's words are as close to the personalized answer as a genuine answer can be; else a
    loss."""
    near, far = _overlap(answer, personalized), _overlap(answer, general)
    other = "B" if answer_is == "A" else "A"
    choice = "Tie" if near >= 0.2 and near > far else other
    return (
        f"1. Personalization: {near:.0%} of the words of the personalized answer, {far:.0%} of the general one.\n"
        f"2. Logical Validity: not looked at.\nBetter Response: {choice}"
    )


def satisfaction(answer: str, event: str) -> str:
    # Compare word prefixes, so that 'fitting' matches 'fitted'.
    named = {w[:5] for w in _content(event)} & {w[:5] for w in _content(answer)}
    caught = bool(named) and bool(_CLASH.search(answer))
    return f"1. Conflict: {'named' if caught else 'not named'}.\nSatisfaction: {'YES' if caught else 'NO'}"


def correctness(answer: str, gold: str) -> str:
    """Return YES if most content words of the gold answer are in the answer."""
    wanted = _content(gold)
    share = len(wanted & _content(answer)) / len(wanted) if wanted else 0.0
    return f"1. Words of the gold answer: {share:.0%}.\nCorrect: {'YES' if share >= 0.6 else 'NO'}"


def dragged_in(answer: str, entities: Sequence[str]) -> str:
    """Return YES if the answer names an entity that is irrelevant to the question."""
    found = _content(answer)
    named = [entity for entity in entities if (own := _content(entity)) and own <= found]
    return f"1. Bearing: {len(named)} named.\nDragged In: {'YES' if named else 'NO'}"


def dislike(answer: str, entity: str) -> str:
    """Return whether the entity is named near a rejecting word, only named, or absent."""
    own = _content(entity)
    sentences = [s for s in re.split(r"(?<=[.!?;])\s+", answer) if own and own <= _content(s)]
    turned_down = all(_TURNED_DOWN.search(s) for s in sentences)
    kind = "OMITTED" if not sentences else "RESPECTED" if turned_down else "MENTIONED"
    return f"1. Dislike named: {len(sentences)} times.\nDislike: {kind}"


def _content(text: str) -> set[str]:
    return {w for w in _WORDS.findall(text.lower()) if w not in _STOP}


def _overlap(a: str, b: str) -> float:
    """Return the F1 of the content words of two texts."""
    first, second = _content(a), _content(b)
    both = len(first & second)
    return 2 * both / (len(first) + len(second)) if both else 0.0


def decomposition(preference: str) -> str:
    """Return a checklist of the preference's clauses."""
    clauses = [c.strip(" .") for c in re.split(r",| and |;", preference) if _content(c)]
    return json.dumps({"checklist": [f"Does it follow: {c}?" for c in clauses[:4]] or [preference]})


def matching(items: Sequence[str], preference: str) -> str:
    wanted = _content(preference)
    labels = []
    for n, item in enumerate(items, 1):
        own = _content(item) - {"response", "message", "follow"}
        share = len(own & wanted) / len(own) if own else 0.0
        label = "Fully Covered" if share >= 0.6 else "Partially Covered" if share >= 0.3 else "Not Covered"
        labels.append({"index": n, "entry": item, "label": label})
    return json.dumps({"results": labels})


def rating(answer: str, checklist: Sequence[str]) -> str:
    asked = set().union(*(_content(item) for item in checklist))
    share = len(asked & _content(answer)) / len(asked) if asked else 0.0
    notes = f"words of the checklist in the answer: {share:.0%}"
    return f"### Evaluation\n{notes}\n### Evaluation Score\n{1 + round(9 * share)}"


def error_category(inferred: str, preferences: Sequence[str]) -> str:
    nearest = max((_overlap(inferred, p) for p in preferences), default=0.0)
    kind = "other context" if nearest >= 0.3 else "vague" if len(_content(inferred)) < 6 else "shallow"
    return f"By words alone.\nCategory: {kind}"
