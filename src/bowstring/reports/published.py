"""Published results beside those of a run, as a table and lines; for terminals, pages and tables alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bowstring.benchmarks.of_run import benchmark_of, metrics_of
from bowstring.benchmarks.published_rows import NAME, NOT_KNOWN, in_words
from bowstring.benchmarks.standing import about_of
from bowstring.metrics.measures import MetricSet
from bowstring.reports.tables import Table
from bowstring.runs.about import captions, columns

DIFFERING = "What differs, or is not known to be equal:"
KNOWN = "Settings with published results:"
NO_OTHERS = "Bowstring knows no other published results of {}."


@dataclass(frozen=True, slots=True)
class Section:
    """The published results of one setting: the run's own come first. Without rows there are only lines."""

    title: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    differing: Sequence[str] = ()
    lines: Sequence[str] = ()


def published_sections(metrics: Mapping[str, Any]) -> list[Section]:
    """One section per split; none if the run is not as published, or nothing was published."""
    found = metrics.get(NAME)
    if not found:
        return []
    source = f"{found['paper']}, arXiv {found['arxiv']}"
    if found["left_out"]:
        return [Section(f"No published results are shown: {found['left_out']}.")]
    metric_set, items = metrics_of(metrics), benchmark_of(metrics).item.many
    sections = [_section(one, source, items, metric_set) for one in found["beside"]]
    all_shown = all(one["rows"] for one in found["beside"])
    if not all_shown:
        sections.append(Section(KNOWN, differing=found["known_settings"]))
    lines = [
        f"Across models, {one['of']} have a correlation of {' and '.join(one['metrics'])} of {one['value']}. That is "
        "not a result of one run."
        for one in found["correlations"]
    ]
    if all_shown:
        lines.append(_about_others(found))
    return [*sections, Section("", lines=lines)]


def _about_others(found: Mapping[str, Any]) -> str:
    """That no other results of these settings are known, and of which settings there are some."""
    beside = found["beside"]
    shown = {_named(row["setting"]) for one in beside for row in one["rows"]}
    # Earlier runs have no settings apart from their words.
    others = dict.fromkeys(_named(setting) for setting in found.get("settings", ()))
    named = "; ".join(setting for setting in others if setting not in shown)
    line = NO_OTHERS.format("this setting" if len(beside) == 1 else "these settings")
    return f"{line} It knows some of other settings: {named}." if named else line


def _named(setting: Mapping[str, Any]) -> str:
    """A setting without what is not known of it."""
    return ", ".join(f"{name} {value}" for name, value in setting.items() if value is not None)


def published_tables(metrics: Mapping[str, Any]) -> list[Table]:
    """The sections with rows as tables. What differs is named in every row, because a table may travel alone."""
    about, found = about_of(metrics), []
    yours = columns(about)
    sections, beside = published_sections(metrics), metrics.get(NAME, {}).get("beside", ())
    for section, one in zip(sections, beside, strict=False):
        if section.rows:
            differing = ", ".join(difference["what"] for difference in one["differences"])
            last = ["", "", *(_differing_in(row, differing) for row in one["rows"])]
            rows = [[*row, text] for row, text in zip(section.rows, last, strict=True)]
            notes = [
                section.title,
                *(f"Differs, or is not known to be equal: {said}" for said in section.differing),
                *section.lines,
            ]
            name = "-".join(filter(None, ("published", one["split"])))
            published = dict.fromkeys(yours, "") | {"data": metrics[NAME].get("data", ""), "protocol": "published"}
            of = [yours, yours, *([published] * (len(rows) - 2))]
            heads = [*section.columns, "differs, or not known"]
            clusters = benchmark_of(metrics).cluster.many
            found.append(Table(name, heads, rows, notes, clusters, captions(about), of))
    return found


def _differing_in(row: Mapping[str, Any], common: str) -> str:
    return ", ".join([common, *row["not_known"], *(one["what"] for one in row["differences"])])


def _section(one: Mapping[str, Any], source: str, items: str, metric_set: MetricSet) -> Section:
    setting, lines = in_words(one["setting"]), _other_results(one, metric_set)
    if not one["rows"]:
        return Section(f"No published result of {setting} is known. Source: {source}.", lines=lines)
    names = [name for name in one["values"] if any(name in row["values"] for row in one["rows"])]
    number, yours = metric_set.number, [one["values"][name] for name in names]
    whole = "" if one["of_items"] is None else f" of {one['of_items']:,}"
    rows = [[f"yours ({one['items']:,}{whole} {items})", *map(number, (e["value"] for e in yours), names)]]
    rows.append(["  95% interval", *(_interval(e, name, metric_set) for e, name in zip(yours, names, strict=True))])
    rows += [[_label(row), *(number(row["values"].get(name), name) for name in names)] for row in one["rows"]]
    differing = [_in_words(difference) for difference in one["differences"]]
    for row in one["rows"]:
        differing += [
            f"{row['model']} was asked with {what['what']} {what['published']}. Yours: {what['yours']}."
            for what in row["differences"]
        ]
    return Section(
        f"Published results of {setting}, as far as that is known. Source: {source}.",
        ["", *names],
        rows,
        differing,
        lines,
    )


def _interval(e: Mapping[str, Any], name: str, metric_set: MetricSet) -> str:
    low, high = (metric_set.number(e[end], name) for end in ("low", "high"))
    return f"{low} – {high}{'' if e['trusted'] else ' *'}"


def _label(row: Mapping[str, Any]) -> str:
    training = row["training"]
    trained = "" if training in (None, "none") else f", {training}"
    unknown = f" ({', '.join(row['not_known'])} {NOT_KNOWN})" if row["not_known"] else ""
    return f"{row['model']}{trained}{unknown}"


def _in_words(difference: Mapping[str, Any]) -> str:
    what, yours, published = (difference[name] for name in ("what", "yours", "published"))
    return f"{what[0].upper()}{what[1:]}. Yours: {yours}. Published: {published}."


def _other_results(one: Mapping[str, Any], metric_set: MetricSet) -> list[str]:
    """Results that are not of one model: bounds of several, and differences between settings."""
    lines: dict[str, list[str]] = {}
    for bound in one["bounds"]:
        most = metric_set.number(bound["most"], bound["metric"])
        lines.setdefault(bound["of"], []).append(f"{bound['metric']} at most {most}")
    found = [f"Also published, of {of}: {', '.join(said)}." for of, said in lines.items()]
    for change in one["changes"]:
        low, high = change["by"]
        by = f"{low:+g}" if low == high else f"{low:+g} to {high:+g}"
        metric = change["metric"] or f"metric {NOT_KNOWN}"
        against = in_words(change["against"])
        found.append(f"Also published, of {change['of']}: {by} points ({metric}) against {against}.")
    return found
