"""Questions about personas for the offline generator, with gold and general answers and the options for choosing.

All answers to a question come from one pattern, with the same suggestion. They differ only in subject, side and profile
value. Twins have the same question and pattern: the gold answer of one is a wrong option of the other.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.hicupid.banks import Dimension, people
from bowstring.benchmarks.hicupid.conversations import Member, other_side
from bowstring.benchmarks.hicupid.options import Option
from bowstring.benchmarks.hicupid.types import Sentiment
from bowstring.benchmarks.hicupid.users import QuestionDraft
from bowstring.benchmarks.hicupid.voices import first_names
from bowstring.synthesis.banks import fill
from bowstring.synthesis.quality import gives_away

_WITH_SOMEBODY = 0.4  # share of questions that end with a person
_AROUND = 0.85  # and up to this share, with an occasion; the others with a person and a time


@dataclass(frozen=True, slots=True)
class Draft:
    """What the answers to a question share: `line` by side, and for profile questions `phrases` by profile value."""

    question: str
    line: dict[Sentiment, str]
    alternative: str
    general: str
    aspect: str | None = None
    phrases: dict[str, str] | None = None  # of each value of the aspect
    frame: str = ""

    def answer(self, subject: str, side: Sentiment, value: str = "") -> str:
        line = fill(self.line[side], {"e": subject, "alt": self.alternative})
        if self.phrases is None:
            return line
        return fill(self.frame, {"v": self.phrases[value], "plan": self.line[side].replace("{e}", subject)})


def persona_draft(of: Dimension, subject: str, rng: random.Random) -> Draft:
    alternative = _alternative(of, subject, rng)
    general = fill(rng.choice(of.general), {"alt": alternative})
    return Draft(f"{_stem(of, subject, rng)} {_tail(rng)}?", rng.choice(of.answers), alternative, general)


def profile_draft(of: Dimension, subject: str, aspect: str, rng: random.Random) -> Draft:
    bank: dict[str, Any] = people()["aspects"][aspect]
    when = rng.choice(people()["soon"])
    question = f"{_stem(of, subject, rng)} {when}, {rng.choice(bank['asks'])}?"
    alternative = _alternative(of, subject, rng)
    general = fill(rng.choice(of.general), {"alt": alternative})
    phrases = {value: rng.choice(texts) for value, texts in bank["values"].items()}
    frame = rng.choice(people()["frames"])
    return Draft(question, rng.choice(of.plans), alternative, general, aspect, phrases, frame)


def persona_asked(draft: Draft, own: Member, other: Member) -> QuestionDraft:
    """A persona question of a user whose dialogue has these two subjects."""
    opposite = other_side(own.side)
    options = (
        Option(draft.answer(own.subject, own.side), "gold"),
        Option(draft.answer(own.subject, opposite), "wrong_side"),
        Option(draft.answer(other.subject, own.side), "wrong_person"),
        Option(draft.answer(other.subject, opposite), "wrong_both"),
        Option(draft.general, "general"),
    )
    return QuestionDraft(draft.question, options[0].text, draft.general, options)


def profile_asked(
    draft: Draft, own: Member, other: Member, value: str, other_value: str, rng: random.Random
) -> QuestionDraft:
    """A profile question; the other persona differs in subject, in side or in both."""
    opposite = other_side(own.side)
    subject, side = rng.choice(((own.subject, opposite), (other.subject, own.side), (other.subject, opposite)))
    options = (
        Option(draft.answer(own.subject, own.side, value), "gold"),
        Option(draft.answer(own.subject, own.side, other_value), "wrong_profile"),
        Option(draft.answer(subject, side, value), "wrong_persona"),
        Option(draft.answer(subject, side, other_value), "wrong_both"),
        Option(draft.general, "general"),
    )
    return QuestionDraft(draft.question, options[0].text, draft.general, options)


def _alternative(of: Dimension, subject: str, rng: random.Random) -> str:
    return rng.choice([a for a in of.alternatives if not of.telling_words(a) & of.telling_words(subject)])


def _stem(of: Dimension, subject: str, rng: random.Random) -> str:
    return rng.choice([stem for stem in of.questions if gives_away(stem, subject) is None])


def _tail(rng: random.Random) -> str:
    """The end of a question: it makes questions differ and does not change their answers."""
    bank, name = people(), rng.choice(first_names())
    draw = rng.random()
    if draw < _WITH_SOMEBODY:
        return f"with {name}"
    if draw < _AROUND:
        return f"{rng.choice(bank['around'])} {name}'s {rng.choice(bank['occasions'])}"
    return f"with {name} {rng.choice(bank['soon'])}"
