"""What the scores of a run are of: data set, revision, splits, how many of its items, protocol, judge.

metrics.json has this as the block `about`. Everything that shows a score names it with the functions below:

    mini/hicupid (bundled) · splits test_1 and test_2 together · 60 of 60 questions · protocol bowstring · judge builtin
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from bowstring.models.names import SERVED

# bundled: with Bowstring or a benchmark's package; synthetic: made by `bowstring synth`; curated: with `bowstring
# annotate`; published: by the benchmark's authors, by its name on the hub; unknown: the run's files do not say it.
Kind = Literal["bundled", "synthetic", "curated", "published", "hub", "folder", "file", "unknown"]
_KINDS: Mapping[Kind, str] = {
    "bundled": " (bundled)",
    "synthetic": " (synthetic)",
    "curated": " (curated)",
    "hub": " (hub)",
    "folder": " (local folder)",
    "file": " (local file)",
}
_COMMIT = 12  # characters of a commit that are shown
SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class Standing:
    """What a data set is to its benchmark: where it came from, and whether it is the benchmark's published test data
    (None: not known). `note` is what a reader of a score must know about that; empty if there is nothing to say."""

    name: str
    kind: Kind
    revision: str | None  # the commit that was read from the hub
    is_benchmark_data: bool | None
    note: str


class About(BaseModel):
    """The block `about` of metrics.json. Its keys are stable."""

    model_config = ConfigDict(strict=True, frozen=True)

    benchmark: str  # as text
    data: str
    kind: Kind
    revision: str | None  # the commit that was read from the hub
    splits: list[str]  # that have scored items; none if the data has no splits
    types: list[str] | None  # if only these were chosen
    n: int  # items
    of: int | None  # items that the set has in these splits and types
    items: str  # what they are, such as questions
    clusters_n: int
    clusters_of: int | None
    clusters: str  # such as users
    protocol: str | None
    judge: str | None
    matcher: str | None
    is_benchmark_data: bool | None  # whether it is published test data of the benchmark; None: not known
    whole: bool | None  # whether these are all items of these splits; None: not known
    note: str  # what a reader must know before comparing a score; empty if there is nothing to say
    shard: str | None = None  # which part of the run this is, such as 1/4, if it is one of several

    def as_json(self) -> dict[str, Any]:
        return self.model_dump()


def read_about(value: object) -> About | None:
    """The block of a metrics.json; None if there is none, as in runs of earlier versions, or if it is malformed."""
    try:
        return About.model_validate(value)
    except ValidationError:
        return None


def short_revision(revision: str | None) -> str:
    """A commit as it is shown; empty if there is none."""
    return (revision or "")[:_COMMIT]


def facts(about: About) -> dict[str, str]:
    """The parts of the sentence by what they are of, in order."""
    found = {"data set": about.data + _KINDS.get(about.kind, "")}
    if about.revision:
        found["revision"] = f"revision {short_revision(about.revision)}"
    if about.splits:
        many = len(about.splits) > 1
        found["split"] = f"splits {_joined(about.splits)} together" if many else f"split {about.splits[0]}"
    found["items"] = _items(about)
    if about.shard:
        found["shard"] = f"shard {about.shard}"
    if about.protocol:
        found["protocol"] = f"protocol {about.protocol}"
    found["judge"] = f"judge {_model(about.judge)}" if about.judge else "no judge"
    if about.matcher:
        found["matcher"] = f"matcher {_model(about.matcher)}"
    return found


def sentence(about: About) -> str:
    """What the scores are of, in one line."""
    return SEPARATOR.join(facts(about).values())


def captions(about: About) -> list[str]:
    """What the scores are of, and what a reader must know about that, for the text below a table."""
    return [f"{sentence(about)}.", *filter(None, [about.note])]


def columns(about: About) -> dict[str, str]:
    """What the scores are of, as columns of a table for programs."""
    found = {
        "data": about.data,
        "revision": about.revision,
        "splits": "+".join(about.splits),
        "types": "+".join(about.types or ()),
        "evaluated": about.n,
        "of": about.of,
        "shard": about.shard,
        "protocol": about.protocol,
        "judge": about.judge,
        "matcher": about.matcher,
        "is_benchmark_data": about.is_benchmark_data,
    }
    return {head: _cell(value) for head, value in found.items()}


def _cell(value: object) -> str:
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


@dataclass(frozen=True, slots=True)
class AboutSeveral:
    """What the scores of several runs are of: what they have in common, and what differs, by run."""

    common: str
    differing: Mapping[str, str]
    notes: Sequence[str]

    @property
    def lines(self) -> list[str]:
        """Everything but the notes, one sentence per line."""
        return [*filter(None, [self.common]), *(f"{name}: {said}" for name, said in self.differing.items())]

    @property
    def captions(self) -> list[str]:
        return [*(f"{line}." for line in self.lines), *self.notes]


def of_several(abouts: Mapping[str, About]) -> AboutSeveral:
    """Compare what the scores of several runs are of, by the names of the runs."""
    each = {name: facts(about) for name, about in abouts.items()}
    kinds = list(dict.fromkeys(kind for found in each.values() for kind in found))
    alike = [kind for kind in kinds if len({found.get(kind) for found in each.values()}) == 1]
    first = next(iter(each.values()), {})
    differing = {
        name: SEPARATOR.join(found.get(kind, f"no {kind}") for kind in kinds if kind not in alike)
        for name, found in each.items()
    }
    whose: dict[str, list[str]] = {}
    for name, about in abouts.items():
        if about.note:
            whose.setdefault(about.note, []).append(name)
    notes = [note if len(names) == len(abouts) else f"{'; '.join(names)}: {note}" for note, names in whose.items()]
    common = SEPARATOR.join(first[kind] for kind in alike)
    return AboutSeveral(common, differing if len(alike) < len(kinds) else {}, notes)


def _items(about: About) -> str:
    kinds = f"{_joined(about.types)} " if about.types else ""
    of = "" if about.of is None else f" of {about.of:,}"
    found = f"{about.n:,}{of} {kinds}{about.items}"
    fewer = about.clusters_of is not None and about.clusters_n < about.clusters_of
    return f"{found}, {about.clusters_n:,} of {about.clusters_of:,} {about.clusters}" if fewer else found


def _model(identity: str) -> str:
    """The identity of a model; a name that the user gave is marked as such."""
    given = identity.removeprefix(SERVED)
    return identity if given == identity else f"{given} (named with --served-as)"


def _joined(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
