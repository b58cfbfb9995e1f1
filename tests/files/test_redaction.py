"""Secrets are removed from text in every form in which servers and libraries write them."""

import json
from urllib.parse import quote

import pytest

from bowstring.files.redaction import (
    byte_patterns,
    credentials_in_url,
    error_line,
    redact,
    replace_secrets,
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


def test_bodies_are_searched_for_a_secret_that_is_escaped_twice():
    body = json.dumps({"error": json.dumps({"key": SECRET})}).encode()
    assert replace_secrets(body, byte_patterns(SECRET)).decode() == r'{"error": "{\"key\": \"…\"}"}'


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


def test_an_error_is_one_line_and_is_cut_after_its_secrets_are_gone(monkeypatch):
    monkeypatch.setenv("MY_SERVICE_KEY", "0123456789")
    assert error_line(ValueError("one\n  two")) == "one two"
    assert error_line(ValueError("one"), with_type=True) == "ValueError: one"
    assert error_line(ValueError()) == "ValueError"
    assert error_line(ValueError("x" * 300)) == "x" * 200
    assert error_line(ValueError("x" * 300), limit=None) == "x" * 300
    assert error_line(ValueError("key 0123456789"), limit=9) == "key …"
