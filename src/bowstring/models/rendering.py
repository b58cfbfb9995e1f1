"""Prompts as token ids: rendered in full with the model's chat template, and independent of the current date."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from bowstring.models.interface import RequestFailed
from bowstring.models.reasoning import ThoughtFormat, opened_format
from bowstring.models.thoughts import ThoughtTokens
from bowstring.records import Prompt, Sampling

_DATE = "26 Jul 2024"  # the date given to templates, so that prompts do not change from day to day
_TODAY = re.compile(r"strftime_now\([^()]*\)")


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt's tokens, and the format of the thought that its template has opened at the end, if it has."""

    tokens: list[int]
    opened: ThoughtFormat | None = None


class Rendering:
    """A transformers tokenizer whose template has a fixed date."""

    def __init__(self, tokenizer: Any, ends: Collection[int] = ()) -> None:
        """`ends` are the tokens with which the model ends an answer."""
        self._tokenizer = tokenizer
        self._ends = ends
        self.thoughts = ThoughtTokens(tokenizer)
        if isinstance(tokenizer.chat_template, str):
            tokenizer.chat_template = _TODAY.sub(f'"{_DATE}"', tokenizer.chat_template)
        # Text before and after a special token is tokenized independently.
        self._borders = sorted(
            token.content
            for token in tokenizer.added_tokens_decoder.values()
            if token.special and not token.rstrip and not token.normalized
        )

    def tokens(self, prompt: Prompt) -> list[int]:
        return self._encoded(self._text(prompt))

    def all_tokens(self, prompts: Sequence[Prompt]) -> list[list[int]]:
        """Like `tokens` for each prompt, tokenizing the shared text once."""
        return self._all_encoded([self._text(prompt) for prompt in prompts])

    def tokens_within_limit(
        self, prompts: Sequence[Prompt], samplings: Sequence[Sampling], limit: int
    ) -> list[RenderedPrompt | RequestFailed]:
        """Return each prompt as tokens, or an error if prompt, thoughts and answer exceed `limit` positions."""
        found: dict[int, RenderedPrompt | RequestFailed] = {}
        texts: dict[int, str] = {}
        for n, prompt in enumerate(prompts):
            try:
                texts[n] = self._text(prompt, samplings[n].template_args)
            except RequestFailed as failed:
                found[n] = failed
        for n, ids in zip(texts, self._all_encoded(list(texts.values())), strict=True):
            room = samplings[n].max_tokens
            if (thinking := samplings[n].thinking_tokens) is not None:
                room += thinking + self.thoughts.markers
            fits = len(ids) + room <= limit
            found[n] = RenderedPrompt(ids, opened_format(texts[n])) if fits else _too_long(ids, room, limit)
        return [found[n] for n in range(len(prompts))]

    def _all_encoded(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts, cutting the shared beginning after a special token, which merges cannot cross. One full text
        is tokenized as a check; if it differs, all texts are tokenized in full."""
        shared = _common(texts) if len(texts) > 1 else ""
        places = [(at + len(border), border) for border in self._borders if (at := shared.rfind(border)) >= 0]
        if places:
            end, border = max(places)
            trunk = self._encoded(shared[:end])
            # The special token is repeated, because some vocabularies mark the beginning of a text.
            found = [trunk + self._encoded(border + text[end:], first=False)[1:] for text in texts]
            if found[0] == self._encoded(texts[0]):
                return found
        return [self._encoded(text) for text in texts]

    def answer(self, text: str) -> list[int]:
        """Return an answer's tokens as the model would generate them after a prompt, including the end token. A thought
        that the template opens is closed at once."""
        if self._opened is not None:
            text = f"{self._opened.close}\n\n{text}"
        return [*self._encoded(text, first=False), self.end]

    def continued(self, prompt: RenderedPrompt, text: str) -> tuple[list[int], list[int]]:
        """Return a prompt's tokens, and those of a given answer to it without an end token. A thought that the template
        opens is closed at once; that belongs to the prompt."""
        if prompt.opened is None:
            return prompt.tokens, self._encoded(text, first=False)
        closing = self._encoded(f"{prompt.opened.close}\n\n", first=False)
        whole = self._encoded(f"{prompt.opened.close}\n\n{text}", first=False)
        shared = next((n for n, (a, b) in enumerate(zip(whole, closing, strict=False)) if a != b), len(closing))
        return [*prompt.tokens, *whole[:shared]], whole[shared:]

    @cached_property
    def _opened(self) -> ThoughtFormat | None:
        return opened_format(self._rendered([{"role": "user", "content": "Q"}]))

    @cached_property
    def end(self) -> int:
        """The token with which the template closes an answer, or else the tokenizer's end token."""
        if self._tokenizer.chat_template is not None:
            chat = [{"role": "user", "content": "Q"}, {"role": "assistant", "content": "ANSWER"}]
            text = self._tokenizer.apply_chat_template(chat, tokenize=False, date_string=_DATE)
            for token in self._encoded(text.rpartition("ANSWER")[2].lstrip(), first=False)[:1]:
                if token in self._ends:
                    return token
        found: int = self._tokenizer.eos_token_id
        return found

    def _text(self, prompt: Prompt, template_args: str | None = None) -> str:
        messages = [{"role": m.role, "content": m.text} for m in prompt.messages]
        ways = [messages]
        if messages[0]["role"] == "system" and len(messages) > 1:
            # Some templates do not support a system message: its text is then prepended to the first user message.
            system, first, *rest = messages
            ways.append([{"role": "user", "content": f"{system['content']}\n\n{first['content']}"}, *rest])
        for chat in ways:
            try:
                return self._rendered(chat, template_args)
            except Exception as error:  # templates raise many kinds of errors
                refusal = error
        raise RequestFailed("protocol", f"its chat template rejects the prompt: {refusal}") from refusal

    def _rendered(self, messages: Sequence[dict[str, str]], template_args: str | None = None) -> str:
        if self._tokenizer.chat_template is None:
            return "".join(f"{m['role']}: {m['content']}\n" for m in messages) + "assistant:"
        given = {"date_string": _DATE} | (json.loads(template_args) if template_args else {})
        text: str = self._tokenizer.apply_chat_template(
            list(messages), tokenize=False, add_generation_prompt=True, **given
        )
        return text

    def _encoded(self, text: str, *, first: bool = True) -> list[int]:
        """Return the ids of a text, or of a continuation; the template already contains the special tokens."""
        special = first and self._tokenizer.chat_template is None
        return list(self._tokenizer(text, add_special_tokens=special)["input_ids"])


def _common(texts: Sequence[str]) -> str:
    """Return the longest common prefix: that of the alphabetically first and last text."""
    first, last = min(texts), max(texts)
    return first[: next((n for n, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


def _too_long(tokens: Sequence[int], to_come: int, limit: int) -> RequestFailed:
    return RequestFailed(
        "context", f"{len(tokens):,} prompt tokens and {to_come} answer tokens exceed its limit of {limit:,}"
    )
