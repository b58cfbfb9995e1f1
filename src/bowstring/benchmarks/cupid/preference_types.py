"""The 16 types of preferences and their three categories, as published.

>>> preference_type("Style: tone"), category_of("Style: tone")
('Tone', 'Style')
"""

from __future__ import annotations

import re

CATEGORIES: dict[str, tuple[str, ...]] = {
    "Style": ("Formality", "Clarity", "Conciseness", "Vividness", "Format", "Tone"),
    "Content": ("Relevance", "Depth", "Creativity", "Efficiency", "Practicality"),
    "Harmless": ("Accuracy", "Morality", "Safety", "Sensitivity", "Trustworthiness"),
}
_TYPES = {name.lower(): name for names in CATEGORIES.values() for name in names}
_CATEGORY_OF = {name: category for category, names in CATEGORIES.items() for name in names}
_NAMED = {category.lower(): category for category in CATEGORIES}


def preference_type(text: str) -> str | None:
    """Return the one type that a text names; None if it names none or several."""
    found = {_TYPES[word] for word in _words(text) if word in _TYPES}
    return found.pop() if len(found) == 1 else None


def category_of(text: str) -> str | None:
    """Return the category of the type that a text names, or the category that it names itself; None if that is not
    clear."""
    found = {_CATEGORY_OF[_TYPES[word]] for word in _words(text) if word in _TYPES}
    found = found or {_NAMED[word] for word in _words(text) if word in _NAMED}
    return found.pop() if len(found) == 1 else None


def _words(text: str) -> list[str]:
    return re.findall(r"[a-z]+", text.lower())
