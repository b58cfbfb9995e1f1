"""Settings: dataclasses whose fields define each option once, for both the command line and the Python API.

    @dataclass(frozen=True, slots=True)
    class Drawing:
        seed: int = field(default=0, metadata=option("Seed of the sampling.", min=0))
        order: Literal["random", "sorted"] = field(default="random", metadata=option("Order of the items."))
        splits: tuple[str, ...] = field(default=(), metadata=option("A split; repeatable.", name="--split"))

        def __post_init__(self) -> None:
            check_settings(self)

    split_keywords((Drawing,), {"sede": 1}, where="draw()")   # draw() has no setting 'sede'; did you mean seed?
    Drawing(seed=-1)                                          # --seed -1: expected a whole number of at least 0

A function with few settings states them in its signature instead:

    @checked_call
    def draw(data: str, *, seed: Annotated[int, option("Seed of the sampling.", min=0)] = 0) -> list[str]: ...

`cli/options.py` builds command-line options from the same fields or keywords. One may be a str, int, float, bool, Path
or Literal, one of these or None, or a tuple or Sequence of them; `str | Path` is a path. Its type must resolve at run
time. Without `option()` it belongs to the Python API only. Any other type accepts any value.
"""

from __future__ import annotations

import dataclasses
import difflib
import functools
import inspect
import math
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, ParamSpec, TypeVar, Union

from bowstring.errors import UsageError, check_choice, quote_value

_METADATA = "option"
_SCALARS = (str, int, float, bool, Path)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits of a number. `min` and `max` are inclusive; `above` and `below` are exclusive."""

    min: float | None = None
    max: float | None = None
    above: float | None = None
    below: float | None = None

    def allow(self, value: float) -> bool:
        return (
            (self.min is None or value >= self.min)
            and (self.max is None or value <= self.max)
            and (self.above is None or value > self.above)
            and (self.below is None or value < self.below)
        )

    def __str__(self) -> str:
        """Return the limits in words: '1 to 25', 'at least 1', 'above 0', '0 to below 1'; empty without limits."""
        least = "" if self.min is None else f"{self.min:,}"
        most = f"{self.max:,}" if self.max is not None else f"below {self.below:,}" if self.below is not None else ""
        if least and most:
            return f"{least} to {most}"
        lower = f"at least {least}" if least else f"above {self.above:,}" if self.above is not None else ""
        upper = f"at most {most}" if self.max is not None else most
        return " and ".join(part for part in (lower, upper) if part)


@dataclass(frozen=True, slots=True)
class Option:
    """One setting: a keyword of a call and, unless `offered` is false, an option of a command."""

    field: str
    flag: str  # as commands spell it: --users-per-step
    kind: type | None  # type of one value: str, int, float, bool or Path; None accepts anything
    default: Any = MISSING  # MISSING: required
    choices: tuple[Any, ...] = ()
    nullable: bool = False  # None is allowed
    several: bool = False  # the field is a tuple, and the option may be repeated
    axis: bool = False  # the field holds one value, but repeating the option makes a sweep
    limits: Limits = Limits()
    help: str = ""
    shown_default: str | None = None  # text shown in help instead of the default; "" shows nothing
    metavar: str | None = None
    offered: bool = True

    @property
    def required(self) -> bool:
        return self.default is MISSING


def option(
    help: str,
    *,
    name: str | None = None,
    min: float | None = None,
    max: float | None = None,
    above: float | None = None,
    below: float | None = None,
    shown_default: str | None = None,
    metavar: str | None = None,
    axis: bool = False,
) -> dict[str, Any]:
    """Return the metadata of a dataclass field: how commands offer it and which values it accepts."""
    return {
        _METADATA: {
            "help": help,
            "flag": name,
            "limits": Limits(min, max, above, below),
            "shown_default": shown_default,
            "metavar": metavar,
            "axis": axis,
        }
    }


def options_of(source: Callable[..., Any]) -> tuple[Option, ...]:
    """Return the options of a settings dataclass, or of a function that states them in its signature, in order."""
    if not dataclasses.is_dataclass(source):
        return _options_of_signature(source)
    hints = typing.get_type_hints(source)
    return tuple(
        _option(
            f.name,
            hints[f.name],
            f.default_factory() if f.default_factory is not MISSING else f.default,
            f.metadata.get(_METADATA),
        )
        for f in dataclasses.fields(source)
        if f.init
    )


def _options_of_signature(function: Callable[..., Any]) -> tuple[Option, ...]:
    hints = typing.get_type_hints(function, include_extras=True)
    options = []
    for name, parameter in inspect.signature(function).parameters.items():
        if typing.get_origin(hints.get(name)) is Annotated:
            hint, *notes = typing.get_args(hints[name])
            default = MISSING if parameter.default is inspect.Parameter.empty else parameter.default
            options.append(_option(name, hint, default, next(note[_METADATA] for note in notes)))
    return tuple(options)


def _option(name: str, hint: Any, default: Any, given: Mapping[str, Any] | None) -> Option:
    metadata = dict(given or {"offered": False})
    flag = metadata.pop("flag", None) or f"--{name.replace('_', '-')}"
    nullable, hint = _without_none(hint)
    several = typing.get_origin(hint) in (tuple, Sequence)
    if several:
        hint = typing.get_args(hint)[0]
    if set(typing.get_args(hint)) == {str, Path}:
        hint = Path
    choices: tuple[Any, ...] = ()
    if typing.get_origin(hint) is Literal:
        choices = typing.get_args(hint)
        hint = type(choices[0])
    return Option(
        name,
        flag,
        hint if hint in _SCALARS else None,
        default,
        choices,
        nullable,
        several,
        **metadata,
    )


def _without_none(hint: Any) -> tuple[bool, Any]:
    """Return whether a type allows None, and the type without None."""
    if typing.get_origin(hint) not in (Union, types.UnionType):
        return False, hint
    members = [member for member in typing.get_args(hint) if member is not type(None)]
    return len(members) < len(typing.get_args(hint)), members[0] if len(members) == 1 else object


def check_settings(settings: Any) -> None:
    """Check every field against its type, choices and limits; raise a UsageError for the first invalid one."""
    for one in options_of(type(settings)):
        check_option(one, getattr(settings, one.field))


def check_option(one: Option, value: Any) -> None:
    """Check the value of a setting, or each of its values if it holds several."""
    if value is None and one.nullable:
        return
    for each in value if one.several else (value,):
        check_value(one, each)


def check_value(one: Option, value: Any) -> None:
    """Check one value of a setting; raise a UsageError that says what was expected."""
    if one.choices:
        check_choice(one.flag.removeprefix("--"), value, one.choices)
    elif one.kind in (int, float):
        wanted = "a whole number" if one.kind is int else "a number"
        sound = isinstance(value, int if one.kind is int else int | float) and not isinstance(value, bool)
        if not sound or not math.isfinite(value) or not one.limits.allow(value):
            raise UsageError(f"{one.flag} {quote_value(value)}: expected {wanted}{_in_words(one.limits)}")
    elif one.kind is Path:
        if not isinstance(value, str | Path) or value == "":
            raise UsageError(f"{one.flag} {quote_value(value)}: expected a path")
    elif one.kind is not None and not isinstance(value, one.kind):
        wanted = "True or False" if one.kind is bool else "text"
        raise UsageError(f"{one.flag} {quote_value(value)}: expected {wanted}")


def _in_words(limits: Limits) -> str:
    words = str(limits)
    if not words:
        return ""
    return f" of {words}" if words.startswith("at ") else f" {words}" if words.startswith("above") else f" from {words}"


def merge_settings(settings: Mapping[str, Any] | None, keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Merge settings that a call takes as a mapping with those that it takes as keywords."""
    if twice := next((name for name in settings or () if keywords.get(name) is not None), None):
        raise UsageError(f"{twice} is given twice: as a keyword, and in settings")
    return {**keywords, **(settings or {})}


def split_keywords(
    kinds: Sequence[type[Any]], given: Mapping[str, Any], *, where: str, besides: Iterable[str] = ()
) -> tuple[dict[str, Any], ...]:
    """Split keyword arguments by the dataclass they belong to, converting each value to its field's form.

    A path may be given as text, a float as an integer, a tuple as any list or a single value. None for a field that
    does not accept None means "not given". `besides` lists further names that the call accepts.
    """
    by_name = [{one.field: one for one in options_of(kind)} for kind in kinds]
    known = [name for names in by_name for name in names]
    for name in given:
        if name not in known:
            raise UsageError(f"{where} has no setting {name!r}; {did_you_mean(name, [*known, *besides])}")
    return tuple(
        {
            name: convert_value(options[name], value)
            for name, value in given.items()
            if name in options and (value is not None or options[name].nullable)
        }
        for options in by_name
    )


def convert_value(one: Option, value: Any) -> Any:
    """Convert a value to its field's form; an invalid value is left for `check_settings` to reject."""
    if one.several and value is not None:
        value = (value,) if isinstance(value, str) or not isinstance(value, Iterable) else value
        return tuple(_scalar(one, each) for each in value)
    if one.axis and isinstance(value, list | tuple):
        return [_scalar(one, each) for each in value]
    return _scalar(one, value)


def _scalar(one: Option, value: Any) -> Any:
    if one.kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    # Path("") would be the current folder.
    return Path(value) if one.kind is Path and isinstance(value, str) and value else value


P = ParamSpec("P")
R = TypeVar("R")


def checked_call(function: Callable[P, R]) -> Callable[P, R]:
    """Decorate a function that states its settings in its signature: keywords are converted and checked as the
    command's options are, and an unknown one raises a UsageError with a did-you-mean."""
    options = {one.field: one for one in options_of(function)}
    known = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def checked(*args: P.args, **keywords: P.kwargs) -> R:
        given: dict[str, Any] = {}
        for name, value in keywords.items():
            if name not in known:
                raise UsageError(f"{function.__name__}() has no setting {name!r}; {did_you_mean(name, known)}")
            one = options.get(name)
            if one is None:
                given[name] = value
            elif value is not None or one.nullable:
                given[name] = value = convert_value(one, value)
                check_option(one, value)
        return function(*args, **given)

    return checked


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """Return the end of an error about an unknown name: the nearest known name, or else all of them."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"did you mean {close[0]}?" if close else f"expected {', '.join(known)}"
