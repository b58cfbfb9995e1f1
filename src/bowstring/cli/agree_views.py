"""The terminal output of `bowstring agree`: raters, their agreement, and people's preferences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Noun
from bowstring.cli.output import counted, plain
from bowstring.datasets.problems import join_choices
from bowstring.datasets.ratings import left_out_in_words
from bowstring.labels import PREFERRED

_LABELS_SHOWN = 10
_RATERS_SHOWN = 8
_ROOM = 60  # characters of a text that reminds of an item


def print_agreement(found: Mapping[str, Any], to: Console) -> None:
    for task, agreed in found["tasks"].items():
        left_out = [one for one in found["left_out"] if one["task"] == task]
        _print_task(task, agreed, left_out, to)
    others = [one for one in found["left_out"] if one["task"] not in found["tasks"]]
    if others:
        to.print(f"left out: {plain(_reasons(others))}", markup=False)
    if "personal" in found:
        _print_personal_preference(found["personal"], to)
    if _untrusted(found):
        units = list(dict.fromkeys(unit for task, agreed in found["tasks"].items() for unit in _units(task, agreed)))
        to.print(f"? fewer than 30 {join_choices(units)}: do not trust the interval", style="dim", markup=False)


def _print_task(task: str, agreed: Mapping[str, Any], left_out: Sequence[Mapping[str, Any]], to: Console) -> None:
    meaning = f": {known}" if (known := _meanings().get(task)) else ""
    if "sides" in agreed:
        meaning = f": win, tie or lose, from the side of {agreed['sides'][0]}"
    to.print(Text(plain(f"{task}{meaning}"), style="bold"))
    numbers = {name: f"{n}" for n, name in enumerate(agreed["raters"], 1)}
    to.print(_raters(agreed, numbers, left_out))
    to.print(f"{counted(agreed['items'], 'item')}, {agreed['shared']:,} with two or more raters\n", markup=False)
    for note in agreed["notes"]:
        to.print(f"! {note}\n", style="yellow", markup=False)
    if agreed.get("preference"):
        _print_run_preference(agreed, to)
    if not agreed["shared"]:
        return
    to.print(_overall(agreed))
    if len(agreed["pairs"]) > 1:
        to.print(_pairs(agreed, numbers))
    if "reference" in agreed:
        _print_reference(agreed, numbers, to)
    elif len(agreed["pairs"]) == 1 and "confusion" in agreed["pairs"][0]:
        pair = agreed["pairs"][0]
        to.print(_confusion(pair["confusion"], agreed["labels"], *(numbers[name] for name in pair["raters"])))
    if agreed["disputed"]:
        to.print(_disputed(agreed["disputed"], numbers))
    clusters = f"by {join_choices([word.one for word in _cluster_words(task)])}"
    by = {"item": "by item (no source names the users)", "cluster": clusters}
    legend = f"95% intervals, resampled {by.get(agreed['clusters'], f'{clusters} where known, otherwise by item')}.\n"
    to.print(legend, style="dim", markup=False)


def _meanings() -> dict[str, str]:
    """The meaning of each task of all benchmarks: a file of ratings does not name its benchmark."""
    people = (benchmark.people() for benchmark in reversed(registry.all_benchmarks()))
    return {task.name: task.meaning for one in people if one is not None for task in one.tasks}


def _units(task: str, agreed: Mapping[str, Any]) -> list[str]:
    """What the intervals of a task resample, in the plural."""
    items = [] if agreed["clusters"] == "cluster" else ["items"]
    return ([] if agreed["clusters"] == "item" else [word.many for word in _cluster_words(task)]) + items


def _cluster_words(task: str) -> list[Noun]:
    """The cluster words of the benchmarks that have this task; of all benchmarks if none has it."""
    benchmarks = registry.all_benchmarks()
    having = [b for b in benchmarks if (people := b.people()) and any(one.name == task for one in people.tasks)]
    return list(dict.fromkeys(b.cluster for b in having or benchmarks))


def _table(*columns: str, wrapped: int = 1) -> Table:
    """A table whose first columns may wrap; the others are numbers."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for n, column in enumerate(columns):
        text = n < wrapped
        table.add_column(
            Text(plain(column)),
            justify="left" if text else "right",
            no_wrap=not text,
            overflow="fold",
        )
    return table


def _set(table: Table) -> Padding:
    return Padding(table, (0, 0, 1, 2), expand=False)


def _raters(agreed: Mapping[str, Any], numbers: Mapping[str, str], left_out: Sequence[Mapping[str, Any]]) -> Padding:
    """One row per rater: its number in the other tables, and how often it gave each label."""
    labels = agreed["labels"] if len(agreed["labels"]) <= _LABELS_SHOWN else []
    reasons = list(dict.fromkeys(one["reason"] for one in left_out))
    table = _table("", "rater", "ratings", "shared", *labels, *(f"({reason})" for reason in reasons), wrapped=2)
    table.columns[0].no_wrap = True
    table.columns[1].min_width = 6
    for column in table.columns[4:]:  # headings may be longer than the counts below them
        column.no_wrap, column.overflow = False, "ellipsis"
    for name in dict.fromkeys([*numbers, *(one["rater"] for one in left_out)]):
        rater = agreed["raters"].get(name, {"n": 0, "shared": 0, "labels": {}})
        lost = {one["reason"]: one["n"] for one in left_out if one["rater"] == name}
        table.add_row(
            numbers.get(name, ""),
            Text(plain(name)),
            f"{rater['n']:,}",
            f"{rater['shared']:,}",
            *(f"{rater['labels'].get(label, 0):,}" for label in labels),
            *(f"{lost.get(reason, 0):,}" for reason in reasons),
        )
    return _set(table)


def _reasons(left_out: Sequence[Mapping[str, Any]]) -> str:
    return left_out_in_words((one["reason"], one["n"]) for one in left_out)


def _overall(agreed: Mapping[str, Any]) -> Padding:
    table = _table("all raters", "value", "n")
    table.add_row("raw agreement", _shown(agreed["agreement"]), _n(agreed["agreement"], "item"))
    for level, alpha in agreed["alpha"].items():
        table.add_row(f"Krippendorff's alpha, {level}", _shown(alpha), _n(alpha, "rating"))
    fleiss = agreed["fleiss_kappa"]
    some = "" if fleiss is None or fleiss["items"] == agreed["shared"] else " only"
    size = "" if fleiss is None else f"{counted(fleiss['items'], 'item')} with {fleiss['ratings']} ratings{some}"
    table.add_row("Fleiss' kappa", _shown(fleiss), size)
    if len(agreed["pairs"]) == 1:
        for name, kappa in _kappas(agreed["pairs"][0]).items():
            table.add_row(f"Cohen's {name}", _shown(kappa), _n(kappa, "item"))
    return _set(table)


def _kappas(pair: Mapping[str, Any]) -> dict[str, Any]:
    weighted = {f"kappa, {name}": kappa for name, kappa in pair.get("weighted_kappa", {}).items()}
    return ({"kappa": pair["kappa"]} if "kappa" in pair else {}) | weighted


def _pairs(agreed: Mapping[str, Any], numbers: Mapping[str, str]) -> Padding:
    """For numbers, show the weighted kappa: it takes the distance between two labels into account."""
    level = agreed["level"]
    kappa = "kappa, quadratic" if level == "interval" else "kappa"
    table = _table("pair", "n", "agreement", kappa, f"alpha, {level}")
    for pair in agreed["pairs"]:
        table.add_row(
            " – ".join(numbers[name] for name in pair["raters"]),
            f"{pair['n']:,}",
            _shown(pair["agreement"]),
            _shown(_kappas(pair).get(kappa)),
            _shown(pair["alpha"][level]),
        )
    return _set(table)


def _print_reference(agreed: Mapping[str, Any], numbers: Mapping[str, str], to: Console) -> None:
    reference = agreed["reference"]
    to.print(Text(plain(f"compared with {numbers[reference['rater']]}, {reference['rater']}"), style="dim"))
    table = _table("rater", "n", "accuracy", "macro F1", "kappa")
    for name, other in reference["others"].items():
        shown = (_shown(other.get(k)) for k in ("accuracy", "macro_f1", "kappa"))
        table.add_row(numbers[name], f"{other['n']:,}", *shown)
    to.print(_set(table))
    for name, other in reference["others"].items():
        if "labels" not in other:
            continue
        scores = _table(f"{numbers[name]}, {name}", "precision", "recall", "F1", "n")
        for label, score in other["labels"].items():
            parts = ("–" if score[k] is None else f"{score[k]:.2f}" for k in ("precision", "recall", "f1"))
            scores.add_row(Text(plain(label)), *parts, f"{score['n']:,}")
        to.print(_set(scores))
        to.print(_confusion(other["confusion"], agreed["labels"], numbers[reference["rater"]], numbers[name]))


def _confusion(counts: Sequence[Sequence[int]], labels: Sequence[str], rows: str, columns: str) -> Padding:
    table = _table(f"{rows} ↓  {columns} →", *labels)
    for label, row in zip(labels, counts, strict=True):
        table.add_row(Text(plain(label)), *(f"{n:,}" for n in row))
    return _set(table)


def _disputed(disputed: Sequence[Mapping[str, Any]], numbers: Mapping[str, str]) -> Padding:
    """One row per item, one column per rater."""
    few = list(numbers)[:_RATERS_SHOWN]
    table = _table("most disputed", *(numbers[name] for name in few))
    for one in disputed:
        reminder = f"\n{_cut(one['about'])}" if one.get("about") else ""
        said = (Text(plain(_cut(one["said"].get(name, "")))) for name in few)
        table.add_row(Text(plain(one["item"] + reminder)), *said)
    return _set(table)


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _ROOM else f"{line[:_ROOM]}…"


def _print_run_preference(agreed: Mapping[str, Any], to: Console) -> None:
    """Print which of two runs people prefer."""
    first, second = agreed["sides"]
    head = f"win rate of {first} against {second}, 0–100 (a tie is half a win; 50 = no preference)"
    to.print(Text(plain(head), style="bold"))
    table = _table("", "win rate", "n")
    chosen = agreed["preference"]
    table.add_row("all", _points(chosen["win_rate"]), _n(chosen["win_rate"], "item"))
    for axis, head in (("rater", "rater"), ("type", "question type")):
        for name, rate in chosen.get(f"by_{axis}", {}).items():
            table.add_row(Text(plain(f"{head} {name}")), _points(rate), _n(rate, "item"))
    to.print(_set(table))


def _print_personal_preference(personal: Mapping[str, Any], to: Console) -> None:
    to.print(Text("win rate of the personalized answer, 0–100 (a tie is half a win; 50 = no preference)", style="bold"))
    table = _table("", "win rate", "n")
    table.add_row("all", _points(personal["win_rate"]), _n(personal["win_rate"]))
    for axis, head in (("rater", "rater"), ("type", "question type"), ("personalization", "rated personalization")):
        for name, rate in personal.get(f"by_{axis}", {}).items():
            table.add_row(Text(plain(f"{head} {name}")), _points(rate), _n(rate))
    to.print(_set(table))
    chosen = ", ".join(f"{label} {_points(personal[label])}" for label in PREFERRED)
    to.print(f"choices, %: {chosen}", markup=False)
    if "slope" in personal:
        slope = personal["slope"]
        to.print(
            f"win rate per degree of rated personalization: {_points(slope, '+z.1f')} points, n {slope['n']:,}",
            markup=False,
        )
    to.print()


def _n(estimate: Mapping[str, Any] | None, what: str = "") -> str:
    return "" if estimate is None else counted(estimate["n"], what) if what else f"{estimate['n']:,}"


def _shown(estimate: Mapping[str, Any] | None, form: str = "z.2f") -> str:
    if estimate is None:
        return "–"
    value, low, high = (f"{estimate[k]:{form}}" for k in ("value", "low", "high"))
    return f"{value} [{low}, {high}]{'' if estimate['trusted'] else '?'}"


def _points(estimate: Mapping[str, Any], form: str = "z.1f") -> str:
    return _shown(estimate, form)


def _untrusted(found: Any) -> bool:
    if isinstance(found, Mapping):
        return found.get("trusted") is False or any(map(_untrusted, found.values()))
    return isinstance(found, list) and any(map(_untrusted, found))
