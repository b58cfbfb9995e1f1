"""How probable a model finds given answers to a prompt: the sum of the log-probabilities of the tokens of each.

    >>> Scores.read('{"log_probabilities": [-3.0, -2.5], "tokens": [6, 2]}').per_token
    (-0.5, -1.25)

In the store, scores are a response like others: its text is their JSON, and its settings have the options.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.models.interface import RequestFailed
from bowstring.records import Completion, Provenance, Sampling, Usage

CANNOT_SCORE = "cannot say how probable given answers are; use --by letter, or a model as hf/… or embedded"


@dataclass(frozen=True, slots=True)
class Scores:
    """The scores of some options, in their order. `tokens` are numbers of tokens. Log-probabilities are natural, of
    the option's own tokens; the token that ends an answer is not among them."""

    log_probabilities: tuple[float, ...]
    tokens: tuple[int, ...]
    usage: Usage = field(default_factory=Usage)
    provenance: Provenance = field(default_factory=Provenance, compare=False)

    @property
    def per_token(self) -> tuple[float, ...]:
        return tuple(p / n for p, n in zip(self.log_probabilities, self.tokens, strict=True))

    def as_completion(self) -> Completion:
        shown = {"log_probabilities": list(self.log_probabilities), "tokens": list(self.tokens)}
        return Completion(json.dumps(shown), usage=self.usage, provenance=self.provenance)

    @classmethod
    def read(cls, text: str) -> Scores:
        """Read what `as_completion` writes; raise RequestFailed if it is something else."""
        try:
            found = parse_strict_json(text)
            values, tokens = found["log_probabilities"], found["tokens"]
            scores = cls(tuple(map(float, values)), tuple(map(int, tokens)))
            if len(values) != len(tokens) or not all(n > 0 for n in scores.tokens):
                raise ValueError("expected a number of tokens for each option")
        except (ParseError, KeyError, TypeError, ValueError) as error:
            raise RequestFailed("protocol", f"a stored response has no log-probabilities: {error}") from error
        return scores

    @classmethod
    def of_completion(cls, completion: Completion) -> Scores:
        return replace(cls.read(completion.text), usage=completion.usage, provenance=completion.provenance)


def scoring(options: Sequence[str]) -> Sampling:
    """Return the settings of a request to score these options."""
    return Sampling(0, None, options=json.dumps(list(options), ensure_ascii=False))


def options_of(sampling: Sampling) -> list[str]:
    """Return the options of such a request."""
    found: list[str] = json.loads(sampling.options or "[]")
    return found
