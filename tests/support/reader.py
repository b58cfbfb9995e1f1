"""Scripted readers: they find what a `Writer` left in its texts, guess, or are of no use.

    reader = Reader()                       # reads every text of a Writer, and all known texts
    reader = Reader(able=lambda text: 0)    # guesses

What a Writer's text shows is there as a code (`trace`) of the statement that is true. A reader that finds no code
guesses: by a hash of what it is asked, so that the same question has the same answer.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Callable
from functools import cache

from bowstring.benchmarks.cupid.compatibility import known_pairs
from bowstring.benchmarks.hicupid.known import KNOWN
from bowstring.synthesis.reader import Choice

PAIR_MARK = "Could a single response fulfil both wishes completely?"
MARKS = ("Exactly one of the statements at the end is true", "Does anybody in the conversation put it into words")
_OPTION = re.compile(r"^([A-Z])\. (.+)$", re.MULTILINE)


def trace(fact: str) -> str:
    """The code that a text has if it shows this."""
    return "ref" + hashlib.sha256(" ".join(fact.lower().split()).encode()).hexdigest()[:10]


def facts_in(option: str) -> list[str]:
    """The statements of an option, in the form that a Writer traces."""
    found = re.findall(r"This person (.+?)\.(?: |$)", option)
    found += [f"{name} {value}" for name, value in re.findall(r"^Their (.+?) is (.+)\.$", option)]
    for described in re.findall(r"About them: (.+)\.$", option):
        found += [part.replace(": ", " ", 1) for part in described.split("; ")]
    return found


@cache
def known_answers() -> dict[tuple[str, ...], str]:
    """The right option of every known text, by text and options."""
    found = {}

    def about(text, right, wrong):
        found[text, *sorted((right, *wrong))] = right
        return Choice(lambda options: None, right, tuple(wrong))

    def states(text, fact, *, stated):
        found[text, fact] = "Yes" if stated else "No"
        return Choice(lambda options: None, "", ("",))

    for build in KNOWN.values():
        build(about, states)
    return found


class Reader:
    def __init__(self, able: Callable[[str], float] = lambda text: 1.0, answer: Callable[[list], str] | None = None):
        """`able`: the share of texts that it reads, by kind (fact, stated). `answer`, if given, is used for all."""
        self.able = able
        self.answer_all = answer
        self.asked: Counter[str] = Counter()

    def answer(self, prompt: str) -> str:
        text = re.search(r"<<<(.*?)>>>", prompt, re.DOTALL)[1]
        options = _OPTION.findall(prompt.rsplit(">>>", 1)[1])
        kind = "stated" if MARKS[1] in prompt else "fact"
        self.asked[kind] += 1
        if self.answer_all is not None:
            return self.answer_all(options)
        draw = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4], "big")
        guess = options[draw % len(options)][0]
        if (draw >> 8) % 1000 >= 1000 * self.able(kind):
            return guess
        right = self._stated(text, prompt) if kind == "stated" else self._shown(text, options)
        return next((letter for letter, said in options if right and said.startswith(right)), guess)

    def compare(self, prompt: str) -> str:
        """Whether two wishes exclude each other: as known, or as the writer's changed preferences do."""
        first, second = re.findall(r"wish: <<<(.*?)>>>", prompt)
        options = _OPTION.findall(prompt.rsplit(">>>", 1)[1])
        self.asked["pair"] += 1
        if self.answer_all is not None:
            return self.answer_all(options)
        draw = int.from_bytes(hashlib.sha256(prompt.encode()).digest()[:4], "big")
        if (draw >> 8) % 1000 >= 1000 * self.able("pair"):
            return options[draw % len(options)][0]
        known = {frozenset((one.says, other.says)): excludes for one, other, excludes in known_pairs()}
        excludes = known.get(frozenset((first, second)), "also" not in first + second)
        return next(letter for letter, said in options if said.startswith("No" if excludes else "Yes"))

    def _stated(self, text: str, prompt: str) -> str:
        fact = re.search(r"This is true of the user: (This person .+?\.) Does", prompt)[1]
        known = known_answers().get((text, fact))
        return known or ("Yes" if re.search(r"\bI (absolutely )?adore|Nothing in the world beats", text) else "No")

    def _shown(self, text: str, options: list[tuple[str, str]]) -> str | None:
        known = known_answers().get((text, *sorted(said for _, said in options)))
        if known is not None:
            return known
        event = [said for _, said in options if (m := re.search(r"they have: (.+)\.$", said)) and m[1] in text]
        if event:
            return event[0]
        counts = {said: sum(trace(fact) in text for fact in facts_in(said)) for _, said in options}
        best = max(counts, key=counts.__getitem__)
        return best if list(counts.values()).count(counts[best]) == 1 else None
