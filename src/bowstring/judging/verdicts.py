"""Verdicts: what a judge decided, parsed from what it wrote.

    >>> read_pairwise("1. Personalization: B.\\nBetter Response: B, because A ignores the trip")
    'B'

Parsing is strict, because a guessed verdict is worse than one counted as unparsed (None).
"""

from __future__ import annotations

import re
from typing import Literal

from bowstring.labels import TIE

Choice = Literal["A", "B", "tie"]
TREATMENTS = ("respected", "mentioned", "omitted", "violated")  # how an answer may treat a dislike

# A verdict line: a label, optionally numbered and formatted, followed by a colon and the verdict; or a heading, with
# the verdict on the next line.
_PREFIX = r"^[^\w\n]*(?:\d{1,2}[.)][^\w\n]*)?(?:(?:the|final|overall|my)\s+){0,2}"
_BETTER = re.compile(_PREFIX + r"better (?:response|answer)[^\w\n:]*(?::(?P<rest>.*)|$)", re.IGNORECASE)
_SATISFIED = re.compile(_PREFIX + r"satisfaction[^\w\n:]*(?::(?P<rest>.*)|$)", re.IGNORECASE)
_CORRECT = re.compile(_PREFIX + r"correct[^\w\n:]*(?::(?P<rest>.*)|$)", re.IGNORECASE)
_DRAGGED = re.compile(_PREFIX + r"dragged[ -]in[^\w\n:]*(?::(?P<rest>.*)|$)", re.IGNORECASE)
_DISLIKE = re.compile(_PREFIX + r"dislike[^\w\n:]*(?::(?P<rest>.*)|$)", re.IGNORECASE)
_TREATED = re.compile(
    r"\W*(respected|mentioned|omitted|violated)\b(?!\s*(?:[/|,]|(?:and|or)\b)\s*(?:respected|mentioned|omitted|violated)\b)",
    re.IGNORECASE,
)
_MARKS = re.compile(r"\\boxed|[*_`{}\[\]()\"'“”$#]+")
# 'A (tie-break)' chooses A.
_TIE = re.compile(
    r"\W*(?:it(?:'?\s?s|\s+is)\s+)?(?:(?:answer|response)\s+)?(?:an?\s+)?(?:tie|draw)\b(?!\W*break)", re.IGNORECASE
)
_OTHER = r"(?:(?:answer|response)\s+)?[AB]\b"
_SIDE = re.compile(r"\W*(?:(?i:answer|response|assistant|option)\W*)?(?P<side>[AaBb])\b(?P<after>.*)")
# A second choice right after the first is not a verdict: 'A/B', 'A and B are equal', 'A or B'.
_ANOTHER = re.compile(
    r"\s*(?:[/|&+,]|,?\s*(?:and|or|vs\.?|versus)\b)\s*(?:(?:answer|response)\s+)?(?:A|B|tie(?!\W*break))\b(?!\w)",
    re.IGNORECASE,
)
# Both sides, and that they are equal: 'A = B', 'A ≈ B', 'A - B tie', 'A and B are equal', 'A is tied with B'.
_EQUAL = re.compile(
    rf"\s*(?:(?:=+|≈|≃|≅|≡|~=?|\\(?:approx|equiv|sim(?:eq)?)\b)\s*{_OTHER}"
    rf"|(?:[-–—/|&+,]+|,?\s*(?:and|or|vs\.?|versus)(?!\w))\s*{_OTHER}"
    r"[\s:.()–—-]*(?:(?:are|is|both)\s+)?(?:an?\s+)?(?:tied?|draw|equal|equally\s+good)\b(?!\W*break)"
    rf"|(?:is\s+)?(?:tie[sd]?(?:\s+with)?|equals?(?:\s+to)?|equal\s+to|as\s+good\s+as)\s+{_OTHER})",
    re.IGNORECASE,
)
# Which side of a comparison is greater: 'A < B'.
_GREATER = re.compile(rf"\s*(?P<sign>[<>≪≫])(?!=)\s*{_OTHER}", re.IGNORECASE)
# Anything else that is said of both sides at once is no verdict: 'A <= B', 'A ≠ B', 'A - B'.
_BOTH = re.compile(rf"\s*(?:(?:[<>=≤≥≠≪≫~!]|\\\w+)+\s*{_OTHER}|[–—-]+\s*{_OTHER}\s*\.?\s*$)", re.IGNORECASE)
_YES_NO = re.compile(r"\W*(yes|no)\b(?!\s*(?:[/|]|or\b))", re.IGNORECASE)


def read_pairwise(text: str) -> Choice | None:
    """Return the choice of the last verdict line, or None if there is none or it cannot be parsed."""
    said = _last(text, _BETTER)
    if said is None:
        return None
    if _TIE.match(said):
        return TIE
    match = _SIDE.match(said)
    if match is not None and _EQUAL.match(match["after"]):
        return TIE
    if match is not None and (greater := _GREATER.match(match["after"])):
        first = match["side"] in "Aa"
        return "A" if first == (greater["sign"] in ">≫") else "B"
    if match is None or _ANOTHER.match(match["after"]) or _BOTH.match(match["after"]):
        return None
    if match["side"].islower() and match["after"].strip(" .!"):
        return None  # 'a bit better is B': an article
    return "A" if match["side"] in "Aa" else "B"


def read_satisfaction(text: str) -> bool | None:
    """Return whether the last verdict line says yes, or None if there is none or it cannot be parsed."""
    said = _last(text, _SATISFIED)
    match = _YES_NO.match(said) if said is not None else None
    return match[1].lower() == "yes" if match else None


def read_correct(text: str) -> bool | None:
    """Return whether the last line `Correct: YES|NO` says yes, or None if there is none or it cannot be parsed."""
    said = _last(text, _CORRECT)
    match = _YES_NO.match(said) if said is not None else None
    return match[1].lower() == "yes" if match else None


def read_dragged_in(text: str) -> bool | None:
    """Return whether the answer brings up something irrelevant, according to the last verdict line."""
    said = _last(text, _DRAGGED)
    match = _YES_NO.match(said) if said is not None else None
    return match[1].lower() == "yes" if match else None


def read_dislike(text: str) -> str | None:
    """Return how an answer treats a dislike, one of `TREATMENTS`, according to the last verdict line."""
    said = _last(text, _DISLIKE)
    match = _TREATED.match(said) if said is not None else None
    return match[1].lower() if match else None


def _last(text: str, label: re.Pattern[str]) -> str | None:
    """Return the text of the last line with this label, without markup; if it is empty, a single word on the next
    line."""
    lines = text.splitlines()
    for n in range(len(lines) - 1, -1, -1):
        match = label.match(lines[n])
        if match is None:
            continue
        said = _MARKS.sub(" ", match["rest"] or "").strip()
        if said:
            return said
        following = next((_MARKS.sub(" ", line).strip() for line in lines[n + 1 :] if line.strip()), "")
        return following if len(following.split()) == 1 else ""
    return None
