"""Texts of data sets and models, made harmless for where they are shown: terminals, Markdown, LaTeX, spreadsheets."""

from __future__ import annotations

import re

# Everything that steers what shows a text, and the marks that reorder it; newline and tab stay.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_LATEX = {
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\textquotedbl{}",
    "–": "--",
    "…": r"\ldots{}",
    "†": r"\dag{}",
}


def has_control_characters(text: str) -> bool:
    return _STEERING.search(text) is not None


def escape_control_characters(text: str) -> str:
    """With control characters made visible instead of obeyed."""
    return _STEERING.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def one_line(text: str) -> str:
    return " ".join(escape_control_characters(text).split())


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", one_line(text))


def escape_latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in one_line(text))


def escape_csv(text: str) -> str:
    """A cell that a spreadsheet would take for a formula, as text; numbers stay numbers."""
    formula = re.match(r"\s*[=+\-@＝＋－＠]|[\t\r\n]", text) and not re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", text)
    return f"'{escape_control_characters(text)}" if formula else escape_control_characters(text)
