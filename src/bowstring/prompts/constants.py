"""A Python file of constants, read as data: parsed, and never run.

    >>> read_constants('A = " x ".strip(); B = {"k": [A, 1]}', "constants.py")["B"]
    {'k': ['x', 1]}

What is understood: literals, names assigned further up, strings added with +, and .strip() and its like without
arguments. Any other assignment is left out; one that is needed and left out is missed where it is asked for.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from typing import Any

from bowstring.errors import DataError

_METHODS = {"strip": str.strip, "lstrip": str.lstrip, "rstrip": str.rstrip}


class _NotData(Exception):
    """An expression that only running it could tell."""


def read_constants(source: str, name: str) -> dict[str, Any]:
    """The values of a file's top-level assignments, as far as they are data."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise DataError(f"{name}: not Python that can be parsed: {error}") from error
    found: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                pass
            case ast.AnnAssign(target=ast.Name(id=target), value=ast.expr() as value):
                pass
            case _:
                continue
        try:
            found[target] = _value(value, found)
        except (_NotData, RecursionError):
            found.pop(target, None)
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
        case ast.Dict(keys=keys, values=values) if all(isinstance(k, ast.Constant) for k in keys):
            return {k.value: _value(v, known) for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            number = _value(operand, known)
            if isinstance(number, int | float):
                return -number
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            parts = _value(left, known), _value(right, known)
            if all(isinstance(part, str) for part in parts):
                return "".join(parts)
        case ast.Call(func=ast.Attribute(value=text, attr=method), args=[], keywords=[]) if method in _METHODS:
            found = _value(text, known)
            if isinstance(found, str):
                return _METHODS[method](found)
    raise _NotData(ast.dump(node)[:80])
