"""HiCUPID data without a model: users from word banks, up to the published size. The same seed gives the same bytes.

A persona shows in what a user does, among things that other people do with other subjects, and is never stated. Users
come in pairs of twins with the same questions and opposite personas. Profile values change what is recommended. The
text is no substitute for text by a model or a person: use it for load tests and training experiments.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from bowstring.benchmarks.hicupid.answers import persona_asked, persona_draft, profile_asked, profile_draft
from bowstring.benchmarks.hicupid.appointments import appointment_truth, schedule_parts
from bowstring.benchmarks.hicupid.banks import DIMENSIONS, SIDES, Dimension, dimension
from bowstring.benchmarks.hicupid.conversations import cast, turns_of
from bowstring.benchmarks.hicupid.dealing import TwinAssignment, least_share, subjects_needed
from bowstring.benchmarks.hicupid.lives import Life, aspects_asked, other_value, profile_truth
from bowstring.benchmarks.hicupid.users import PersonaPart, Sizes, User, assemble_user
from bowstring.errors import UsageError


class OfflineHicupid:
    """Generates users one by one; each depends only on the settings, the seed and the user's number."""

    def __init__(self, sizes: Sizes, seed: int, no_clash: float = 0.0) -> None:
        self.sizes = sizes
        self.seed = seed
        self.no_clash = no_clash
        self.dimensions = [dimension(name) for name in DIMENSIONS[: sizes.dimensions]]
        available = min(len(d.subjects) for d in self.dimensions)
        needed = subjects_needed(sizes)
        if needed > available:
            raise UsageError(
                f"--users {sizes.users:,} --share {sizes.share} needs {needed:,} subjects per dimension, but the word "
                f"banks have {available}; expected --share {least_share(sizes, available)} or more"
            )
        self._assigned = TwinAssignment(sizes, seed, {d.name: list(d.subjects) for d in self.dimensions})

    def _rng(self, *what: object) -> random.Random:
        return random.Random("/".join(map(str, (self.seed, *what))))  # noqa: S311 - repeatable on purpose

    def users(self) -> Iterator[User]:
        return (self.user(number) for number in range(self.sizes.users))

    def user(self, number: int) -> User:
        rng, twins = self._rng("user", number), self._assigned.twins(number)
        shared = self._rng("twins", *twins)
        n = self.sizes.profile_questions
        aspects = aspects_asked(max(n, 1), shared)
        asked = dict(zip(sorted(shared.sample(range(len(self.dimensions)), n)), aspects, strict=False))
        temper = next((a for a in aspects if a not in ("time", "budget")), "company")
        life = Life(temper, rng)
        personas = [self._persona(number, of, life, asked.get(k), rng) for k, of in enumerate(self.dimensions)]
        return assemble_user(
            number,
            life.record,
            life.turns,
            personas,
            schedule_parts(self.sizes.schedules, self.no_clash, rng),
            unseen=number >= self.sizes.seen,
            rng=rng,
            split_rng=self._rng("splits", *twins),
        )

    def _persona(self, user: int, of: Dimension, life: Life, aspect: str | None, rng: random.Random) -> PersonaPart:
        subject, side = self._assigned.persona(user, of.name)
        shared = self._rng("question", *self._assigned.twins(user), of.name)
        draft = persona_draft(of, subject, shared)
        profile = profile_draft(of, subject, aspect, shared) if aspect else None
        used = [draft.alternative, draft.question, *([profile.alternative, profile.question] if profile else [])]
        members = cast(of, subject, side, self._assigned.dealt(user, of.name), used, rng)
        profile_question = None
        if profile and aspect:
            value = life.values[aspect]
            other = other_value(aspect, value, rng)
            profile_question = profile_asked(profile, members[0], rng.choice(members[1:]), value, other, rng)
        return PersonaPart(
            of.record(subject, side),
            turns_of(of, members, self.sizes.turns, rng),
            persona_asked(draft, members[0], rng.choice(members[1:])),
            profile_question,
        )


def truth_of(generator: OfflineHicupid) -> dict[str, Any]:
    """The ground truth for `--judge truth` and for readers of a set: everything that the answers are made from."""
    return {
        "made by": "bowstring synth hicupid --offline",
        "seed": generator.seed,
        "entities": {d.category: {name: list(cues) for name, cues in d.subjects.items()} for d in generator.dimensions},
        "alternatives": {d.category: list(d.alternatives) for d in generator.dimensions},
        "patterns": {
            d.category: {
                side: {"answers": [a[side] for a in d.answers], "plans": [p[side] for p in d.plans]} for side in SIDES
            }
            for d in generator.dimensions
        },
        "aspects": profile_truth(),
        **appointment_truth(),
    }
