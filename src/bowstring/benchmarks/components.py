"""The sources of variance of a run's main metrics, for metrics.json and in a sentence."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.interface import Noun
from bowstring.metrics.components import SOURCES, Components, Source, components_of
from bowstring.metrics.measures import MetricSet
from bowstring.records import item_and_answer
from bowstring.runs.runner import Record

_LITTLE = 0.01  # narrowing by less than this is not worth a word


def variance_of_metrics(
    metric_set: MetricSet, records: Sequence[Record], cluster_of: Callable[[Mapping[str, Any]], str]
) -> dict[str, Any]:
    """The sources of variance of the leading metric, or of one metric of each family that has one."""
    clustered = [(cluster_of(record), record) for record in records]
    found = {}
    for name in _chief_metrics(metric_set):
        components = components_of(metric_set.measures[name], clustered, item_and_answer)
        if components is not None:
            found[name] = components.as_json()
    return found


def _chief_metrics(metric_set: MetricSet) -> list[str]:
    chosen: dict[str, str] = {}
    for name in metric_set.leading or tuple(metric_set.measures)[:1]:
        chosen.setdefault(name.partition(".")[0], name)
    return [name for name in chosen.values() if name in metric_set.measures]


PERSONA = Noun("persona", "personas")
_OPTIONS: Mapping[Source, str] = {"answer": "--answers 2", "judgement": "--judgements 2"}


def variance_in_words(metric: str, found: Mapping[str, Any], cluster: Noun, item: Noun, group: Noun = PERSONA) -> str:
    """Where the variance of a metric comes from, and what would narrow its interval."""
    components = Components(found["variances"], found["shares"])
    names: dict[Source, str] = {
        "cluster": cluster.many,
        "group": group.many,
        "item": item.many,
        "answer": "the model's sampling",
        "judgement": "the judge's retest",
    }
    shares = components.shares
    parts = ", ".join(f"{names[source]} {shares[source]:.0%}" for source in SOURCES if source in shares)
    missing = [option for source, option in _OPTIONS.items() if source not in shares]
    inside = f" ({item.many} include what {' and '.join(missing)} would tell apart)" if missing else ""
    return f"Variance of {metric}: {parts}{inside}. {_advice(components, cluster, item)}"


def _advice(components: Components, cluster: Noun, item: Noun) -> str:
    """What twice as many of something would do: of users, and of what is cheaper than users."""
    more: dict[Source, str] = {"item": item.many, "answer": "answers", "judgement": "judgements"}
    narrower = {source: components.narrower_with_twice(source) for source in more if source in components.shares}
    helpful = [source for source in sorted(narrower, key=lambda s: -narrower[s]) if narrower[source] >= _LITTLE]
    useless = [more[source] for source in narrower if source not in helpful]
    said = f"Twice as many {cluster.many} would narrow the interval by {components.narrower_with_twice('cluster'):.0%}"
    if helpful:
        each = ", ".join(f"{more[source]} by {narrower[source]:.0%}" for source in helpful)
        said += f"; with the same {cluster.many}, twice as many {each}"
    return said + (f". More {' or '.join(useless)} would not help." if useless else ".")
