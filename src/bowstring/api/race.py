"""A race of two models on a benchmark, for the command and the Python API.

race(NAME, model="openai/gpt-4o-mini", against="openai/gpt-4o", judge="openai/gpt-4o", until=0.05)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bowstring.api.evaluate import ModelLike, Watch, prepare
from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Benchmark
from bowstring.errors import UsageError
from bowstring.metrics.measures import MetricSet
from bowstring.models.names import has_several_servers
from bowstring.runs.codec import SCHEMA
from bowstring.runs.folder import RunFolder
from bowstring.runs.race import Race, RaceOutcome
from bowstring.runs.runner import Record
from bowstring.runs.running import Run, Running
from bowstring.runs.served_as import role_and_name

NAME = "race.json"
LEVEL = 0.05


@dataclass(frozen=True, slots=True)
class RaceResult:
    """A race that has ended: its outcome, and both runs on the users that were needed (None if no user was done)."""

    metric: str
    higher_is_better: bool
    names: tuple[str, str]
    outcome: RaceOutcome
    runs: tuple[Run, Run] | None

    @property
    def better(self) -> str | None:
        """The model that is shown to be better; None if neither is."""
        second = (self.outcome.value > 0) == self.higher_is_better
        return self.names[second] if self.outcome.established else None

    def as_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "metric": self.metric,
            "higher_is_better": self.higher_is_better,
            "model": self.names[0],
            "against": self.names[1],
            "better": self.better,
            **self.outcome.as_json(),
            "runs": [str(run.folder) for run in self.runs or ()],
        }


@dataclass(slots=True)
class PreparedRace:
    """A race that is ready to run: everything is checked, and no request has been sent."""

    benchmark: Benchmark
    race: Race
    difference: LeadDifference
    metric_set: MetricSet
    given: Mapping[str, Any]  # for the runs that are written at the end

    @property
    def sides(self) -> tuple[Running, Running]:
        return self.race.first, self.race.second

    def run(self) -> RaceResult:
        """Run until the difference is established or all users are done; then write both runs, from the store."""
        names = self._names()
        outcome = self.race.run()
        runs = self._write(outcome) if outcome.users else None
        metric = self.difference.metric or next(iter(self.metric_set.leading or self.metric_set.measures))
        result = RaceResult(metric, self.metric_set.measures[metric].higher_is_better, names, outcome, runs)
        if runs is not None:
            folder = RunFolder(runs[0].folder)
            try:
                folder.write_json(NAME, result.as_json())
            finally:
                folder.close()
        return result

    def _names(self) -> tuple[str, str]:
        first, second = (str(side.evaluations[0].configuration["model"]) for side in self.sides)
        return first, second

    def _write(self, outcome: RaceOutcome) -> tuple[Run, Run]:
        names = self._names()
        found = []
        for n, side in enumerate(("model", "against")):
            running = prepare(self.benchmark.name, **_side(self.given, side), users=outcome.users)
            running.fresh_since = self.sides[n].fresh_since  # what the race has asked is not asked again
            if outcome.established:
                running.notes = (
                    *running.notes,
                    f"stopped after {outcome.users} of {outcome.of_users} users, in a race with {names[1 - n]}: "
                    "intervals and tests that assume a fixed number of users are too certain",
                )
            found.append(running.run()[0])
        return found[0], found[1]


def prepare_race(
    benchmark: str,
    *,
    until: float = LEVEL,
    watch: Watch = lambda snapshot: None,
    **given: Any,
) -> PreparedRace:
    """Check all settings of both runs before any request is sent."""
    if not 0 < until < 0.5:
        raise UsageError(f"--until {until:g}: expected the share of errors that is allowed, such as 0.05")
    if given.get("against") is None:
        raise UsageError("--until needs --against NAME: the model to compare with")
    if given.get("shard"):
        raise UsageError(
            "--shard: a race cannot be divided, because after every user it decides whether to ask the next one; leave "
            "out --shard or --against"
        )
    if given.get("no_ask"):
        raise UsageError("--no-ask: a race asks until the difference is clear; leave out --no-ask or --against")
    for name in ("limit", "out", "batch"):
        if given.get(name):
            raise UsageError(f"--{name} and --until exclude each other")
    first, second = (prepare(benchmark, **_side(given, side)) for side in ("model", "against"))
    if not first.models:
        raise UsageError("--until needs models; a retrieval-only run has none")
    if first.models["model"].identity == second.models["model"].identity:
        raise UsageError(f"--against {second.models['model'].name}: this is the model itself")
    found = registry.get(benchmark)
    metric_set = found.metrics(first.evaluations[0].configuration)
    difference = LeadDifference(metric_set)
    race = Race(first, second, until, difference, watch)
    again = {name: value for name, value in given.items() if name not in ("users", "tell")}
    return PreparedRace(found, race, difference, metric_set, again)


def race(
    benchmark: str,
    *,
    model: ModelLike,
    against: ModelLike,
    until: float = LEVEL,
    watch: Watch = lambda snapshot: None,
    **settings: Any,
) -> RaceResult:
    """Compare two models user by user until the difference is established, as `bowstring eval --against` does."""
    return prepare_race(benchmark, model=model, against=against, until=until, watch=watch, **settings).run()


def _side(given: Mapping[str, Any], side: str) -> dict[str, Any]:
    """The settings of the run of one of the two models. Each has its own name in --served-as: NAME or against=NAME."""
    model, named = given.get(side), given.get("served_as") or ()
    pairs = [role_and_name(str(one)) for one in ((named,) if isinstance(named, str) else named)]
    other = "against" if side == "model" else "model"
    served = [f"{'model' if role == side else role}={name}" for role, name in pairs if role != other]
    if isinstance(model, str) and has_several_servers(model) and side not in {role for role, _ in pairs}:
        role = "" if side == "model" else f"{side}="
        raise UsageError(f"--{side}: several servers need a name for the model that they serve: --served-as {role}NAME")
    return {name: value for name, value in given.items() if name != "against"} | {"model": model, "served_as": served}


class LeadDifference:
    """The second model's score minus the first's, for one user: in the leading metric whose parts the first user's
    items have. An item without a score counts at the worst: failing must not pay."""

    def __init__(self, metric_set: MetricSet) -> None:
        self._measures = metric_set.measures
        self._leading = metric_set.leading or tuple(metric_set.measures)
        self.metric: str | None = None
        self.span = 1.0

    def __call__(self, first: Sequence[Record], second: Sequence[Record]) -> float | None:
        """None if the user lacks a part of the metric."""
        if self.metric is None:
            has = (name for name in self._leading if self._measures[name].is_whole([*first, *second]))
            self.metric = next(has, None)
            if self.metric is not None:
                low, high = self._measures[self.metric].scale.limits
                self.span = high - low
        if self.metric is None:
            return None
        measure = self._measures[self.metric]
        before, after = (measure.value_with_failures(own) for own in (first, second))
        return None if before is None or after is None else after - before
