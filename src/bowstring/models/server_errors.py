"""Errors that servers send: which setting of a request they say is not supported.

>>> errors = read_errors({"error": {"message": "Unsupported value: 'temperature' does not support 0.6"}})
>>> unsupported_setting(errors, {"temperature": 0.6, "seed": 1}, "Hello!")
Unsupported(setting='temperature', value=0.6)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

_LONGEST = 2000  # characters of a message that are searched
_CODES = {
    *("unsupported_parameter", "unknown_parameter", "unrecognized_parameter", "parameter_not_supported"),
    *("unsupported_value", "extra_forbidden", "value_error.extra"),
}
_KINDS = r"(?:parameter|argument|field|property|option|setting|input|name|value)s?"
_NOT = (
    r"(?:not\s+(?:yet\s+|currently\s+)?(?:supported|allowed|permitted|accepted|available|recogni[sz]ed)"
    r"|not\s+an?\s+(?:valid|known|supported)\s|unsupported|deprecated|no\s+longer\s+supported|unknown|unrecogni[sz]ed)"
)
_DOES_NOT = r"(?:does\s+not|doesn't|do\s+not|don't|no\s+longer)\s+(?:support|accept|allow|take)s?\b"
_EXTRA = r"extra\s+(?:inputs|fields)\s+(?:are\s+)?not\s+permitted"
_BEFORE = rf"(?:{_NOT}|{_DOES_NOT}|unexpected|{_EXTRA})"
_AFTER = rf"(?:(?:is|are|was|has\s+been)\s+)?(?:{_NOT}|{_DOES_NOT}|{_EXTRA})"
_FILLER = rf"(?:\s+(?:the|this|request|keyword|body|model|for|on|in|by|supplied|{_KINDS}))*\s*[:=]?\s*"
_SAYS_UNSUPPORTED = re.compile(rf"{_BEFORE}|only the default", re.IGNORECASE)
_ABOUT_A_VALUE = re.compile(
    r"unsupported\s+value|only\s+the\s+default|support\s+(?:the\s+value\s+)?['\"]?-?[\d.]|"
    r"value\s+(?:\S+\s+)?(?:is\s+)?not\s+supported",
    re.IGNORECASE,
)

_SCHEMAS = re.compile(
    r"response[ _]format|output[ _]config|json[ _]?schema|structured[ _]outputs?|grammar", re.IGNORECASE
)

_REQUEST = re.compile(r"\\?[\"'](?:response_format|output_config|json_schema|messages)\\?[\"']\s*:")  # a quoted body


@dataclass(frozen=True, slots=True)
class ServerError:
    """One error of a response: its message, its code, and the parameter that it is about, "" where not given."""

    message: str
    code: str = ""
    param: str = ""


@dataclass(frozen=True, slots=True)
class Unsupported:
    """A setting that a model does not support: with a value only that value, with None any."""

    setting: str
    value: Any = None


def read_errors(answer: Any) -> list[ServerError]:
    """Return the errors of a response in any provider's form."""
    return list(_errors_in(answer, depth=4))


def _errors_in(answer: Any, depth: int) -> Iterator[ServerError]:
    if isinstance(answer, str):
        yield ServerError(answer[:_LONGEST])
    elif isinstance(answer, list) and depth:
        for one in answer[:20]:
            yield from _errors_in(one, depth - 1)
    elif isinstance(answer, dict) and depth:
        inner = next((answer[k] for k in ("error", "detail", "message", "Message", "msg") if answer.get(k)), None)
        if not isinstance(inner, str):
            yield from _errors_in(inner, depth - 1)
            return
        place = answer.get("loc")
        param = place[-1] if isinstance(place, list) and place else answer.get("param")
        code = answer.get("code") if isinstance(answer.get("code"), str) else answer.get("type")
        yield ServerError(inner[:_LONGEST], *(one if isinstance(one, str) else "" for one in (code, param)))


def unsupported_setting(errors: Sequence[ServerError], sent: Mapping[str, Any], prompt: str) -> Unsupported | None:
    """Return which of the settings sent is not supported, if an error says so; one that quotes the prompt does not."""
    for error in errors:
        for setting, value in sent.items():
            if _names(error, setting, prompt):
                about_value = error.code == "unsupported_value" or _ABOUT_A_VALUE.search(error.message)
                return Unsupported(setting, value if about_value else None)
    return None


def is_about_schema(errors: Sequence[ServerError], prompt: str) -> bool:
    """Return whether an error is about the JSON schema of the answer; a word of the prompt may be a quotation."""
    for error in errors:
        found = _SCHEMAS.search(f"{error.param} {error.message}")
        quoted = found is not None and (
            found[0].lower() in prompt.lower() or _REQUEST.search(error.message) is not None
        )
        if found is not None and not quoted:
            return True
    return False


def _names(error: ServerError, setting: str, prompt: str) -> bool:
    if error.param:
        about = re.split(r"[.\[\]/]", error.param.rstrip("]"))[-1] == setting
        return about and (error.code in _CODES or _SAYS_UNSUPPORTED.search(error.message) is not None)
    found = _sentence(setting).search(error.message)
    return found is not None and _words(found[0]) not in _words(prompt)


@cache
def _sentence(setting: str) -> re.Pattern[str]:
    """Return a pattern for a sentence that says that a setting is not supported."""
    quoted, bare = rf"(['\"`]){setting}\{{n}}", rf"(?<![\w'\"`-]){setting}(?![\w'\"`-])"
    starts = rf"(?:^|[.:;,(\[]\s*|\b(?:the|{_KINDS})\s+)"
    after = rf"(?:\s+{_KINDS})?\s*[:,]?\s*(?:\W*msg\W+)?{_AFTER}"
    before = rf"{_BEFORE}{_FILLER}"
    forms = (
        rf"{quoted.format(n=1)}\W{{0,3}}{after}",
        rf"{starts}{bare}{after}",
        rf"{before}(?:{quoted.format(n=2)}|{bare})",
    )
    return re.compile("|".join(forms), re.IGNORECASE)


def _words(text: str) -> str:
    return " ".join(text.split()).casefold()
