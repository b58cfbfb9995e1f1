"""Generate one part of a data set with a model: parse strictly, repair once, and ask again if it has a flaw.

maker = Maker(askers, seed=0, quality=Quality())
factors = await maker.make("model", "factors", key="persona 3", prompt=prompt, read=read_factors, check=check)
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from string import ascii_uppercase
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from bowstring.judging.letters import read_letter
from bowstring.judging.structured import Unreadable
from bowstring.models.interface import is_openai
from bowstring.records import Completion, Message, Prompt, Role, Sampling, Trunk
from bowstring.runs.asking import Asker
from bowstring.synthesis.quality import Flaw, Quality

T = TypeVar("T")
M = TypeVar("M", bound=BaseModel)
TRIES = 3
_LETTER_TOKENS = 512  # for a letter, and for those who think first


class Dropped(Exception):
    """A part that could not be generated well; what depends on it is left out of the set."""

    def __init__(self, what: str, key: str, reason: str) -> None:
        super().__init__(f"{what} of {key}: {reason}")
        self.what = what
        self.key = key
        self.reason = reason


class Cut(Unreadable):
    """The answer ended at its token limit, and what there is of it cannot be parsed."""


class Maker:
    def __init__(
        self,
        askers: Mapping[str, Asker],
        *,
        seed: int,
        quality: Quality,
        temperature: float | None,
        tries: int = TRIES,
    ) -> None:
        """`temperature` is that of all requests; None leaves it to each part."""
        self.askers = askers
        self.quality = quality
        self._seed = seed
        self._temperature = temperature
        self._tries = tries

    async def make(
        self,
        role: str,
        what: str,
        *,
        key: str,
        prompt: Prompt,
        read: Callable[[str], T],
        check: Callable[[T], Flaw | Awaitable[Flaw | None] | None] = lambda made: None,
        max_tokens: int,
        temperature: float = 1.0,
        repair: bool = True,
        verbatim: bool = False,
    ) -> T:
        """Return a part that can be parsed and has no flaw; raise Dropped after too many tries, with the last reason.

        With `verbatim`, requests are those of the authors of a benchmark: every attempt sends the same prompt, without
        a seed, and flaws are counted but accepted.
        """
        reason = ""
        repair = repair and not verbatim
        for attempt in range(self._tries):
            asked = retry_prompt(prompt, reason) if reason and repair else prompt
            sampling = self._sampling(f"{what}/{key}/{attempt}", max_tokens, temperature)
            if verbatim:
                sampling = replace(sampling, seed=None, sample=attempt)
            try:
                made = await self._read(role, what, asked, sampling, read, repair=repair)
            except Unreadable as error:
                (self.quality.cut if isinstance(error, Cut) else self.quality.invalid)[what] += 1
                reason = str(error)
                continue
            checked = check(made)
            flaw = await checked if isinstance(checked, Awaitable) else checked
            if flaw is None:
                self.quality.made[what] += 1
                return made
            self.quality.flaws[flaw.kind] += 1
            if verbatim:
                self.quality.made[what] += 1
                return made
            reason = flaw.kind
        raise Dropped(what, key, reason)

    async def make_text(
        self,
        role: str,
        key: str,
        prompt: Prompt,
        check: Callable[[str], Flaw | None],
        *,
        max_tokens: int,
        temperature: float = 1.0,
        verbatim: bool = False,
    ) -> str:
        """Return plain text. The model is not told what was wrong with an earlier attempt, because the text is one side
        of a conversation."""
        return await self.make(
            role,
            "reply",
            key=key,
            prompt=prompt,
            read=_not_empty,
            check=check,
            max_tokens=max_tokens,
            temperature=temperature,
            repair=False,
            verbatim=verbatim,
        )

    async def choose(self, role: str, key: str, prompt: Callable[[str], Prompt], options: Sequence[str]) -> int | None:
        """Return the number of the option that a model chooses; None if it names none. They are shown in a random order
        that depends on the key; the temperature of the set does not apply."""
        order = random.Random(f"{self._seed}/order/{key}").sample(range(len(options)), len(options))  # noqa: S311
        letters = ascii_uppercase[: len(options)]
        shown = "\n".join(f"{letter}. {options[k]}" for letter, k in zip(letters, order, strict=True))
        sampling = Sampling(_LETTER_TOKENS, 0.0, seed=self._number(key))
        letter = read_letter((await self.askers[role].ask(prompt(shown), sampling)).text, letters)
        return None if letter is None else order[letters.index(letter)]

    def instruction_role(self, role: str) -> Role:
        """Return the role of messages with instructions, as the authors of a benchmark send them."""
        return "developer" if is_openai(self.askers[role].model) else "system"

    async def _read(
        self, role: str, what: str, prompt: Prompt, sampling: Sampling, read: Callable[[str], T], *, repair: bool
    ) -> T:
        completion = await self.askers[role].ask(prompt, sampling)
        if completion.finish in ("refusal", "filter"):
            raise Unreadable(
                "the model refused"
            )  # a refusal must not enter the set, and repeating the request seldom helps
        said = completion.text
        try:
            return _parsed(completion, sampling, read)
        except Unreadable as error:
            if not repair:
                raise
            told = (
                f"That could not be used: {error}. Answer again, in the form that was asked for and with nothing else."
            )
            repaired = Prompt(
                Trunk(()),
                (*prompt.messages, Message("assistant", (said or "(nothing)",)), Message("user", (told,))),
            )
            made = _parsed(await self.askers[role].ask(repaired, sampling), sampling, read)
            self.quality.repaired[what] += 1
            return made

    def _sampling(self, key: str, max_tokens: int, temperature: float) -> Sampling:
        if self._temperature is not None:
            temperature = self._temperature
        return Sampling(max_tokens, temperature, seed=self._number(key))

    def _number(self, key: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._seed}/{key}".encode()).digest()[:4], "big") % 2**31


def _parsed(completion: Completion, sampling: Sampling, read: Callable[[str], T]) -> T:
    try:
        return read(completion.text)
    except Unreadable as error:
        if completion.finish == "length":
            raise Cut(f"the answer was cut at its limit of {sampling.max_tokens:,} tokens") from error
        raise


def validate_entry(model: type[M], raw: Any) -> M:
    """Validate an entry against a schema; raise Unreadable with the first mismatch."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "an entry"
        raise Unreadable(f"{where}: {first['msg'][:120]}") from error


def _not_empty(text: str) -> str:
    if not text.strip():
        raise Unreadable("the answer was empty")
    return text.strip()


def retry_prompt(prompt: Prompt, reason: str) -> Prompt:
    """Return the same request with the reason why an earlier attempt failed."""
    *before, last = prompt.messages
    told = f"\n\n(An earlier attempt could not be used: {reason}. Avoid that.)"
    return Prompt(Trunk(()), (*before, Message(last.role, (*last.parts, told))))
