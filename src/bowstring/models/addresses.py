"""Addresses of servers, in one spelling, and lists of them."""

from __future__ import annotations

import re
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


def split_urls(urls: str) -> list[str]:
    """Return the URLs of a list: a comma separates them, with spaces after it or not.

    >>> split_urls("http://a:8000/v1,http://b:8000/v1")
    ['http://a:8000/v1', 'http://b:8000/v1']
    """
    return re.split(r",\s*", urls)
