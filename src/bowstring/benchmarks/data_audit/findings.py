"""Findings of a data audit: a number with its chance level, interval and verdict, and a line for runs on the set."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bowstring.benchmarks.data_audit.guessing import Guess
from bowstring.benchmarks.findings import (
    Assessment,
    Finding,
    at_most,
    clusters_to_decide,
    make_finding,
    near,
    rate_of,
    with_meaning,
)
from bowstring.benchmarks.interface import Noun
from bowstring.metrics.clusters import Score
from bowstring.metrics.intervals import Estimate

ROOM = 5.0  # points above chance that are not a leak


@dataclass(frozen=True, slots=True)
class DataFinding:
    """A finding; `chance` is None where there is nothing to guess. `leak` is what a run on the set says if it is a
    problem; empty if it says nothing."""

    finding: Finding
    chance: float | None = None
    leak: str = ""

    def as_json(self) -> dict[str, Any]:
        return self.finding.as_json() | {"chance": self.chance, "leak": self.leak}


@dataclass(frozen=True, slots=True)
class Words:
    """What a finding says if it is fine, and if it is a problem; `whether` for unclear ones; `leak` for runs."""

    fine: str
    problem: str
    whether: str
    leak: str


def guessed(
    check: str,
    name: str,
    guess: Guess | None,
    words: Words,
    cluster: Noun,
    *,
    room: float = ROOM,
    floor: float | None = None,
) -> DataFinding:
    """Whether something is guessed no more often than by chance, or than a stated `floor`."""
    if guess is None:
        return undefined(check, name, "There is nothing to guess, or it is all of one user or one kind.")
    level = guess.chance if floor is None else floor
    limit = min(100.0, level + room)
    by = "chance" if floor is None else "by design"
    found = make_finding(
        check,
        name,
        guess.found,
        f"at most {limit:.1f} ({level:.1f} {by})",
        lambda e: with_meaning(at_most(limit, e, ideal=level), words.fine, words.problem, whether=words.whether),
        cluster=cluster,
    )
    if found.verdict == "fine" and guess.found.high - guess.found.low > 2 * room:
        # With few texts, classifiers guess worse than chance on texts that they have not seen: that proves nothing.
        too_few = f"Too few {cluster.many} to tell whether {words.whether}."
        needed = clusters_to_decide(guess.found, 2 * room)
        found = replace(found, verdict="unclear", meaning=too_few, needed=needed)
    return DataFinding(found, guess.chance, f"{words.leak} ({guess.found.value:.0f}%, chance {guess.chance:.0f}%)")


def told(check: str, name: str, guess: Guess | None, meaning: str, cluster: Noun) -> DataFinding:
    """A guess without a limit, for information."""
    if guess is None:
        return undefined(check, name, "There is nothing to guess, or it is all of one user or one kind.")
    return DataFinding(make_finding(check, name, guess.found, "", lambda e: meaning, cluster=cluster), guess.chance)


def share(
    check: str, name: str, hits: Sequence[tuple[str, bool]], most: float, words: Words, cluster: Noun
) -> DataFinding:
    """The share of texts or items of which something is true, in percent, against a limit."""
    found = rate_of([Score(user, float(hit)) for user, hit in hits])
    if found is None:
        return undefined(check, name, "There is nothing to count.")

    def assess(e: Estimate) -> Assessment:
        return with_meaning(at_most(most, e), words.fine, words.problem, whether=words.whether)

    made = make_finding(check, name, found, f"at most {most:g}", assess, cluster=cluster)
    return DataFinding(made, None, f"{words.leak} ({found.value:.0f}%)")


def counted(check: str, name: str, hits: Sequence[tuple[str, bool]], meaning: str, cluster: Noun) -> DataFinding:
    """A share without a limit."""
    return placed(check, name, [Score(user, float(hit)) for user, hit in hits], meaning, cluster)


def centred(
    check: str, name: str, scores: Sequence[Score], middle: float, room: float, words: Words, cluster: Noun
) -> DataFinding:
    """A mean of numbers from 0 to 1, in percent, that should be near the middle."""
    found = rate_of(scores)
    if found is None:
        return undefined(check, name, "There is nothing to count.")
    expected = f"{middle:g} ± {room:g}"
    made = make_finding(
        check,
        name,
        found,
        expected,
        lambda e: with_meaning(near(middle, room, e), words.fine, words.problem, whether=words.whether),
        cluster=cluster,
    )
    return DataFinding(made, middle, f"{words.leak} ({found.value:.0f}%)")


def placed(check: str, name: str, scores: Sequence[Score], meaning: str, cluster: Noun) -> DataFinding:
    """A mean of numbers from 0 to 1, in percent, without a limit."""
    found = rate_of(scores)
    if found is None:
        return undefined(check, name, "There is nothing to count.")
    return DataFinding(make_finding(check, name, found, "", lambda e: meaning, cluster=cluster))


def undefined(check: str, name: str, why: str) -> DataFinding:
    return DataFinding(Finding(check, name, None, None, None, 0, 0, False, "", "unclear", why))
