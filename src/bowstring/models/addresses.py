"""Addresses of servers, in one spelling."""

from __future__ import annotations

from urllib.parse import urlsplit

_PORTS = {"http": ":80", "https": ":443"}


def public_url(url: str) -> str:
    """Return a URL without user name, password, usual port and final slash, its host in small letters.

    >>> public_url("https://me:secret@API.example.com:443/v1/")
    'https://api.example.com/v1'
    """
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2].lower().removesuffix(_PORTS.get(parts.scheme, " "))
    return parts._replace(netloc=host).geturl().rstrip("/")
