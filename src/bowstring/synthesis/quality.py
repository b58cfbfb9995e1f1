"""Quality checks of model-written text for a data set: found by rule, named, and counted.

Each check returns a flaw (the name it is counted under, and the text that showed it) or None. Checks look at words, not
at meaning: they are strict where words are conclusive, and silent otherwise.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bowstring.datasets.personal import find_personal_data
from bowstring.history.bm25 import FUNCTION_WORDS, singular, words

_SAME = 0.8  # share of words in common from which two texts count as the same
_ADDED = 6  # words that an answer may add to another and still count as the same
_LEAKED = 0.5  # share of a preference's words in a request that should not mention it
_QUOTED = 0.8  # share of a checklist item's words in a message that should only hint at it
_NAMED = 0.5  # share of an entity's words in a question that should not name it
_MOST_SENTENCES = 6
_IRREGULAR = {"has": "have", "is": "am", "does": "do", "goes": "go", "was": "was"}
_SHORT_FORMS = {"i m": "i am", "i ve": "i have", "you re": "you are", "you ve": "you have", "don t": "do not"}
# Words that many entities have in common and that identify none of them.
_COMMON = frozenset(
    words(
        "food music film movie book game art sport car style class club thing kind type old new modern classic home "
        "local free video model people work day night time group programme project course"
    )
)


class Flaw(NamedTuple):
    kind: str
    seen: str


def leaks_preference(request: str, preference: str, allowed: str = "") -> Flaw | None:
    """Check whether a request reveals the preference; words of the context (`allowed`) may be used."""
    wanted = content_words(preference) - content_words(allowed)
    share = len(wanted & content_words(request)) / len(wanted) if wanted else 0.0
    least = _LEAKED if len(wanted) > 2 else 1.0
    return Flaw("the request leaks the preference", request[:120]) if wanted and share >= least else None


def quotes_checklist(message: str, checklist: Iterable[str]) -> Flaw | None:
    """Check whether feedback states an item instead of hinting at it."""
    said = content_words(message)
    for item in checklist:
        wanted = content_words(item) - {"response", "answer", "message", "text"}
        if len(wanted) > 2 and len(wanted & said) / len(wanted) >= _QUOTED:
            return Flaw("the feedback states the checklist", message[:120])
    return None


def states_persona(said: Iterable[str], answered: Iterable[str], relation: str, entity: str) -> Flaw | None:
    """Check whether the user states the persona about themselves, or the assistant states it about them."""
    thing = r"(?:the |my |a |an |some )?" + re.escape(" ".join(words(entity)))
    verb = re.escape(_spoken(relation))
    of_me = rf"\bi (?:\w+ ){{0,2}}?{verb}(?:d|ed)? {thing}\b|\b(?:my favou?rite .{{0,40}}|fan of ){thing}\b"
    of_you = rf"\byou (?:\w+ ){{0,2}}?{re.sub('^am ', 'are ', verb)}(?:d|ed)? {thing}\b"
    for pattern, texts in ((of_me, said), (of_you, answered)):
        for text in texts:
            if re.search(pattern, _spoken_out(text)):
                return Flaw("the dialogue states the persona", text[:120])
    return None


def _spoken(relation: str) -> str:
    """Return a relation in the first person: 'likes' is 'like', 'has not been to' is 'have not been to'."""
    first, *rest = words(relation) or [""]
    if first in _IRREGULAR:
        first = _IRREGULAR[first]
    elif first.endswith("ies"):
        first = first[:-3] + "y"
    elif re.search(r"(?:ch|sh|ss|x|z|o)es$", first):
        first = first[:-2]
    elif first.endswith("s") and not first.endswith("ss"):
        first = first[:-1]
    return " ".join([first, *rest])


def _spoken_out(text: str) -> str:
    plain = " ".join(words(text))
    for short, full in _SHORT_FORMS.items():
        plain = re.sub(rf"\b{short}\b", full, plain)
    return plain


def gives_away(question: str, entity: str) -> Flaw | None:
    """Check whether a question names what its answer should come from, or half of it."""
    wanted = content_words(entity)
    telling = (wanted - _COMMON) or wanted
    named = len(telling & content_words(question)) / len(telling) if telling else 0.0
    return Flaw("the question gives its answer away", question[:120]) if named >= _NAMED else None


def repeats(question: str, others: Iterable[str]) -> Flaw | None:
    """Check whether a question is nearly identical to an earlier one."""
    own = content_words(question)
    for other in others:
        if _alike(own, content_words(other)) >= _SAME:
            return Flaw("the question repeats another", question[:120])
    return None


def indistinct(personalized: str, general: str) -> Flaw | None:
    """Check whether the personalized answer is the general one in almost the same words, or only adds a preface."""
    own, other = content_words(personalized), content_words(general)
    wrapped = len(own & other) >= 0.95 * len(other) and len(own - other) <= _ADDED and len(other) > _ADDED
    same = _alike(own, other) >= _SAME or wrapped
    return Flaw("the personalized answer reads like the general one", personalized[:120]) if same else None


def too_long(reply: str) -> Flaw | None:
    """Check whether an assistant limited to six sentences wrote clearly more."""
    sentences = [s for s in re.split(r"[.!?]+(?:\s|$)|\n+", reply) if len(s.split()) > 2]
    return Flaw("the reply is longer than six sentences", reply[:120]) if len(sentences) > 2 * _MOST_SENTENCES else None


def content_words(text: str) -> set[str]:
    """Return the content words, in the singular."""
    return {singular(word) for word in words(text) if word not in FUNCTION_WORDS and not word.isdigit()}


def contains_personal_data(texts: Iterable[str]) -> Flaw | None:
    """Check for text that looks like real personal information."""
    for text in texts:
        for kind, found in find_personal_data(text):
            return Flaw("personal information", f"{kind}: {found[:60]}")
    return None


def first_flaw(*flaws: Flaw | None) -> Flaw | None:
    return next((flaw for flaw in flaws if flaw is not None), None)


def _alike(a: set[str], b: set[str]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0


@dataclass(slots=True)
class Quality:
    """Counts of what was found while a set was generated."""

    made: Counter[str] = field(default_factory=Counter)
    invalid: Counter[str] = field(default_factory=Counter)  # answers that could not be parsed, by what was requested
    repaired: Counter[str] = field(default_factory=Counter)
    flaws: Counter[str] = field(default_factory=Counter)
    dropped: list[dict[str, str]] = field(default_factory=list)

    def drop(self, what: str, key: str, reason: str) -> None:
        self.dropped.append({"what": what, "key": key, "reason": reason})

    def as_json(self) -> dict[str, Any]:
        counts = {name: dict(sorted(getattr(self, name).items())) for name in ("made", "invalid", "repaired", "flaws")}
        dropped = sorted(self.dropped, key=lambda d: (d["what"], d["key"]))
        return counts | {"dropped": dropped, "dropped_by_reason": dict(Counter(d["reason"] for d in dropped))}

    def lines(self) -> Sequence[str]:
        """Return the report as sentences."""
        said = [f"made: {_listed(self.made)}"]
        if self.invalid:
            said.append(f"could not be parsed and were requested again: {_listed(self.invalid)}")
        if self.repaired:
            said.append(f"repaired by the model itself: {_listed(self.repaired)}")
        said.append(f"flaws found: {_listed(self.flaws)}" if self.flaws else "no flaws found")
        if self.dropped:
            reasons = Counter(f"{d['what']}: {d['reason']}" for d in self.dropped)
            said.append(f"dropped: {_listed(reasons)}")
        return said


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "nothing"
