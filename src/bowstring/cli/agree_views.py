"""The terminal output of `bowstring agree`: raters, their agreement, and people's preferences.

With many raters it is a summary: the judges, and the people who agree least with the others. `--json` has everything.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from statistics import median
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Noun
from bowstring.cli.agree_judge_views import print_judges
from bowstring.cli.agree_preference_views import print_personal_preference, print_run_preference
from bowstring.cli.agree_tables import FEW, indented, make_table, name_cell, range_in_words, size, with_interval
from bowstring.cli.output import counted, plain
from bowstring.datasets.problems import join_choices
from bowstring.datasets.ratings import left_out_in_words

_LABELS_SHOWN = 10
_LOWEST_SHOWN = 5
_ROOM = 60  # characters of a text that reminds of an item
_SHARED = 10  # a pair with fewer shared items says little: not part of the summary of pairs


def print_agreement(found: Mapping[str, Any], to: Console) -> None:
    for task, agreed in found["tasks"].items():
        left_out = [one for one in found["left_out"] if one["task"] == task]
        _print_task(task, agreed, left_out, to)
    others = [one for one in found["left_out"] if one["task"] not in found["tasks"]]
    if others:
        to.print(f"left out: {plain(_reasons(others))}", markup=False)
    if "personal" in found:
        print_personal_preference(found["personal"], to)
    if _untrusted(found):
        units = list(dict.fromkeys(unit for task, agreed in found["tasks"].items() for unit in _units(task, agreed)))
        to.print(f"? fewer than 30 {join_choices(units)}: do not trust the interval", style="dim", markup=False)


def _print_task(task: str, agreed: Mapping[str, Any], left_out: Sequence[Mapping[str, Any]], to: Console) -> None:
    meaning = f": {known}" if (known := _meanings().get(task)) else ""
    if "sides" in agreed:
        meaning = f": win, tie or lose, from the side of {agreed['sides'][0]}"
    to.print(Text(plain(f"{task}{meaning}"), style="bold"))
    few = len(agreed["raters"]) <= FEW
    numbers = {name: f"{n}" for n, name in enumerate(agreed["raters"] if few else agreed["judges"][:FEW], 1)}
    if few:
        to.print(_raters(agreed, numbers, left_out))
    else:
        _print_many_raters(agreed, numbers, left_out, to)
    to.print(f"{counted(agreed['items'], 'item')}, {agreed['shared']:,} with two or more raters\n", markup=False)
    for note in agreed["notes"]:
        to.print(f"! {plain(note)}\n", style="yellow", markup=False)
    if agreed.get("preference"):
        print_run_preference(agreed, to)
    if not agreed["shared"]:
        return
    to.print(_overall(agreed))
    _print_pairs(agreed, numbers, to, few=few)
    print_judges(agreed, numbers, to)
    if agreed["disputed"]:
        to.print(_disputed(agreed["disputed"], numbers) if few else _disputed_by_label(agreed))
    to.print(_legend(task, agreed, few=few), style="dim", markup=False)


def _print_pairs(agreed: Mapping[str, Any], numbers: Mapping[str, str], to: Console, *, few: bool) -> None:
    if not few:
        _print_summary_of_people(agreed, to)
    elif len(agreed["pairs"]) > 1:
        to.print(_pairs(agreed, numbers))
    if "reference" in agreed:
        _print_reference(agreed, numbers, to, few=few)
    elif few and len(agreed["pairs"]) == 1 and "confusion" in agreed["pairs"][0]:
        pair = agreed["pairs"][0]
        to.print(_confusion(pair["confusion"], agreed["labels"], *(numbers[name] for name in pair["raters"])))


def _legend(task: str, agreed: Mapping[str, Any], *, few: bool) -> str:
    clusters = f"by {join_choices([word.one for word in _cluster_words(task)])}"
    by = {"item": "by item (no source names the users)", "cluster": clusters}
    clustered = by.get(agreed["clusters"], f"{clusters} where known, otherwise by item")
    legend = f"95% intervals, Wilson's method, clustered {clustered}."
    more = [] if few else ["--json has all raters, all pairs and all labels."]
    if not agreed["judges"] and len(agreed["raters"]) > 2:
        more.append("All raters count as people; --judge RATER says who is a judge, to compare it with the others.")
    return "\n".join([legend, *more]) + "\n"


def _meanings() -> dict[str, str]:
    """The meaning of each task of all benchmarks: a file of ratings does not name its benchmark."""
    people = (benchmark.people() for benchmark in reversed(registry.all_benchmarks()))
    return {task.name: task.meaning for one in people if one is not None for task in one.tasks}


def _units(task: str, agreed: Mapping[str, Any]) -> list[str]:
    """The clusters of the intervals of a task, in the plural."""
    items = [] if agreed["clusters"] == "cluster" else ["items"]
    return ([] if agreed["clusters"] == "item" else [word.many for word in _cluster_words(task)]) + items


def _cluster_words(task: str) -> list[Noun]:
    """The cluster words of the benchmarks that have this task; of all benchmarks if none has it."""
    benchmarks = registry.all_benchmarks()
    having = [b for b in benchmarks if (people := b.people()) and any(one.name == task for one in people.tasks)]
    return list(dict.fromkeys(b.cluster for b in having or benchmarks))


def _raters(agreed: Mapping[str, Any], numbers: Mapping[str, str], left_out: Sequence[Mapping[str, Any]]) -> Padding:
    """One row per rater: its number in the other tables, and how often it gave each label."""
    labels = agreed["labels"] if len(agreed["labels"]) <= _LABELS_SHOWN else []
    reasons = list(dict.fromkeys(one["reason"] for one in left_out))
    table = make_table("", "rater", "ratings", "shared", *labels, *(f"({reason})" for reason in reasons), wrapped=2)
    table.columns[0].no_wrap = True
    table.columns[1].min_width = 6
    for column in table.columns[4:]:  # headings may be longer than the counts below them
        column.no_wrap, column.overflow = False, "ellipsis"
    for name in dict.fromkeys([*numbers, *(one["rater"] for one in left_out)]):
        rater = agreed["raters"].get(name, {"n": 0, "shared": 0, "labels": {}})
        lost = {one["reason"]: one["n"] for one in left_out if one["rater"] == name}
        table.add_row(
            numbers.get(name, ""),
            name_cell(name),
            f"{rater['n']:,}",
            f"{rater['shared']:,}",
            *(f"{rater['labels'].get(label, 0):,}" for label in labels),
            *(f"{lost.get(reason, 0):,}" for reason in reasons),
        )
    return indented(table)


def _print_many_raters(
    agreed: Mapping[str, Any], numbers: Mapping[str, str], left_out: Sequence[Mapping[str, Any]], to: Console
) -> None:
    """The judges by name, and the people as a group."""
    if numbers:
        to.print(_raters(agreed, numbers, [one for one in left_out if one["rater"] in numbers]))
    counts = [rater["n"] for name, rater in agreed["raters"].items() if name not in agreed["judges"]]
    more = len(agreed["judges"]) - len(numbers)
    to.print(f"  {counted(more, 'more judge')}\n" if more else "", end="", markup=False)
    if counts:
        spread = f"{min(counts):,} to {max(counts):,} ratings each (median {median(counts):,g})"
        to.print(f"  {counted(len(counts), 'person').replace('persons', 'people')}: {spread}", markup=False)
    lost = [one for one in left_out if one["rater"] not in numbers]
    to.print(f"  left out: {plain(_reasons(lost))}\n" if lost else "", markup=False)


def _print_summary_of_people(agreed: Mapping[str, Any], to: Console) -> None:
    """How far people agree with the other people, those who do least, and how far pairs of raters agree."""
    known = {
        name: own["with_people"]
        for name, own in agreed["raters"].items()
        if own["with_people"] and name not in agreed["judges"]
    }
    pairs = [pair["agreement"]["value"] for pair in agreed["pairs"] if pair["n"] >= _SHARED]
    if known:
        values = [own["value"] for own in known.values()]
        to.print(f"agreement of a person with the other people, 0–1: {range_in_words(values)}", markup=False)
    if pairs:
        which = f"{counted(len(pairs), 'pair')} of raters with {_SHARED} or more shared items"
        to.print(f"agreement of the {which}: {range_in_words(pairs)}", markup=False)
    to.print()
    lowest = sorted(known, key=lambda name: known[name]["value"])[:_LOWEST_SHOWN]
    if lowest:
        table = make_table("lowest agreement with the other people", "n", "agreement")
        for name in lowest:
            table.add_row(name_cell(name), size(known[name]), with_interval(known[name]))
        to.print(indented(table))


def _reasons(left_out: Sequence[Mapping[str, Any]]) -> str:
    return left_out_in_words((one["reason"], one["n"]) for one in left_out)


def _overall(agreed: Mapping[str, Any]) -> Padding:
    table = make_table("all raters", "value", "n")
    table.add_row("raw agreement", with_interval(agreed["agreement"]), size(agreed["agreement"], "item"))
    for level, alpha in agreed["alpha"].items():
        table.add_row(f"Krippendorff's alpha, {level}", with_interval(alpha), size(alpha, "rating"))
    fleiss = agreed["fleiss_kappa"]
    some = "" if fleiss is None or fleiss["items"] == agreed["shared"] else " only"
    used = "" if fleiss is None else f"{counted(fleiss['items'], 'item')} with {fleiss['ratings']} ratings{some}"
    table.add_row("Fleiss' kappa", with_interval(fleiss), used)
    if len(agreed["pairs"]) == 1:
        for name, kappa in _kappas(agreed["pairs"][0]).items():
            table.add_row(f"Cohen's {name}", with_interval(kappa), size(kappa, "item"))
    return indented(table)


def _kappas(pair: Mapping[str, Any]) -> dict[str, Any]:
    weighted = {f"kappa, {name}": kappa for name, kappa in pair.get("weighted_kappa", {}).items()}
    return ({"kappa": pair["kappa"]} if "kappa" in pair else {}) | weighted


def _pairs(agreed: Mapping[str, Any], numbers: Mapping[str, str]) -> Padding:
    """For numbers, show the weighted kappa: it takes the distance between two labels into account."""
    level = agreed["level"]
    kappa = "kappa, quadratic" if level == "interval" else "kappa"
    table = make_table("pair", "n", "agreement", kappa, f"alpha, {level}")
    for pair in agreed["pairs"]:
        table.add_row(
            " – ".join(numbers[name] for name in pair["raters"]),
            f"{pair['n']:,}",
            with_interval(pair["agreement"]),
            with_interval(_kappas(pair).get(kappa)),
            with_interval(pair["alpha"][level]),
        )
    return indented(table)


def _print_reference(agreed: Mapping[str, Any], numbers: Mapping[str, str], to: Console, *, few: bool) -> None:
    """With many raters: the judges and the lowest of the others, without the scores of each label."""
    name, others = agreed["reference"]["rater"], agreed["reference"]["others"]
    number = numbers.get(name, name)
    to.print(Text(plain(f"compared with {number}, {name}" if few else f"compared with {name}"), style="dim"))
    table = make_table("rater", "n", "accuracy", "macro F1", "kappa")
    rest = sorted((r for r in others if r not in numbers), key=lambda r: others[r]["accuracy"]["value"])
    for rater in [*(r for r in others if r in numbers), *rest[:_LOWEST_SHOWN]]:
        shown = (with_interval(others[rater].get(k)) for k in ("accuracy", "macro_f1", "kappa"))
        table.add_row(name_cell(numbers.get(rater, rater)), f"{others[rater]['n']:,}", *shown)
    to.print(indented(table))
    if len(rest) > _LOWEST_SHOWN:
        to.print(
            f"  the {_LOWEST_SHOWN} people with the lowest accuracy, of {len(rest):,}\n", style="dim", markup=False
        )
    for rater in others if few else ():
        if "labels" in others[rater]:
            to.print(_label_scores(f"{numbers[rater]}, {rater}", others[rater]["labels"]))
            to.print(_confusion(others[rater]["confusion"], agreed["labels"], number, numbers[rater]))


def _label_scores(title: str, labels: Mapping[str, Mapping[str, Any]]) -> Padding:
    table = make_table(title, "precision", "recall", "F1", "n")
    for label, score in labels.items():
        parts = ("–" if score[k] is None else f"{score[k]:.2f}" for k in ("precision", "recall", "f1"))
        table.add_row(name_cell(label), *parts, f"{score['n']:,}")
    return indented(table)


def _confusion(counts: Sequence[Sequence[int]], labels: Sequence[str], rows: str, columns: str) -> Padding:
    table = make_table(f"{rows} ↓  {columns} →", *labels)
    for label, row in zip(labels, counts, strict=True):
        table.add_row(name_cell(label), *(f"{n:,}" for n in row))
    return indented(table)


def _disputed(disputed: Sequence[Mapping[str, Any]], numbers: Mapping[str, str]) -> Padding:
    """One row per item, one column per rater."""
    table = make_table("most disputed", *numbers.values())
    for one in disputed:
        said = (name_cell(_cut(one["said"].get(name, ""))) for name in numbers)
        table.add_row(_item(one), *said)
    return indented(table)


def _disputed_by_label(agreed: Mapping[str, Any]) -> Padding:
    """One row per item: how many raters gave each label."""
    table = make_table("most disputed", "labels", wrapped=2)
    for one in agreed["disputed"]:
        said = Counter(one["said"].values())
        labels = [f"{n:,} {label}" for label, n in said.most_common(_LABELS_SHOWN)]
        table.add_row(_item(one), name_cell(", ".join(labels) + (" …" if len(said) > _LABELS_SHOWN else "")))
    return indented(table)


def _item(disputed: Mapping[str, Any]) -> Text:
    reminder = f"\n{_cut(disputed['about'])}" if disputed.get("about") else ""
    return name_cell(disputed["item"] + reminder)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ROOM else f"{line[:_ROOM]}…"


def _untrusted(found: Any) -> bool:
    if isinstance(found, Mapping):
        return found.get("trusted") is False or any(map(_untrusted, found.values()))
    return isinstance(found, list) and any(map(_untrusted, found))
