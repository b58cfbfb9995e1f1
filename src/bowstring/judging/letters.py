"""The letter that an answer to a multiple-choice question states.

    >>> read_letter("B looks good at first.\\nThe answer is C.")
    'C'

Strict, as for verdicts: an answer that names several letters, or none, states no choice (None).
"""

from __future__ import annotations

import re

_MARKS = re.compile(r"\\boxed|[*_`{}\[\](\"'“”‘’$#<>]+")
_NOUN = r"(?:option|answer|reply|response|choice|letter)"
_LABEL = re.compile(r"^\W*(?:\d{1,2}[.)]\W*)?(?:(?:the|my|final|best)\s+){0,2}(?:choice|answer)\s*:(?P<rest>.*)$", re.I)
_STATED = (
    rf"(?:{_NOUN}|one|pick)\s+(?:is|would\s+be)(?:\s*:)?\s+(?:{_NOUN}\s+)?(?P<a>L)\b",
    rf"\b(?:choose|pick|select|chose|picked|selected|go\s+with|go\s+for)\s+(?:{_NOUN}\s+)?(?P<b>L)\b",
    rf"\b(?:{_NOUN}\s+)?(?P<c>L)\s+is\s+(?:(?:clearly|probably|the|my)\s+)*(?:best|right|correct|answer|choice)\b",
)
_ANOTHER = r"\s*(?:[/|&+,]|,?\s*(?:and|or)\b)\s*(?:{noun}\s+)?[{letters}]\b"


def read_letter(text: str, letters: str = "ABCDE") -> str | None:
    """Return the last choice that a text states, one of `letters`; None if there is none or it is not clear."""
    lines = [_MARKS.sub(" ", line).strip() for line in text.splitlines()]
    lines = [line for line in lines if line]
    labelled = [match["rest"].strip() for line in lines if (match := _LABEL.match(line))]
    if labelled:
        return _alone(labelled[-1], letters)
    if len(lines) == 1 and (alone := _alone(lines[0], letters)) is not None:
        return alone
    return _stated(" ".join(lines), letters) or _leading(lines, letters)


def _alone(said: str, letters: str) -> str | None:
    """Return the letter that a text consists of or begins with; the beginning must not be a word or a list."""
    whole = re.fullmatch(rf"(?:{_NOUN}\s+)?([{letters}])\W*", said, re.IGNORECASE)
    if whole:
        return whole[1].upper()
    match = re.match(rf"(?:(?i:{_NOUN})\s+)?([{letters}])(?=\s*[.:,;)–—-]|\s+because\b)", said)
    if match is None or _names_another(said, match[1], letters):
        return None
    return match[1]


def _stated(text: str, letters: str) -> str | None:
    """Return the letter of the last statement, such as 'the answer is C' or 'I choose C'."""
    another = re.compile(_ANOTHER.format(noun=_NOUN, letters=letters))
    found: list[tuple[int, str | None]] = []
    for pattern in _STATED:
        for match in re.finditer(pattern.replace("L)", f"[{letters}])"), text):
            letter = next(one for one in match.groupdict().values() if one)
            found.append((match.start(), None if another.match(text, match.end()) else letter))
    return max(found)[1] if found else None


def _leading(lines: list[str], letters: str) -> str | None:
    """Return the letter at the beginning of the first line, if the text names no other one in that way."""
    if not lines:
        return None
    if len(lines[0].split()) == 1:
        alone = _alone(lines[0], letters)
        return None if alone and _names_another(" ".join(lines[1:]), alone, letters) else alone
    match = re.match(rf"([{letters}])\s*[.:)–—-]\s", lines[0])
    if match is None or _names_another(" ".join(lines), match[1], letters):
        return None
    return match[1]


def _names_another(text: str, letter: str, letters: str) -> bool:
    """Return whether a text names another letter as an option: before a mark, or at its end."""
    others = letters.replace(letter, "")
    return re.search(rf"(?<![\w.])[{others}](?=\s*[.:,;)/–—-]|\s+(?:and|or)\b|\s*$)", text) is not None
