"""Finish reasons: why a server says that an answer ended, in the words of any provider.

A server may report its own failure inside a response with status 200. That is no answer: it would be stored and scored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from bowstring.files.escaping import one_line, replace_surrogates
from bowstring.records import Finish, Usage

_LONGEST = 200  # characters of a name
_MOST = 10_000  # characters of a label; it is cut after secrets are removed from it, so that no part of one remains
_NAMES: dict[Finish, tuple[str, ...]] = {
    "stop": (
        *("stop", "end_turn", "stop_sequence", "eos", "eos_token", "end", "complete", "completed"),
        *("tool_calls", "tool_use", "function_call", "pause_turn"),
    ),
    "length": (
        *("length", "max_tokens", "max_length", "max_output_tokens", "token_limit"),
        *("model_length", "model_context_window_exceeded"),
    ),
    "filter": (
        *("content_filter", "content_filtered", "guardrail_intervened", "safety", "recitation"),
        *("blocklist", "prohibited_content", "spii", "sensitive", "error_toxic"),
    ),
    "refusal": ("refusal",),
}
_FINISH = {name: finish for finish, names in _NAMES.items() for name in names}
_FAILED = {
    *("error", "failed", "failure", "abort", "aborted", "cancelled", "canceled", "user_cancel", "timeout"),
    *("network_error", "internal_error", "server_error", "overloaded", "insufficient_system_resource"),
}


class AnswerFailed(Exception):
    """A response with status 200 that holds no answer but the server's failure. It may have to be paid for."""

    usage = Usage()


@contextmanager
def paid(usage: Usage) -> Iterator[None]:
    """Say of a failure inside a response what it has used."""
    try:
        yield
    except AnswerFailed as failed:
        failed.usage = usage
        raise


def finish_of(raw: object, text: str) -> Finish:
    """Return why an answer ended; raise AnswerFailed if it is none: the server failed, or there is neither text nor a
    known reason for its absence. The reason of an answer with text may be unknown."""
    if not isinstance(raw, str | None):
        raise ValueError("the finish reason is not text")
    name = _name(raw or "")
    if name in _FAILED or (name.startswith("error_") and name not in _FINISH):
        raise AnswerFailed(f"the answer ended with {_quoted(raw)}")
    if known := _known(name):
        return known
    if not text.strip():
        raise AnswerFailed(f"no text, and {f'the finish reason {_quoted(raw)}' if raw else 'no finish reason'}")
    return "stop"


def is_known_finish(raw: str) -> bool:
    return _known(_name(raw)) is not None


def check_error(error: object) -> None:
    """Raise AnswerFailed if a response has an error in place of an answer, or beside it."""
    if not error:
        return
    said = error.get("message") or error.get("code") if isinstance(error, dict) else error
    raise AnswerFailed(str(said or error)[:1000])


def label(value: object) -> str | None:
    """Return a text of a server as it can be stored; None if it is no text. `cut_label` makes it short."""
    return replace_surrogates(value[:_MOST]) if isinstance(value, str) and value else None


def cut_label(label: str) -> str:
    return label[:_LONGEST]


def _known(name: str) -> Finish | None:
    if name.startswith(("content_filter", "guardrail")):  # such as "content_filter: RECITATION"
        return "filter"
    return _FINISH.get(name)


def _name(raw: str) -> str:
    """Return a reason in one spelling: MAX_TOKENS, max-tokens and maxTokens are one."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", raw[:_LONGEST].strip())
    return re.sub(r"[\s-]+", "_", words).lower().removeprefix("finish_reason_")


def _quoted(raw: object) -> str:
    return f'"{one_line(str(raw)[:_MOST])}"'
