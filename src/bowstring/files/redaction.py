"""Redaction: remove secrets from text that is stored or shown: API keys in any encoding, and passwords in URLs.

>>> redact("401: sk-0123456789 is unknown at http://me:pass@host/v1", ["sk-0123456789"])
'401: … is unknown at http://…@host/v1'
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Iterable, Sequence
from urllib.parse import quote, unquote, urlsplit

MARK = "…"
_LEAST = 4  # minimum length of a secret: anything shorter is likely an ordinary word
_LEAST_IN_ENVIRONMENT = 8
_HOLDS_SECRET = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_USER = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^/?#\s]*@", re.IGNORECASE)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Remove the given secrets, secrets found in the environment, and user names and passwords in URLs."""
    known = {s for s in secrets if len(s) >= _LEAST} | _environment_secrets()
    for secret in sorted(known, key=len, reverse=True):
        for form in encoded_forms(secret):
            text = text.replace(form, MARK)
    return _USER.sub(rf"\1{MARK}@", text)


def error_line(error: BaseException, *, with_type: bool = False, limit: int | None = 200) -> str:
    """Return an exception as one redacted line, cut at `limit` characters; its type's name if it has no message."""
    name = type(error).__name__
    message = " ".join(redact(str(error)).split())  # cut after redaction, so that no partial key remains
    return (f"{name}: {message}" if with_type and message else message or name)[:limit]


def encoded_forms(secret: str) -> tuple[str, ...]:
    """Return the forms in which servers and libraries write a secret: raw, JSON-escaped, as a Python repr,
    URL-encoded."""
    escaped = json.dumps(secret)[1:-1]
    written = (secret, escaped, escaped.replace("/", r"\/"), repr(secret)[1:-1], quote(secret, safe=""), quote(secret))
    return tuple(sorted(dict.fromkeys(written), key=len, reverse=True))


def byte_patterns(secret: str) -> list[bytes]:
    """Return the byte patterns to look for in a response body: every form, plain and JSON-escaped once more."""
    found = encoded_forms(secret)
    twice = [json.dumps(form)[1:-1] for form in found]
    return [form.encode() for form in sorted({*found, *twice}, key=len, reverse=True)]


def credentials_in_url(url: str) -> list[str]:
    """Return the secrets in a URL: user name and password, also as an Authorization header encodes them."""
    raw = urlsplit(url).netloc.rpartition("@")[0]
    if not raw:
        return []
    user, _, password = raw.partition(":")
    both = f"{unquote(user)}:{unquote(password)}"
    found = [raw, both, user, password, unquote(user), unquote(password), base64.b64encode(both.encode()).decode()]
    return list(dict.fromkeys(filter(None, found)))


def replace_secrets(content: bytes, secrets: Sequence[bytes]) -> bytes:
    for secret in secrets:
        if secret in content:
            content = content.replace(secret, MARK.encode())
    return content


def _environment_secrets() -> set[str]:
    """Return API keys in environment variables, recognized by the variable names; short values are ignored."""
    return {
        value.strip()
        for name, value in os.environ.items()
        if _HOLDS_SECRET.search(name) and len(value.strip()) >= _LEAST_IN_ENVIRONMENT
    }
