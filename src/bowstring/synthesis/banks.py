"""Word banks of offline generators: YAML files in a benchmark's folder, and filling of their templates.

>>> fill("{person} took {e} along {time}.", {"person": "my aunt", "e": "chess", "time": "on Friday"})
'My aunt took chess along on Friday.'
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import yaml

_SLOT = re.compile(r"\{(\w+)\}")
_DOUBLED = re.compile(r"\b(on|once|at|in|after|before|during|the|a) \1\b")
_SENTENCE = re.compile(r"(^|[.!?] )([a-z])")


def read_bank(package: str, name: str) -> Any:
    """Return a YAML file of one of our packages."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    text = (files(package) / name).read_text(encoding="utf-8")
    return yaml.load(text, Loader=loader)  # noqa: S506 - a safe loader, in C if available


def fill(line: str, values: dict[str, str]) -> str:
    """Return a line with its slots filled and its sentences capitalized."""
    text = _DOUBLED.sub(r"\1", _SLOT.sub(lambda slot: values[slot[1]], line))
    return _SENTENCE.sub(lambda found: found[1] + found[2].upper(), text)
