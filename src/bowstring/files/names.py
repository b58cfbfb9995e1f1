"""File names derived from ids. An id is untrusted data: it may be '../../x', 'CON' or 5,000 characters long."""

from __future__ import annotations

import hashlib
import re

_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_+.-]{0,99}")
_RESERVED = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def safe_file_name(id_: str, suffix: str) -> str:
    """Return the id itself if it is a safe file name, otherwise its safe characters followed by a hash of the whole id.

    >>> file_name("148+real_estate_developer+changing", ".json")
    '148+real_estate_developer+changing.json'
    """
    if _PLAIN.fullmatch(id_) and not _RESERVED.fullmatch(id_):
        return id_ + suffix
    digest = hashlib.sha256(id_.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    harmless = re.sub(r"[^A-Za-z0-9_+-]+", "_", id_[:60]).strip("_+-")
    return f"{harmless or 'id'}-{digest}{suffix}"
