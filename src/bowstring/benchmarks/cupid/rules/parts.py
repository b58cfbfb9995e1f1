"""An answer taken apart for the checks of rules: lines by kind, sentences, words.

>>> parts_of("Hello Ada,\\n\\nThe roof leaks. Does it matter?\\n\\n- tiles\\n- beams").sentences
('The roof leaks.', 'Does it matter?', 'tiles', 'beams')
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

_BULLET = re.compile(r"^\s{0,8}[-*•+]\s+(?=\S)")
_NUMBER = re.compile(r"^\s{0,8}\*{0,2}(?:step\s+)?\d{1,2}[.):]\*{0,2}\s+(?=\S)", re.IGNORECASE)
_HEADING = re.compile(r"^\s{0,3}#{1,6}\s+(?=\S)")
_BOLD_LINE = re.compile(r"^\s*\*\*[^*]{1,80}\*\*:?\s*$")
_TABLE = re.compile(r"^\s*\|.*\|\s*$")
_RULER = re.compile(r"^\s*\|[\s:|-]+\|\s*$|^\s*[-*_]{3,}\s*$")
_GREETING = re.compile(
    r"^\W*(?:dear\b|hello\b|hi\b|hey\b|good (?:morning|afternoon|evening|day)\b|greetings\b|welcome\b)", re.IGNORECASE
)
_BOLD = re.compile(r"\*\*[^*\n]{1,200}\*\*|__[^_\n]{1,200}__")
_MARKS = re.compile(r"\*\*|__|`")
_END = re.compile(r"(?<=[.!?])[\"'”’)\]]*\s+(?=[\"'“‘(\[]*\w)")
_ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|Dr|Mr|Mrs|Ms|St|No|vs|approx)\.$")
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_LONGEST_GREETING = 9  # words


@dataclass(frozen=True, slots=True)
class Parts:
    """What the checks look at."""

    text: str
    words: tuple[str, ...]  # lower case; without list marks
    sentences: tuple[str, ...]  # without greeting line, headings, tables and list marks
    greeted: bool
    paragraphs: int  # blocks of running text
    blocks: int  # of any kind, without the greeting
    bullets: int
    numbers: int  # numbered points
    rows: int  # of tables
    headings: int
    bold: int

    @property
    def plain(self) -> str:
        """The sentences as one text in lower case, with straight apostrophes."""
        return " ".join(self.sentences).lower().replace("’", "'")


@lru_cache(maxsize=512)
def parts_of(text: str) -> Parts:
    counts = {"bullet": 0, "number": 0, "row": 0, "heading": 0}
    sentences: list[str] = []
    words: list[str] = []
    paragraphs = blocks = 0
    greeted = False
    for block in re.split(r"\n\s*\n", text.strip()):
        running = False
        lines = [line for line in block.split("\n") if line.strip() and not _RULER.match(line)]
        if not lines:
            continue
        counted = False
        for line in lines:
            kind, plain = _kind(line)
            if not sentences and not greeted and kind == "text" and _GREETING.match(plain):
                greeted = True
                greeting, rest = _split_greeting(plain)
                words += _WORD.findall(greeting.lower())
                if not rest:
                    continue
                plain = rest
            counted = True
            words += _WORD.findall(plain.lower())
            if kind != "text":
                counts[kind] += 1
            if kind in ("row", "heading"):
                continue
            running |= kind == "text"
            sentences += _sentences(plain)
        paragraphs += running
        blocks += counted
    bold = len(_BOLD.findall(text))
    return Parts(
        text,
        tuple(words),
        tuple(sentences),
        greeted,
        paragraphs,
        blocks,
        counts["bullet"],
        counts["number"],
        counts["row"],
        counts["heading"],
        bold,
    )


def _kind(line: str) -> tuple[str, str]:
    """The kind of a line, and its text without marks."""
    if _TABLE.match(line):
        return "row", line.replace("|", " ")
    if _HEADING.match(line) or _BOLD_LINE.match(line):
        return "heading", _MARKS.sub("", _HEADING.sub("", line)).strip()
    for kind, pattern in (("number", _NUMBER), ("bullet", _BULLET)):
        if match := pattern.match(line):
            return kind, _MARKS.sub("", line[match.end() :]).strip()
    return "text", _MARKS.sub("", line).strip()


def _split_greeting(line: str) -> tuple[str, str]:
    """A line that begins with a greeting, as the greeting and the rest."""
    head, comma, rest = line.partition(",")
    if comma and len(head.split()) <= _LONGEST_GREETING and not re.search(r"[.!?]", head):
        return head + comma, rest.strip()
    found = _END.split(line, maxsplit=1)
    if len(found[0].split()) <= _LONGEST_GREETING:
        return found[0], found[1].strip() if len(found) > 1 else ""
    return "", line


def _sentences(text: str) -> list[str]:
    found: list[str] = []
    for piece in _END.split(text):
        if found and _ABBREVIATION.search(found[-1]):
            found[-1] = f"{found[-1]} {piece}"
        else:
            found.append(piece)
    return [sentence for sentence in (one.strip() for one in found) if _WORD.search(sentence)]
