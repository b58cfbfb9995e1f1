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
from bowstring.synthesis.rates import Rates
from bowstring.synthesis.statements import states_attitude

_SAME = 0.8  # share of words in common from which two texts count as the same
_ADDED = 6  # words that an answer may add to another and still count as the same
_LEAKED = 0.5  # share of a preference's words in a request that should not mention it
_QUOTED = 0.8  # share of a checklist item's words in a message that should only hint at it
_NAMED = 0.5  # share of an entity's words in a question that should not name it
_MOST_SENTENCES = 6
REPEATED_ANSWER = "the general answer is that to another question"
STATED = "the dialogue states the persona"
# Words that many entities have in common and that identify none of them.
_COMMON = frozenset(
    words(
        "food music film movie book game art sport car style class club thing kind type old new modern classic home "
        "local free video model people work day night time group programme project course"
    )
)
# Words without a meaning of their own in a wish: 'not', 'more', 'before' and numbers have one.
_EMPTY = frozenset(
    words("a an the is are be been being must should shall will would please always that which this it its")
)


class Flaw(NamedTuple):
    kind: str
    seen: str


def leaks_preference(text: str, preference: str, allowed: str = "", *, what: str = "request") -> Flaw | None:
    """Check whether a text reveals the preference; words of the context (`allowed`) may be used."""
    wanted = content_words(preference) - content_words(allowed)
    share = len(wanted & content_words(text)) / len(wanted) if wanted else 0.0
    least = _LEAKED if len(wanted) > 2 else 1.0
    return Flaw(f"the {what} leaks the preference", text[:120]) if wanted and share >= least else None


def quotes_checklist(message: str, checklist: Iterable[str]) -> Flaw | None:
    """Check whether feedback states an item instead of hinting at it."""
    said = content_words(message)
    for item in checklist:
        wanted = content_words(item) - {"response", "answer", "message", "text"}
        if len(wanted) > 2 and len(wanted & said) / len(wanted) >= _QUOTED:
            return Flaw("the feedback states the checklist", message[:120])
    return None


def states_persona(said: Iterable[str], answered: Iterable[str], relation: str, entity: str) -> Flaw | None:
    """Check whether the user states the persona, or any attitude to its subject, about themselves, or the assistant
    about them."""
    for texts, who, whose in ((said, "i", "my"), (answered, "you", "your")):
        for text in texts:
            if states_attitude(text, who, whose, relation, entity):
                return Flaw(STATED, text[:120])
    return None


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


def repeats_answer(answer: str, others: Iterable[str]) -> Flaw | None:
    """Check whether a general answer was given to another question, in nearly the same words."""
    own = content_words(answer)
    again = any(_alike(own, content_words(other)) >= _SAME for other in others)
    return Flaw(REPEATED_ANSWER, answer[:120]) if again else None


def rewords(one: str, other: str) -> bool:
    """Check whether two wishes are one sentence, but for small words, endings and punctuation."""
    return _meant(one) == _meant(other)


def _meant(text: str) -> list[str]:
    plain = re.sub(r"\bcannot\b|n['\u2019]t\b", " not", text)
    return [singular(word) for word in words(plain) if word not in _EMPTY]


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
    cut: Counter[str] = field(default_factory=Counter)  # answers that ended at their token limit before
    repaired: Counter[str] = field(default_factory=Counter)
    flaws: Counter[str] = field(default_factory=Counter)
    dropped: list[dict[str, str]] = field(default_factory=list)
    rates: Rates = field(default_factory=Rates)

    def drop(self, what: str, key: str, reason: str) -> None:
        self.dropped.append({"what": what, "key": key, "reason": reason})

    def as_json(self) -> dict[str, Any]:
        counts = {name: dict(sorted(getattr(self, name).items())) for name in ("made", "invalid", "repaired", "flaws")}
        counts |= {"cut": dict(sorted(self.cut.items()))} if self.cut else {}
        dropped = sorted(self.dropped, key=lambda d: (d["what"], d["key"]))
        reasons = dict(sorted(Counter(d["reason"] for d in dropped).items()))
        return counts | {"dropped": dropped, "dropped_by_reason": reasons, "checks": self.rates.as_json()}

    def lines(self) -> Sequence[str]:
        """Return the report as sentences."""
        said = [f"made: {_listed(self.made)}"]
        if self.invalid:
            said.append(f"could not be parsed and were requested again: {_listed(self.invalid)}")
        if self.cut:
            said.append(
                f"were cut at their token limit and requested again: {_listed(self.cut)}; the limits are fixed, so use "
                "a model that thinks less, or turn its thinking off at its server"
            )
        if self.repaired:
            said.append(f"repaired by the model itself: {_listed(self.repaired)}")
        said.append(f"flaws found: {_listed(self.flaws)}" if self.flaws else "no flaws found")
        if self.dropped:
            reasons = Counter(f"{d['what']}: {d['reason']}" for d in self.dropped)
            said.append(f"dropped: {_listed(reasons)}")
        return [*said, *self.rates.lines()]


def _listed(counts: Counter[str]) -> str:
    return ", ".join(f"{n:,} {name}" for name, n in sorted(counts.items())) or "nothing"
