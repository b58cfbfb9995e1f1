"""Read a Python file of constants as data: it is parsed, never executed.

    >>> read_constants('A = " x ".strip(); B = {"k": [A, 1]}', "constants.py")["B"]
    {'k': ['x', 1]}

Supported: literals, names assigned earlier, strings joined with +, and .strip(), .lstrip() and .rstrip(). Everything
else, at any depth, becomes a `NotData` with its line number, so that errors can name it when it is needed.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bowstring.errors import DataError

_METHODS = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}


_LONGEST = 1 << 20  # characters of a string


@dataclass(frozen=True, slots=True)
class NotData:
    """An expression whose value cannot be known without executing it."""

    line: int


def read_constants(source: str, name: str) -> dict[str, Any]:
    """Return the values of a file's top-level assignments, as far as they are data."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"{name}: cannot be parsed as Python: {error}") from error
    found: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                pass
            case _:
                continue
        found[target] = _value(value, found)
    return found


def _value(node: ast.expr, known: Mapping[str, Any]) -> Any:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.List(elts=items):
            return [_value(item, known) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item, known) for item in items)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            return {k.value: _value(v, known) for k, v in pairs if isinstance(k, ast.Constant)}
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as number)):
            return -number
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = _value(left, known), _value(right, known)
            if all(isinstance(part, str) for part in parts) and sum(map(len, parts)) <= _LONGEST:
                return "".join(parts)
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=args, keywords=[]) if method in _METHODS:
            found, given = _value(text, known), [_value(a, known) for a in args]
            if isinstance(found, str) and len(given) <= 1 and all(isinstance(a, str) for a in given):
                return _METHODS[method](found, *given)
    return NotData(node.lineno)
