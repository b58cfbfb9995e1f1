"""Secrets are removed from text in every form in which servers and libraries write them."""

import json
import time
from urllib.parse import quote

import pytest

from bowstring.files.redaction import (
    credentials_in_url,
    error_line,
    redact,
    without_credentials,
)

SECRET = "pä/ss'w\\ord+1"


@pytest.mark.parametrize(
    "written",
    [
        SECRET,
        json.dumps(SECRET)[1:-1],
        json.dumps(SECRET)[1:-1].replace("/", r"\/"),
        repr(SECRET)[1:-1],
        quote(SECRET, safe=""),
        quote(SECRET),
    ],
)
def test_a_secret_is_removed_however_it_is_written(written):
    assert redact(f"401: {written} is unknown", [SECRET]) == "401: … is unknown"


@pytest.mark.parametrize(
    "written",
    [
        "".join(f"\\u{ord(c):04x}" for c in SECRET),
        "".join(f"\\u{ord(c):04X}" if n % 2 else c for n, c in enumerate(SECRET) if c != "\\" or n % 2),
        "".join(f"\\x{ord(c):02x}" for c in SECRET),
        "".join(f"%{byte:02X}" for byte in SECRET.encode()),
        json.dumps(json.dumps(SECRET)[1:-1])[1:-1],
        SECRET.encode("utf-16-le").decode("latin-1"),
        SECRET.encode("utf-16-be").decode("latin-1").lstrip("\0"),
    ],
)
def test_a_secret_is_removed_where_its_characters_are_escaped(written):
    assert redact(f"401: {written} is unknown", [SECRET]).replace("\0", "") == "401: … is unknown"


def test_a_secret_of_many_lines_is_removed():
    secret = "-----BEGIN KEY-----\n" + "0123456789abcdef/+\n" * 200
    for written in (secret, json.dumps(secret)[1:-1]):
        assert redact(f"key: {written} is unknown", [secret]) == "key: … is unknown"


@pytest.mark.parametrize("text", ["a-", "a", "://", "a://", "@", "://a@", "\\", "sk-0", "\\u0073", "%73", "\0", " "])
def test_redaction_takes_time_in_proportion_to_the_text(text):
    """A text of 1 MB took the square of its length: 100 kB of "a-" took 27 s."""
    long = (text * 1_000_000)[:1_000_000]
    started = time.process_time()
    redact(long, ["sk-0123456789", "sk-0sk-0sk-1", "\\\\\\\\x", "aaaaaaaaaaaab", "me:" + "\\" * 60])
    assert time.process_time() - started < 10


def test_of_two_secrets_the_longer_one_goes_first():
    assert redact("sk-1234-5678 and sk-1234", ["sk-1234", "sk-1234-5678"]) == "… and …"


def test_a_secret_of_three_characters_is_a_word():
    assert redact("the key is abc, or abcd", ["abc", "abcd"]) == "the key is abc, or …"


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("MY_SERVICE_KEY", "12345678", "is … here"),
        ("my_service_token", " 12345678 ", "is … here"),
        ("MY_SERVICE_KEY", "1234567", "is 1234567 here"),
        ("MY_SERVICE_NAME", "12345678", "is 12345678 here"),
    ],
)
def test_keys_of_the_environment_are_known_by_the_names_of_their_variables(monkeypatch, name, value, said):
    monkeypatch.setenv(name, value)
    assert redact(f"is {value.strip()} here") == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("at http://me:pass@host/v1", "at http://…@host/v1"),
        ("at https://token@host/v1?x=a@b", "at https://…@host/v1?x=a@b"),
        ("write to me@host, see http://host/me@there", "write to me@host, see http://host/me@there"),
    ],
)
def test_an_address_keeps_its_host_and_not_its_user(text, said):
    assert redact(text) == said


def test_the_secrets_of_an_address_are_those_that_a_server_can_repeat():
    assert credentials_in_url("http://me:p%40ss@host/v1") == [
        "me:p%40ss",
        "me:p@ss",
        "me",
        "p%40ss",
        "p@ss",
        "bWU6cEBzcw==",
    ]
    assert credentials_in_url("http://host/v1") == []


def test_an_address_is_shown_without_its_user():
    assert without_credentials("http://me:p%40ss@host:8000/v1") == "http://host:8000/v1"
    assert without_credentials("http://host/v1") == "http://host/v1"


def test_an_error_is_one_line_and_is_cut_after_its_secrets_are_gone(monkeypatch):
    monkeypatch.setenv("MY_SERVICE_KEY", "0123456789")
    assert error_line(ValueError("one\n  two")) == "one two"
    assert error_line(ValueError("one"), with_type=True) == "ValueError: one"
    assert error_line(ValueError()) == "ValueError"
    assert error_line(ValueError("x" * 300)) == "x" * 200
    assert error_line(ValueError("x" * 300), limit=None) == "x" * 300
    assert error_line(ValueError("key 0123456789"), limit=9) == "key …"
