"""Prompts as a model's own tokens: rendered whole, with its chat template, and the same on any day."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from bowstring.models.interface import RequestFailed
from bowstring.records import Prompt, Sampling

_DATE = "26 Jul 2024"  # what templates are told is today, so that a prompt is the same on any day
_TODAY = re.compile(r"strftime_now\([^()]*\)")


class Rendering:
    """A tokenizer of transformers', with the date in its template pinned."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        if isinstance(tokenizer.chat_template, str):
            tokenizer.chat_template = _TODAY.sub(f'"{_DATE}"', tokenizer.chat_template)

    def tokens(self, prompt: Prompt) -> list[int]:
        messages = [{"role": m.role, "content": m.text} for m in prompt.messages]
        try:
            return self._rendered(messages)
        except Exception as error:
            if messages[0]["role"] != "system":
                raise RequestFailed("protocol", f"its chat template refuses the prompt: {error}") from error
        # Some templates know no system turn: its text then opens the first message of the user.
        first, *rest = messages[1:]
        joined = {"role": "user", "content": f"{messages[0]['content']}\n\n{first['content']}"}
        return self._rendered([joined, *rest])

    def _rendered(self, messages: Sequence[dict[str, str]]) -> list[int]:
        if self._tokenizer.chat_template is None:
            text = "".join(f"{m['role']}: {m['content']}\n" for m in messages) + "assistant:"
            return list(self._tokenizer(text)["input_ids"])
        found = self._tokenizer.apply_chat_template(
            list(messages),
            tokenize=True,
            add_generation_prompt=True,
            return_dict=False,
            date_string=_DATE,
        )
        return list(found)


def too_long(tokens: Sequence[int], sampling: Sampling, limit: int) -> RequestFailed:
    to_come = sampling.max_tokens
    return RequestFailed("context", f"{len(tokens):,} tokens and {to_come} to come exceed the {limit:,} it has")
