"""Redaction: remove secrets from text that is stored or shown: API keys in any encoding, and passwords in URLs.

>>> redact("401: sk-0123456789 is unknown at http://me:pass@host/v1", ["sk-0123456789"])
'401: … is unknown at http://…@host/v1'
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import unquote, urlsplit

MARK = "…"
_LEAST = 4  # minimum length of a secret: anything shorter is likely an ordinary word
_LEAST_IN_ENVIRONMENT = 8
_HOLDS_SECRET = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
# Searched from "://" on, not from the scheme before it: every letter of a long word could begin a scheme.
_USER = re.compile(r"(://)[^/?#\s]*@")
_SHORT_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", '"': '"', "'": "'", "/": "/"}
_LONGEST_PATTERN = 400  # characters of a secret that are sought in every form
_LONGEST_ERROR = 100_000  # characters of an exception's message that are searched


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Remove the given secrets, secrets found in the environment, and user names and passwords in URLs."""
    text = remove_secrets(text, [*(s for s in secrets if len(s) >= _LEAST), *_environment_secrets()])
    return _USER.sub(rf"\1{MARK}@", text)


def remove_secrets(text: str, secrets: Iterable[str]) -> str:
    """Remove secrets, in whatever form servers and libraries write them; the time is linear in the text's length."""
    plain = not any(sign in text for sign in "\\%\0")  # nothing is escaped, encoded or in UTF-16
    for secret in sorted(set(secrets), key=len, reverse=True):
        text = text.replace(secret, MARK) if plain else _pattern(secret).sub(MARK, text)
    return text


@lru_cache(maxsize=256)
def _pattern(secret: str) -> re.Pattern[str]:
    head, rest = secret[:_LONGEST_PATTERN], secret[_LONGEST_PATTERN:]
    written = "".join(_written(part) for part in re.findall(r"\\+|[^\\]", head))
    plain, escaped = re.escape(rest), re.escape(json.dumps(rest)[1:-1])
    return re.compile(f"{written}(?:{plain}|{escaped})?")


def _written(part: str) -> str:
    """Return a pattern for a character of a secret, or for a run of backslashes: raw, escaped as in JSON or Python
    (also more than once), URL-encoded, or in UTF-16 that was read byte by byte."""
    if part[0] == "\\":
        return rf"(?:\\(?:\x00|(?i:u005c|x5c))?|(?i:%5c)){{{len(part)},{8 * len(part)}}}"
    units = part.encode("utf-16-be", "surrogatepass")
    forms = ["".join(rf"\\{{1,8}}+u{units[n : n + 2].hex()}" for n in range(0, len(units), 2))]
    forms.append("".join(f"%{byte:02x}" for byte in part.encode("utf-8", "surrogatepass")))
    if ord(part) < 256:
        forms.append(rf"\\{{1,8}}+x{ord(part):02x}")
    if part in _SHORT_ESCAPES:
        forms.append(rf"\\{{1,8}}+{_SHORT_ESCAPES[part]}")
    return rf"(?:{re.escape(part)}|(?i:{'|'.join(forms)}))\x00?"


def error_line(error: BaseException, *, with_type: bool = False, limit: int | None = 200) -> str:
    """Return an exception as one redacted line, cut at `limit` characters; its type's name if it has no message."""
    name = type(error).__name__
    try:
        text = str(error)
    except Exception:  # an exception class of the user may have a faulty __str__
        text = ""
    # Cut to `limit` after redaction, so that no partial key remains.
    message = " ".join(redact(text[:_LONGEST_ERROR]).split())
    return (f"{name}: {message}" if with_type and message else message or name)[:limit]


def credentials_in_url(url: str) -> list[str]:
    """Return the secrets in a URL: user name and password, also as an Authorization header encodes them."""
    raw = urlsplit(url).netloc.rpartition("@")[0]
    if not raw:
        return []
    user, _, password = raw.partition(":")
    both = f"{unquote(user)}:{unquote(password)}"
    found = [raw, both, user, password, unquote(user), unquote(password), base64.b64encode(both.encode()).decode()]
    return list(dict.fromkeys(filter(None, found)))


def without_credentials(url: str) -> str:
    """Return a URL without user name and password."""
    parts = urlsplit(url)
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


def _environment_secrets() -> set[str]:
    """Return API keys in environment variables, recognized by the variable names; short values are ignored."""
    return {
        value.strip()
        for name, value in os.environ.items()
        if _HOLDS_SECRET.search(name) and len(value.strip()) >= _LEAST_IN_ENVIRONMENT
    }
