"""YAML from somebody else, a model or a file: values, and nothing that grows.

A few lines with aliases can stand for more than any memory holds, so they are not read; and what YAML takes for a date
or a number may be none.
"""

from __future__ import annotations

from typing import Any

import yaml


class NotPlain(ValueError):
    """Why a text is not read, in one line."""


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            raise NotPlain("aliases (*name) are not read")
        return super().compose_node(parent, index)


def read_yaml(text: str) -> Any:
    """The value of a text; raises NotPlain."""
    try:
        return yaml.load(text, Loader=_Loader)  # noqa: S506 - a safe loader
    except NotPlain:
        raise
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError, AttributeError, TypeError) as error:
        # AttributeError and TypeError: keys that are lists or mappings.
        raise NotPlain(" ".join(str(error).split())[:200] or type(error).__name__) from error
