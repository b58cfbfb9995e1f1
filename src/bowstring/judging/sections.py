"""Sections of what a model wrote under headings, however it decorated them.

>>> read_preference("Analysis…\\n### **Most Likely Preference**:\\n\\nBullets, no numbers.")
'Bullets, no numbers.'
>>> read_rating("### Evaluation Score\\n**8.5**/10")
8.5
"""

from __future__ import annotations

import re

_MARKS = r"[#*_>\s\-=:.\d]*?"  # what people put before a heading's words
_NUMBER = re.compile(
    r"(?<![\w.,/-])(\d{1,3}(?:\.\d+)?)(?![\w]|[.,]\d)\s*(?:(?:/|out of)\s*10\b)?(?!\s*(?:-|–|to)\s*\d)"
)


def read_section(text: str, title: str) -> str | None:
    """What stands under the last heading of this title, up to the next heading; None where there is none."""
    heading = re.compile(rf"^{_MARKS}{re.escape(title)}\b[*_\s]*:?[*_]*", re.IGNORECASE | re.MULTILINE)
    found = list(heading.finditer(text))
    if not found:
        return None
    rest = text[found[-1].end() :]
    following = re.search(r"^\s{0,3}#{1,6}\s", rest, re.MULTILINE)
    section = rest[: following.start()] if following else rest
    return section.strip() or None


def read_preference(text: str) -> str | None:
    """The preference that a model inferred: the first paragraph under its heading, on one line."""
    section = read_section(text, "Most Likely Preference")
    if section is None:
        return None
    paragraph = re.split(r"\n\s*\n", section)[0]
    plain = " ".join(paragraph.split()).strip("*_\"'“”` ")
    return plain or None


def read_rating(text: str) -> float | None:
    """A score from 1 to 10: the first number under the last heading; None where there is none, or it is outside."""
    section = read_section(text, "Evaluation Score") or read_section(text, "Score")
    if section is None:
        return None
    first = next((line for line in section.splitlines() if line.strip(" *_`#>-")), "")
    match = _NUMBER.search(re.sub(r"[*_`\[\]]", " ", first))
    rating = float(match[1]) if match else None
    return rating if rating is not None and 1 <= rating <= 10 else None
