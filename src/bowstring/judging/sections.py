"""Parse sections of a model's output by their headings, however these are formatted.

    >>> read_preference("Analysis…\\n### **Most Likely Preference**:\\n\\nBullets, no numbers.")
    'Bullets, no numbers.'
    >>> read_rating("### Evaluation Score\\n**8.5**/10")
    8.5

Parsing is line by line with bounded patterns, so that repetitive output cannot cause quadratic time.
"""

from __future__ import annotations

import re
from functools import lru_cache

PREFERENCE_TITLE = "Most Likely Preference"
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_SCALE = re.compile(r"\s*[(\[][^)\]]{0,24}[)\]]")
_LABEL_LINE = re.compile(r"\s*\*\*[^*]{1,40}\*\*\s*:|\s*\*\*[^*]{1,40}:\*\*")
_RULE = re.compile(r"\W*")
_EMPHASIS = re.compile(r"\*{1,3}(?![\s*])")
_LIST_MARK = re.compile(r"^(?:[>\-•]\s*|\*\s+)+")
_PREFERENCE_LABEL = re.compile(
    r"^\(\d{1,3} words\)\s*|^(?P<mark>[*_]{1,3})(?:the )?preference(?:(?P=mark)\s?:|\s?:\s?(?P=mark))\s*"
    r"|^(?:the )?preference\s*:\s*",
    re.IGNORECASE,
)
_PAIRS = (
    ("**", "**"),
    ("__", "__"),
    ("*", "*"),
    ("_", "_"),
    ('"', '"'),
    ("“", "”"),
    ("'", "'"),
    ("‘", "’"),
    ("`", "`"),
)
_APOSTROPHE = re.compile(r"(?<=\w)['’](?=\w)")
# A number with an optional scale, followed by nothing, a reason, or words without another number.
_RATING = re.compile(
    r"(?:score\s*[:=]\s*)?(\d{1,3}(?:\.\d{1,3})?)\s*(?:/\s*10\b|out of 10\b)?\s*"
    r"(?:[.,;!]?\s*|[.,;]?\s*(?:because|since|as|for)\b.*|[-–—(:,.;]\s*[^\d]*)",
    re.IGNORECASE,
)


def read_section(text: str, title: str) -> list[str] | None:
    """Return the lines under the last heading of this title, up to the next heading; None if there is none."""
    lines = text.splitlines()
    found: tuple[int, str] | None = None
    for n, line in enumerate(lines):
        if (inline := _heading_rest(line, title)) is not None:
            found = (n, inline)
    if found is None:
        return None
    at, inline = found
    section = [inline] if inline else []
    for line in lines[at + 1 :]:
        if _HEADING.match(line):
            break
        section.append(line)
    return section


@lru_cache(maxsize=16)
def _title(title: str) -> re.Pattern[str]:
    """Return a pattern for a title at the start of a line, after markup, a number, or a word or two such as 'Final'."""
    return re.compile(
        rf"(?P<marks>[^\w\n]{{0,24}})(?:\d{{1,2}}[.)]\s{{1,3}}[^\w\n]{{0,8}})?(?P<words>(?:[\w'’]{{1,12}}\s){{0,2}})"
        rf"{re.escape(title)}s?\b(?P<rest>.*)",
        re.IGNORECASE,
    )


def _heading_rest(line: str, title: str) -> str | None:
    """Return what follows on a heading's own line, or None if the line is not a heading of this title."""
    match = _title(title).match(line)
    if match is None:
        return None
    decorated = bool(set("#*_") & set(match["marks"]))
    rest = _SCALE.sub("", match["rest"], count=1) if _SCALE.match(match["rest"]) else match["rest"]
    plain = rest.lstrip("*_# \t")
    if plain.startswith((":", "：")):
        before = line[: match.start("rest")]
        return _without_heading_marks(plain[1:].strip(), opened=_EMPHASIS.search(before), closed=rest[:1] == "*")
    if match["words"] and not decorated:
        return None  # a sentence that mentions the title
    if not plain or (decorated and plain[0].isdigit()):
        return plain.strip()
    return None


def _without_heading_marks(text: str, *, opened: re.Match[str] | None, closed: bool) -> str:
    """Return what follows a heading's colon, without the marks that close the heading's own emphasis."""
    if opened is None or closed:
        return text
    mark = opened[0]
    return text.removeprefix(mark).lstrip() if text.startswith(mark) else text.removesuffix(mark).rstrip()


def read_preference(text: str) -> str | None:
    """Return the inferred preference: the first paragraph under its heading, on one line."""
    section = read_section(text, PREFERENCE_TITLE)
    paragraph: list[str] = []
    for line in section or ():
        empty = _RULE.fullmatch(line) is not None
        if paragraph and (empty or _LABEL_LINE.match(line)):
            break
        if not empty:
            paragraph.append(_LIST_MARK.sub("", line.strip()) if not paragraph else line.strip())
    plain = without_enclosing_marks(" ".join(" ".join(paragraph).split()))
    return without_enclosing_marks(_PREFERENCE_LABEL.sub("", plain, count=1)) or None


def without_enclosing_marks(text: str) -> str:
    """Return a text without pairs of quotes or emphasis marks that enclose all of it. Other marks are part of it.

    >>> without_enclosing_marks('**"Short" and "dry".**')
    '"Short" and "dry".'
    """
    while True:
        text = text.strip()
        inside = next((found for first, last in _PAIRS if (found := _inside(text, first, last)) is not None), None)
        if inside is None:
            return text
        text = inside


def _inside(text: str, first: str, last: str) -> str | None:
    """Return what a pair of marks encloses; None if it does not enclose the whole text."""
    if len(text) <= len(first + last) or not (text.startswith(first) and text.endswith(last)):
        return None
    inside = text[len(first) : -len(last)]
    apart = _APOSTROPHE.sub("", inside)
    return None if first in apart or last in apart else inside


def read_rating(text: str) -> float | None:
    """Return the score from 1 to 10 under the last heading; None if missing, out of range or ambiguous."""
    section = read_section(text, "Evaluation Score")
    if section is None:
        section = read_section(text, "Score")
    first = next((line for line in section or () if not _RULE.fullmatch(line)), "")
    match = _RATING.fullmatch(re.sub(r"[*_`\[\]]+", " ", first[:500]).strip())
    rating = float(match[1]) if match else None
    return rating if rating is not None and 1 <= rating <= 10 else None
