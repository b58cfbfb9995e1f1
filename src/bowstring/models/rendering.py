"""Prompts as a model's own tokens: rendered whole, with its chat template, and the same on any day."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cached_property
from typing import Any

from bowstring.models.interface import RequestFailed
from bowstring.records import Prompt, Sampling

_DATE = "26 Jul 2024"  # what templates are told is today, so that a prompt is the same on any day
_TODAY = re.compile(r"strftime_now\([^()]*\)")


class Rendering:
    """A tokenizer of transformers', with the date in its template pinned."""

    def __init__(self, tokenizer: Any, ends: Collection[int] = ()) -> None:
        """`ends` are the tokens with which the model ends an answer."""
        self._tokenizer = tokenizer
        self._ends = ends
        if isinstance(tokenizer.chat_template, str):
            tokenizer.chat_template = _TODAY.sub(f'"{_DATE}"', tokenizer.chat_template)
        # Texts on two sides of such a token are split into tokens apart from each other.
        self._borders = sorted(
            token.content
            for token in tokenizer.added_tokens_decoder.values()
            if token.special and not token.rstrip and not token.normalized
        )

    def tokens(self, prompt: Prompt) -> list[int]:
        return self._encoded(self._text(prompt))

    def all_tokens(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """The same as `tokens` of each, with the text that they share tokenized once."""
        return self._all_encoded([self._text(prompt) for prompt in prompts])

    def tokens_within_limit(
        self, prompts: Sequence[Prompt], samplings: Sequence[Sampling], limit: int
    ) -> list[list[int] | RequestFailed]:
        """The same, where a prompt and what is to come fit into so many positions; where not, why."""
        found: dict[int, list[int] | RequestFailed] = {}
        texts: dict[int, str] = {}
        for n, prompt in enumerate(prompts):
            try:
                texts[n] = self._text(prompt)
            except RequestFailed as failed:
                found[n] = failed
        for n, ids in zip(texts, self._all_encoded(list(texts.values())), strict=True):
            found[n] = ids if len(ids) + samplings[n].max_tokens <= limit else _too_long(ids, samplings[n], limit)
        return [found[n] for n in range(len(prompts))]

    def _all_encoded(self, texts: Sequence[str]) -> list[list[int]]:
        """What texts share is cut behind a special token, where merges cannot cross. That this holds for the tokenizer
        at hand is checked with one whole text; where it does not, all are tokenized whole."""
        shared = _common(texts) if len(texts) > 1 else ""
        places = [(at + len(border), border) for border in self._borders if (at := shared.rfind(border)) >= 0]
        if places:
            end, border = max(places)
            trunk = self._encoded(shared[:end])
            # Behind the border again, for some vocabularies mark the beginning of a text.
            found = [trunk + self._encoded(border + text[end:], first=False)[1:] for text in texts]
            if found[0] == self._encoded(texts[0]):
                return found
        return [self._encoded(text) for text in texts]

    def answer(self, text: str) -> list[int]:
        """An answer as the model would give it behind a prompt, with the token that ends it."""
        return [*self._encoded(text, first=False), self.end]

    @cached_property
    def end(self) -> int:
        """The token with which the template closes an answer; where it has none of its own, the tokenizer's."""
        if self._tokenizer.chat_template is not None:
            chat = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "ANSWER"}]
            text = self._tokenizer.apply_chat_template(chat, tokenize=False, date_string=_DATE)
            for token in self._encoded(text.rpartition("ANSWER")[2].lstrip(), first=False)[:1]:
                if token in self._ends:
                    return token
        found: int = self._tokenizer.eos_token_id
        return found

    def _text(self, prompt: Prompt) -> str:
        messages = [{"role": m.role, "content": m.text} for m in prompt.messages]
        ways = [messages]
        if messages[0]["role"] == "system" and len(messages) > 1:
            # Some templates know no system turn: its text then opens the first message of the user.
            system, first, *rest = messages
            ways.append([{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest])
        for chat in ways:
            try:
                return self._rendered(chat)
            except Exception as error:  # a template raises what it likes
                refusal = error
        raise RequestFailed("protocol", f"its chat template refuses the prompt: {refusal}") from refusal

    def _rendered(self, messages: Sequence[dict[str, str]]) -> str:
        if self._tokenizer.chat_template is None:
            return "".join(f"{m['role']}: {m['content']}\n" for m in messages) + "assistant:"
        text: str = self._tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True, date_string=_DATE
        )
        return text

    def _encoded(self, text: str, *, first: bool = True) -> list[int]:
        """The ids of a text, or of one that goes on; a template brings its special tokens itself."""
        special = first and self._tokenizer.chat_template is None
        return list(self._tokenizer(text, add_special_tokens=special)["input_ids"])


def _common(texts: Sequence[str]) -> str:
    """The longest common beginning: that of the two which are furthest apart in the alphabet."""
    first, last = min(texts), max(texts)
    return first[: next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _too_long(tokens: Sequence[int], sampling: Sampling, limit: int) -> RequestFailed:
    to_come = sampling.max_tokens
    return RequestFailed("context", f"{len(tokens):,} tokens and {to_come} to come exceed the {limit:,} it has")
