"""The terminal output of `bowstring agree` on judges and people: majority, two judges, one more person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from bowstring.cli.agree_tables import FEW, indented, make_table, name_cell, size, with_interval
from bowstring.cli.output import counted, plain
from bowstring.studies.compare_page import p_value

_MOST_ROWS = 15
_TEST_LEGEND = (
    "Each person is left out in turn. judge ≥ person: the share of items on which the judge agrees with the other "
    "people at least as well as the person left out. The judge wins if its share is not lower by {epsilon:g} or more "
    "(p ≤ 0.05, corrected by Benjamini–Yekutieli). It is as good as one more person if it wins against half of the "
    "people or more.\n"
)


def print_judges(agreed: Mapping[str, Any], numbers: Mapping[str, str], to: Console) -> None:
    """Print how judges compare with people, if there are both. `numbers` has the numbers of raters in the tables."""
    if "judge_differences" not in agreed:
        return
    _print_with_people(agreed["raters"], numbers, to)
    if agreed.get("majority", {}).get("judges"):
        _print_majority(agreed["majority"], numbers, to)
    if agreed["judge_differences"]:
        _print_differences(agreed["judge_differences"], numbers, to)
    tests = agreed["alternative_annotator"]
    if any(own["people"] or own["too_few_items"] for own in tests.values()):
        _print_tests(tests, numbers, to)


def _heading(text: str, to: Console) -> None:
    to.print(Text(plain(text), style="bold"))


def _print_with_people(raters: Mapping[str, Any], numbers: Mapping[str, str], to: Console) -> None:
    table = make_table("agreement with a random other person, 0–1", "n", "agreement")
    for name in numbers:
        if found := raters[name]["with_people"]:
            table.add_row(name_cell(f"{numbers[name]}, {name}"), size(found), with_interval(found))
    if table.rows:
        to.print(indented(table))


def _print_majority(majority: Mapping[str, Any], numbers: Mapping[str, str], to: Console) -> None:
    _heading("judges compared with the majority of people", to)
    lost = {"where people are split": majority["tied"], "rated by one person": majority["one_person"]}
    left_out = ", ".join(f"{n:,} {why}" for why, n in lost.items() if n)
    to.print(
        f"  {counted(majority['items'], 'item')} with a majority{f'; left out: {left_out}' if left_out else ''}",
        style="dim",
        markup=False,
    )
    table = make_table("judge", "n", "accuracy", "macro F1", "kappa")
    for judge, own in list(majority["judges"].items())[:_MOST_ROWS]:
        shown = (with_interval(own.get(k)) for k in ("accuracy", "macro_f1", "kappa"))
        table.add_row(name_cell(numbers.get(judge, judge)), f"{own['n']:,}", *shown)
    to.print(indented(table))


def _print_differences(found: Sequence[Mapping[str, Any]], numbers: Mapping[str, str], to: Console) -> None:
    name = found[0]["reference"]
    against = {"majority": "the majority of people", "person": "the person who rated the item"}.get(name, name)
    _heading(f"do two judges differ in accuracy against {against}? (second − first)", to)
    several = ["Holm"] if len(found) > 1 else []
    table = make_table("judges", "n", "difference", "p", *several)
    for one in sorted(found, key=lambda one: one["p"])[:_MOST_ROWS]:
        ps = [p_value(one["p"]), *([p_value(one["corrected"])] if several else [])]
        pair = " – ".join(numbers.get(judge, judge) for judge in one["judges"])
        table.add_row(name_cell(pair), f"{one['n']:,}", with_interval(one, "+z.2f"), *ps)
    to.print(indented(table))
    if len(found) > _MOST_ROWS:
        to.print(f"  the {_MOST_ROWS} smallest p-values of {len(found):,}\n", style="dim", markup=False)


def _print_tests(tests: Mapping[str, Mapping[str, Any]], numbers: Mapping[str, str], to: Console) -> None:
    """Print the alternative annotator test of each judge."""
    epsilon = next(iter(tests.values()))["epsilon"]
    _heading(f"is a judge as good as one more person? (alternative annotator test, epsilon {epsilon:g})", to)
    tested = {judge: own for judge, own in tests.items() if own["winning_rate"] is not None}
    if tested:
        to.print(_winning_rates(tested, numbers))
        if all(len(own["people"]) <= FEW for own in tested.values()) and len(tested) <= FEW:
            to.print(_by_person(tested, numbers))
    for judge, own in tests.items():
        if own["winning_rate"] is None:
            enough = counted(len(own["people"]), "person").replace("persons", "people")
            to.print(
                f"  {plain(numbers.get(judge, judge))}: no answer. {enough} rated {own['least_items']} or more of its "
                f"items together with others; {own['least_people']} are needed.",
                markup=False,
            )
    if len(tested) < len(tests):
        to.print()
    if tested:
        to.print(_TEST_LEGEND.format(epsilon=epsilon), style="dim", markup=False)


def _winning_rates(tests: Mapping[str, Mapping[str, Any]], numbers: Mapping[str, str]) -> Padding:
    table = make_table("judge", "as good", "wins against", "judge ≥ person", "person ≥ judge")
    for judge, own in list(tests.items())[:_MOST_ROWS]:
        wins = sum(person["wins"] for person in own["people"].values())
        table.add_row(
            name_cell(numbers.get(judge, judge)),
            "yes" if own["replaces"] else "no",
            f"{wins:,} of {len(own['people']):,} people",
            *(f"{own['advantage'][side]:.2f}" for side in ("judge", "person")),
        )
    return indented(table)


def _by_person(tests: Mapping[str, Mapping[str, Any]], numbers: Mapping[str, str]) -> Padding:
    table = make_table("judge − person left out", "n", "difference", "p", "corrected", "wins")
    for judge, own in tests.items():
        for person, found in own["people"].items():
            table.add_row(
                name_cell(f"{numbers.get(judge, judge)} − {numbers.get(person, person)}"),
                f"{found['n']:,}",
                with_interval(found["difference"] | {"trusted": found["trusted"]}, "+z.2f"),
                p_value(found["p"]),
                p_value(found["corrected"]),
                "yes" if found["wins"] else "no",
            )
    return indented(table)
