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
        self._pools = self._pools_of_subjects()

    def _pools_of_subjects(self) -> dict[tuple[str, str, bool], list[str]]:
        """The subjects of all users, by seen or unseen, dimension and whether its profile question is asked.

        Other people's subjects are drawn from the users who are asked the same. If those for profile questions came
        from all users, a subject that happens to be asked about often would show by itself that it is the user's own.
        """
        found: dict[tuple[str, str, bool], list[str]] = {}
        for user in range(self.sizes.users):
            twins = self._assigned.twins(user)
            asked = self._aspects(twins)
            for k, of in enumerate(self.dimensions):
                key = twins[0], of.name, k in asked
                found.setdefault(key, []).append(self._assigned.persona(user, of.name)[0])
        return found

    def _aspects(self, twins: tuple[str, int]) -> dict[int, str]:
        """The aspect of each profile question of a pair of twins, by the number of its dimension."""
        shared = self._rng("twins", *twins)
        n = self.sizes.profile_questions
        aspects = aspects_asked(max(n, 1), shared)
        numbers = sorted(shared.sample(range(len(self.dimensions)), n))
        return dict(zip(numbers, aspects, strict=False))

    def _rng(self, *what: object) -> random.Random:
        return random.Random("/".join(map(str, (self.seed, *what))))  # noqa: S311 - repeatable on purpose

    def users(self) -> Iterator[User]:
        return (self.user(number) for number in range(self.sizes.users))

    def user(self, number: int) -> User:
        rng, twins = self._rng("user", number), self._assigned.twins(number)
        asked = self._aspects(twins)
        temper = next((a for a in asked.values() if a not in ("time", "budget")), "company")
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
        seen = self._assigned.twins(user)[0]
        pools = [self._pools.get((seen, of.name, asked), []) for asked in (aspect is not None, aspect is None)]
        members = cast(of, subject, side, pools, used, rng)
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
