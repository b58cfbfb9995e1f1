"""Safe YAML parsing for untrusted text: plain values only, and bounded memory.

A few lines with aliases can expand beyond any memory, so aliases are rejected. Deep nesting can exhaust the parser, and
what YAML reads as a date or number may be invalid.
"""

from __future__ import annotations

from typing import Any

import yaml

from bowstring.files.redaction import error_line

_LOADER = getattr(
    yaml, "CSafeLoader", yaml.SafeLoader
)  # the C loader where available: the Python one takes seconds per megabyte
_MAX_DEPTH = 50


class ParseError(ValueError):
    """Text that was rejected; the message is a one-line reason."""


def parse_safe_yaml(text: str) -> Any:
    """Parse YAML; raise ParseError with a one-line reason."""
    try:
        _check(text)
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    except ParseError:
        raise
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, AttributeError, TypeError) as error:
        # AttributeError and TypeError: keys that are lists or mappings.
        raise ParseError(error_line(error)) from error


def _check(text: str) -> None:
    """Check the events of a text before building any value from it."""
    depth = 0
    for event in yaml.parse(text, Loader=_LOADER):
        if isinstance(event, yaml.AliasEvent):
            raise ParseError("aliases (*name) are not read")  # models are told this, too: see `Unreadable`
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > _MAX_DEPTH:
            raise ParseError("is nested too deeply")
