"""Options of a command are made from settings dataclasses, and calls are checked against the same fields."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import typer

from bowstring.cli.options import add_command, changed
from bowstring.errors import UsageError
from bowstring.settings import check_settings, checked_call, option, options_of, split_keywords


@dataclass(frozen=True, slots=True)
class Drawing:
    data: str = field(metadata=option("What is drawn from."))
    seed: int = field(default=0, metadata=option("Seed of the sampling.", min=0))
    share: float = field(default=0.5, metadata=option("Share of the items.", above=0, max=1))
    size: int | None = field(default=None, metadata=option("How many.", min=1, max=10, shown_default="all"))
    order: Literal["random", "sorted"] = field(default="random", metadata=option("Order of the items."))
    shots: Literal[0, 1, 3] = field(default=0, metadata=option("Examples.", axis=True))
    splits: tuple[str, ...] = field(default=(), metadata=option("A split.", name="--split"))
    checked: bool = field(default=True, metadata=option("Check what is drawn."))
    exact: bool = field(default=False, metadata=option("Draw exactly."))
    out: Path | None = field(default=None, metadata=option("The folder.", metavar="FOLDER"))
    model: Any = field(default=None, metadata=option("A name, or an object."))
    top_k: int | None = 50

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class Printing:
    json: bool = field(default=False, metadata=option("Print JSON."))


def from_keywords(kind: type, given: dict[str, Any], *, where: str) -> Any:
    (own,) = split_keywords((kind,), given, where=where)
    return kind(**own)


def app_of(calls: list[dict[str, Any]], *kinds: type) -> typer.Typer:
    app = typer.Typer(add_completion=False, rich_markup_mode=None)

    def run(given: dict[str, Any]) -> int:
        calls.append(given)
        return 0

    options = [one for kind in kinds or (Drawing, Printing) for one in options_of(kind)]
    add_command(app, "draw", run, options, help="Draw a sample.")
    return app


def called(*words: str) -> dict[str, Any]:
    calls: list[dict[str, Any]] = []
    command = typer.main.get_command(app_of(calls))
    with command.make_context("draw", list(words)) as context:
        command.invoke(context)
    return calls[0]


def help_text(monkeypatch) -> str:
    monkeypatch.setenv("COLUMNS", "200")
    command = typer.main.get_command(app_of([]))
    with command.make_context("draw", ["--data", "x"]) as context:
        return " ".join(command.get_help(context).split())


def test_a_command_is_called_with_what_was_given_and_nothing_else():
    assert called("--data", "x") == {"data": "x"}
    given = called(
        *("--data", "x", "--seed", "3", "--share", "1", "--order", "sorted", "--split", "a", "--split", "b"),
        *("--shots", "1", "--shots", "3", "--no-checked", "--exact", "--out", "here", "--model", "m", "--json"),
    )
    assert given == {
        "data": "x",
        "seed": 3,
        "share": 1.0,
        "order": "sorted",
        "splits": ["a", "b"],
        "shots": [1, 3],
        "checked": False,
        "exact": True,
        "out": Path("here"),
        "model": "m",
        "json": True,
    }


def test_help_states_types_defaults_and_limits(monkeypatch):
    told = help_text(monkeypatch)
    for line in (
        "--data TEXT What is drawn from. [required]",
        "--seed INTEGER Seed of the sampling. [default: 0; at least 0]",
        "--share NUMBER Share of the items. [default: 0.5; above 0 and at most 1]",
        "--size INTEGER How many. [default: all; 1 to 10]",
        "--order [random|sorted] Order of the items. [default: random]",
        "--shots [0|1|3] Examples. [default: 0]",
        "--split TEXT A split. --checked",
        "--checked / --no-checked Check what is drawn. [default: checked]",
        "--exact Draw exactly. --out",
        "--out FOLDER The folder.",
        "--model TEXT A name, or an object.",
    ):
        assert line in told
    assert "top-k" not in told
    assert not re.search(r"<|\{|None", told)


def test_an_option_can_be_another_one_for_a_command():
    options = changed(options_of(Drawing), "seed", flag="--start", help="Where to start.", default=7)
    assert [one.flag for one in options if one.field == "seed"] == ["--start"]
    assert [one.default for one in options if one.field == "seed"] == [7]
    assert len(options) == len(options_of(Drawing))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seed": -1}, "--seed -1: expected a whole number of at least 0"),
        ({"seed": 1.5}, "--seed 1.5: expected a whole number of at least 0"),
        ({"seed": True}, "--seed True: expected a whole number of at least 0"),
        ({"size": 11}, "--size 11: expected a whole number from 1 to 10"),
        ({"share": 0}, "--share 0.0: expected a number above 0 and at most 1"),
        ({"share": float("nan")}, "--share nan: expected a number above 0 and at most 1"),
        ({"order": "none"}, "--order none: expected random or sorted"),
        ({"out": ""}, "--out '': expected a path"),
        ({"splits": (1,)}, "--split 1: expected text"),
        ({"exact": "yes"}, "--exact 'yes': expected True or False"),
        ({"out": 3}, "--out 3: expected a path"),
        ({"sede": 3}, "draw() has no setting 'sede'; did you mean seed?"),
        ({"frobnicate": 3}, "draw() has no setting 'frobnicate'; expected data, seed, share"),
    ],
)
def test_a_call_is_checked_against_the_same_fields(given, said):
    with pytest.raises(UsageError) as error:
        from_keywords(Drawing, {"data": "x", **given}, where="draw()")
    assert str(error.value).startswith(said)


def test_an_error_names_no_limits_where_there_are_none():
    with pytest.raises(UsageError) as error:
        Drawing("x", top_k="many")
    assert str(error.value) == "--top-k 'many': expected a whole number"


def test_values_take_the_form_of_their_fields():
    found = from_keywords(
        Drawing, {"data": "x", "share": 1, "splits": ["a"], "out": "here", "seed": None, "top_k": None}, where="draw()"
    )
    assert found == Drawing("x", share=1.0, splits=("a",), out=Path("here"), top_k=None)
    assert from_keywords(Drawing, {"data": "x", "splits": "a"}, where="draw()").splits == ("a",)


def test_keywords_are_sorted_by_the_dataclass_that_they_belong_to():
    given = {"json": True, "data": "x", "shots": [0, 1]}
    assert split_keywords((Drawing, Printing), given, where="draw()") == (
        {"data": "x", "shots": [0, 1]},
        {"json": True},
    )


@checked_call
def draw(
    data: str,
    *,
    seed: Annotated[int, option("Seed of the sampling.", min=0)] = 0,
    splits: Annotated[Sequence[str], option("A split.", name="--split")] = (),
    order: Annotated[Literal["random", "sorted"], option("Order of the items.")] = "random",
    out: Annotated[Path | None, option("The folder.")] = None,
    tell: Any = None,
) -> tuple[Any, ...]:
    return data, seed, splits, order, out, tell


@checked_call
def read(*, files: Annotated[Sequence[str | Path], option("A file.")] = ()) -> Sequence[str | Path]:
    return files


def test_text_or_a_path_is_a_path():
    assert read(files="a") == read(files=["a"]) == read(files=Path("a")) == (Path("a"),)
    with pytest.raises(UsageError, match="--files 3: expected a path"):
        read(files=[3])


def test_a_function_states_its_settings_in_its_signature():
    assert [(one.flag, one.default, one.several) for one in options_of(draw)] == [
        ("--seed", 0, False),
        ("--split", (), True),
        ("--order", "random", False),
        ("--out", None, False),
    ]
    assert draw("x") == ("x", 0, (), "random", None, None)
    assert draw("x", seed=3, splits="a", out="here", tell=print) == ("x", 3, ("a",), "random", Path("here"), print)
    assert draw("x", seed=None, order=None) == ("x", 0, (), "random", None, None), "None means: not given"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seed": -1}, "--seed -1: expected a whole number of at least 0"),
        ({"splits": [1]}, "--split 1: expected text"),
        ({"order": "none"}, "--order none: expected random or sorted"),
        ({"out": ""}, "--out '': expected a path"),
        ({"sede": 3}, "draw() has no setting 'sede'; did you mean seed?"),
    ],
)
def test_a_call_of_such_a_function_is_checked(given, said):
    with pytest.raises(UsageError) as error:
        draw("x", **given)
    assert str(error.value) == said
