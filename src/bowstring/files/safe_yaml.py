"""YAML from somebody else, a model or a file: values, and nothing that grows.

A few lines with aliases can stand for more than any memory holds, so they are not read; brackets in brackets can
exhaust a reader; and what YAML takes for a date or a number may be none.
"""

from __future__ import annotations

from typing import Any

import yaml

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # in C where there is one: the other takes seconds a megabyte
_DEEPEST = 50


class ParseError(ValueError):
    """Why a text is not read, in one line."""


def parse_safe_yaml(text: str) -> Any:
    """The value of a text; raises NotPlain."""
    try:
        _check(text)
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    except ParseError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, AttributeError, TypeError) as error:
        # AttributeError and TypeError: keys that are lists or mappings.
        raise ParseError(" ".join(str(error).split())[:200] or type(error).__name__) from error


def _check(text: str) -> None:
    """Look through a text before anything is made of it."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ParseError("aliases (*name) are not read")
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _DEEPEST:
            raise ParseError("is nested too deeply")
