"""Secrets taken out of texts that are stored or shown: keys in whatever form, and passwords in addresses.

>>> redacted("401: sk-0123456789 is unknown at http://me:pass@host/v1", ["sk-0123456789"])
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
_LEAST = 4  # characters of a secret: a shorter one is a word, and as good as none
_LEAST_IN_ENVIRONMENT = 8
_HOLDS_SECRET = re.compile(r"(KEY|KEY_ID|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_USER = re.compile(r"\b([a-z][a-z0-9+.-]*://)[^/?#\s]*@", re.IGNORECASE)


def redact(text: str, secrets: Iterable[str] = ()) -> str:
    """Without these secrets, those that the environment holds, and the names and passwords in addresses."""
    known = {s for s in secrets if len(s) >= _LEAST} | _environment_secrets()
    for secret in sorted(known, key=len, reverse=True):
        for form in encoded_forms(secret):
            text = text.replace(form, MARK)
    return _USER.sub(rf"\1{MARK}@", text)


def encoded_forms(secret: str) -> tuple[str, ...]:
    """A secret as servers and libraries write it: as it is, inside JSON or a Python text, in an address."""
    escaped = json.dumps(secret)[1:-1]
    written = (secret, escaped, escaped.replace("/", r"\/"), repr(secret)[1:-1], quote(secret, safe=""), quote(secret))
    return tuple(sorted(dict.fromkeys(written), key=len, reverse=True))


def byte_patterns(secret: str) -> list[bytes]:
    """What to look for in a body: every form, and each inside a JSON text once more."""
    found = encoded_forms(secret)
    twice = [json.dumps(form)[1:-1] for form in found]
    return [form.encode() for form in sorted({*found, *twice}, key=len, reverse=True)]


def credentials_in_url(url: str) -> list[str]:
    """What is secret in a server's address: name and password, also as a header carries them."""
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
    """Keys of any service, by the names that such variables have; a word may stand in them for no key at all."""
    return {
        value.strip()
        for name, value in os.environ.items()
        if _HOLDS_SECRET.search(name) and len(value.strip()) >= _LEAST_IN_ENVIRONMENT
    }
