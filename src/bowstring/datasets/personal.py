"""Search for text that looks like real personal information: e-mail and street addresses, phone, card and id numbers.

Text is matched by pattern, and by check digit where there is one. Values reserved for examples (example.com, 555-01xx)
are ignored. A finding is for a person to review, not a verdict.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass

from bowstring.datasets.dataset import DataSet


@dataclass(frozen=True, slots=True)
class Finding:
    place: str
    kind: str
    text: str

    def __str__(self) -> str:
        return f"{self.place}: {self.kind}: {self.text}"

    def as_json(self) -> dict[str, str]:
        return asdict(self)


_STREETS = (
    "Street|St|Avenue|Ave|Road|Rd|Boulevard|Blvd|Lane|Ln|Drive|Dr|Court|Ct|Square|Sq|Terrace|Crescent|Close"
    "|Way|Place|Pl|Parkway|Pkwy|Highway|Hwy"
)


# Phone numbers reserved for fiction: North America's 555-01xx, and Ofcom's.
_FICTION = re.compile(r"(?:55501\d\d|79460\d{3}|4960\d{3}|7700900\d{3})$")


def _is_luhn(text: str) -> bool:
    digits = [int(c) for c in reversed(text) if c.isdigit()]
    doubled = (d * 2 - 9 if d > 4 else d * 2 for d in digits[1::2])
    return len(set(digits)) > 1 and (sum(digits[::2]) + sum(doubled)) % 10 == 0


def _is_iban(text: str) -> bool:
    compact = text.replace(" ", "")
    return int("".join(str(int(c, 36)) for c in compact[4:] + compact[:4])) % 97 == 1


def _is_reachable(text: str) -> bool:
    """Return whether a phone number has a plausible number of digits and is not reserved for fiction."""
    digits = re.sub(r"\D", "", text)
    return 7 <= len(digits) <= 15 and not _FICTION.search(digits) and len(set(digits)) > 2


def _is_deliverable(text: str) -> bool:
    domain = text.rsplit("@", 1)[1].lower()
    return not re.search(r"(^|\.)(example\.(com|org|net)|example|test|invalid|localhost)$", domain)


# Kind, pattern, and the check that a match must pass. Earlier kinds take precedence over later ones.
_KINDS: tuple[tuple[str, re.Pattern[str], Callable[[str], bool]], ...] = (
    ("e-mail address", re.compile(r"[\w.+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"), _is_deliverable),
    ("bank account", re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b"), _is_iban),
    ("card number", re.compile(r"(?<![\d.-])(?:\d[ -]?){12,18}\d(?![\d-])"), _is_luhn),
    (
        "identity number",
        re.compile(
            r"(?<![\d-])(?!000|666|9)\d{3}-(?!00)\d{2}-(?!0000)\d{4}(?![\d-])"  # US social security
            r"|\b(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z]{2} ?\d{2} ?\d{2} ?\d{2} ?[A-D]\b"  # UK insurance
            r"|(?<![\d-])\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-[1-8]\d{6}(?![\d-])"  # KR registration
        ),
        lambda text: True,
    ),
    (
        "phone number",
        re.compile(
            r"(?<![\w.+-])(?<!\d )(?:\+\d{1,3}[ .-]?(?:\(\d{1,4}\)[ .-]?)?\d{1,4}(?:[ .-]?\d{2,4}){2,4}"
            r"|(?:1[ .-])?(?:\(\d{3}\) ?|\d{3}[.-])\d{3}[ .-]\d{4}"
            r"|0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4})(?![\w-])(?! \d)"
        ),
        _is_reachable,
    ),
    (
        "street address",
        re.compile(
            rf"\b\d{{1,5}}[A-Za-z]?,? (?:[NSEW]\.? )?(?:[A-Z][\w'’.-]*|\d{{1,3}}(?:st|nd|rd|th))"
            rf"(?: [A-Z][\w'’.-]*){{0,3}} (?:{_STREETS})\b(?!-)"
            r"|\bP\.? ?O\.? Box \d+"
            r"|\b\d{1,4},? (?:rue|avenue|boulevard|place|via|calle|rua) (?:\w{1,3}['’ ])*[A-Z]\w+"
            r"|\b[A-ZÄÖÜ][a-zäöüß]+(?:straße|strasse|gasse|weg|platz|laan|straat) \d{1,4}\b"
        ),
        lambda text: True,
    ),
)


def find_personal_data(text: str) -> Iterator[tuple[str, str]]:
    """Yield (kind, match) for everything in a text that looks like personal information."""
    if "@" not in text and not any(c.isdigit() for c in text):
        return
    for kind, form, holds in _KINDS:
        found: list[str] = []

        def claim(match: re.Match[str], holds: Callable[[str], bool] = holds, found: list[str] = found) -> str:
            if not holds(match[0]):
                return match[0]
            found.append(match[0])
            return "\0" * len(match[0])

        text = form.sub(claim, text)
        yield from ((kind, match) for match in found)


def search_data_set(data: DataSet) -> Iterator[Finding]:
    for place, text in data.places():
        for kind, match in find_personal_data(text):
            yield Finding(place, kind, match)
