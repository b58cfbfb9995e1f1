"""Log-probabilities of given answers from a llama.cpp server, by forced decoding.

A grammar of token ids (`root ::= <[7230]> <[346]>`) leaves one token at each step, so the server writes exactly the
tokens of the answer. With n_probs it reports their probabilities before sampling, without the grammar: a softmax over
the whole vocabulary. One request per answer; what the prompts share stays in the server's cache.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import httpx

from bowstring.files.redaction import without_credentials
from bowstring.models.interface import RequestFailed
from bowstring.models.scores import Scores
from bowstring.models.transport import Rejected, Transport
from bowstring.records import Prompt, Provenance, Usage


class ForcedScoring:
    def __init__(self, context: int) -> None:
        """`context` is the number of tokens that a prompt and an answer may have."""
        self._context = context

    async def scores(self, transport: Transport, url: str, prompt: Prompt, options: Sequence[str]) -> Scores:
        server = _Server(transport, url.removesuffix("/v1"))
        given = await server.tokens(await server.rendered(prompt), special=True)
        answers = [await server.tokens(text, special=False) for text in options]
        if not all(answers):
            raise RequestFailed("protocol", "an option has no tokens")
        longest = max(map(len, answers))
        if len(given) + longest > self._context:
            said = f"{len(given):,} prompt tokens and {longest:,} of an option exceed its limit of {self._context:,}"
            raise RequestFailed("context", said)
        sums, cached = [], 0
        for n, answer in enumerate(answers):
            value, from_cache = await server.forced(given, answer)
            sums.append(value)
            cached = from_cache if n == 0 else cached
        lengths = tuple(map(len, answers))
        usage = Usage(len(given) + sum(lengths), min(cached, len(given)), 0)
        return Scores(tuple(sums), lengths, usage, Provenance(address=without_credentials(url)))


class _Server:
    """The paths of a llama.cpp server that are not OpenAI's."""

    def __init__(self, transport: Transport, root: str) -> None:
        self._transport, self._root = transport, root

    async def rendered(self, prompt: Prompt) -> str:
        messages = [{"role": m.role, "content": m.text} for m in prompt.messages]
        text: str = await self._post("apply-template", {"messages": messages}, lambda found: found["prompt"])
        return text

    async def tokens(self, text: str, *, special: bool) -> list[int]:
        """Return the tokens of a text; `special` for a whole prompt, whose template has written special tokens."""
        asked = {"content": text, "add_special": special, "parse_special": special}
        tokens: list[int] = await self._post("tokenize", asked, lambda found: list(map(int, found["tokens"])))
        return tokens

    async def forced(self, given: Sequence[int], answer: Sequence[int]) -> tuple[float, int]:
        """Return the log-probability of an answer's tokens, and how many tokens came from the cache."""
        asked = {
            "prompt": list(given),
            "grammar": "root ::= " + " ".join(f"<[{token}]>" for token in answer),
            "n_predict": len(answer),
            "n_probs": 1,
            "temperature": 0.0,
            "cache_prompt": True,
        }

        def read(found: Mapping[str, Any]) -> tuple[float, int]:
            steps = found["completion_probabilities"]
            if [step["id"] for step in steps] != list(answer):
                raise ValueError("it wrote other tokens than those asked for")
            cached = found.get("timings", {}).get("cache_n", 0)
            return sum(float(step["logprob"]) for step in steps), int(cached)

        scored: tuple[float, int] = await self._post("completion", asked, read)
        return scored

    async def _post(self, path: str, body: Mapping[str, Any], read: Any) -> Any:
        def request() -> httpx.Request:
            return self._transport.plain_request("POST", f"{self._root}/{path}", json=dict(body))

        try:
            return await self._transport.exchange(request, lambda response: read(response.json()))
        except Rejected as rejected:
            raise RequestFailed("rejected", f"{self._transport.name}: 400 {rejected.message}") from rejected
