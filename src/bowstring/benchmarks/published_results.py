"""What a benchmark's paper reports, as data: `published_results.yaml` in the folder of the benchmark.

What the source does not state is null (None). It is not known, and never taken for equal.
"""

from __future__ import annotations

from importlib.resources.abc import Traversable

from pydantic import BaseModel, ConfigDict

from bowstring.files.safe_yaml import parse_safe_yaml

Known = str | int | float | None


class _Form(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class PublishedJudge(_Form):
    name: str | None
    marks: tuple[str, ...] = ()  # a judge with one of these in its name is the same by name


class Row(_Form):
    """The results of one model in one setting. The keys of `setting` are `split` and names of settings; `requests` are
    settings in which its requests differ from those of the published protocol."""

    model: str
    training: str | None
    setting: dict[str, Known]
    values: dict[str, float]
    requests: dict[str, Known] = {}


class Bound(_Form):
    """A value that no model exceeds."""

    of: str
    metric: str
    most: float
    setting: dict[str, Known]


class Change(_Form):
    """How much more a setting gives than another, from least to most."""

    of: str
    metric: str | None
    by: tuple[float, float]
    setting: dict[str, Known]
    against: dict[str, Known]


class Correlation(_Form):
    """A correlation of two tasks across models: no result of a single run."""

    of: str
    metrics: tuple[str, str]
    value: float


class PublishedResults(_Form):
    paper: str
    arxiv: str
    data: str  # the published set, on the hub
    items: dict[str, int]  # how many it has, by split; "" if it is published whole
    judges: dict[str, PublishedJudge]  # by role
    requests: dict[str, Known] = {}  # settings by the published protocol, where a default only stands for them
    without_effect: tuple[str, ...] = ()  # settings that the published protocol does not use
    unless_named: dict[str, Known] = {}  # values that a source would name if they were others
    rows: tuple[Row, ...]
    bounds: tuple[Bound, ...] = ()
    changes: tuple[Change, ...] = ()
    correlations: tuple[Correlation, ...] = ()


def read_published_results(path: Traversable) -> PublishedResults:
    return PublishedResults.model_validate(parse_safe_yaml(path.read_text(encoding="utf-8")))
