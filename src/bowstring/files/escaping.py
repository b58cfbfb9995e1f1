"""Escape text from data sets and models for the place it is shown in: terminals, Markdown, LaTeX, spreadsheets."""

from __future__ import annotations

import re

# Control characters and bidirectional marks; newline and tab are allowed.
_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
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
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
}


def has_control_characters(text: str) -> bool:
    return _CONTROL.search(text) is not None


def escape_control_characters(text: str) -> str:
    """Replace control characters with visible escape sequences."""
    return _CONTROL.sub(lambda m: f"\\x{ord(m[0]):02x}" if ord(m[0]) < 256 else f"\\u{ord(m[0]):04x}", text)


def replace_surrogates(text: str) -> str:
    """Replace lone surrogates, which JSON allows but UTF-8 files cannot hold, with question marks."""
    return text.encode("utf-8", "replace").decode()


def one_line(text: str) -> str:
    return " ".join(escape_control_characters(text).split())


def escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>|#])", r"\\\1", one_line(text))


def escape_latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in one_line(text))


def escape_csv(text: str) -> str:
    """Escape a cell that a spreadsheet would read as a formula; numbers stay numbers."""
    formula = re.match(r"\s*[=+\-@＝＋－＠]|[\t\r\n]", text) and not re.fullmatch(r"[+-]?[\d.,]+(e[+-]?\d+)?", text)
    return f"'{escape_control_characters(text)}" if formula else escape_control_characters(text)
