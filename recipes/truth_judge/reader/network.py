"""The network that reads answers: word vectors, a recurrent layer in both directions, and one output per task.

Its weights are beside this file. `recipes/truth_judge/train.py` trains them, on answers that are labelled by hand.
Several members, trained from different seeds, read an answer; their probabilities are averaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bowstring.benchmarks.hicupid.stance.names import SUBJECT
from reader.tokens import MARKS, distances_of, numbers_of, tokens_of

Floats = NDArray[np.float32]

WEIGHTS = "network.npz"
_PARTS = ("distances", "states", "attention", "hidden", "output")
# The classes of each task. The last class of an aspect of life is that the answer has none of its values.
TASKS: Mapping[str, tuple[str, ...]] = {
    "stance": ("for", "against", "neither"),
    "clash": ("noticed", "not noticed"),
    "booking": ("booked", "not booked"),
    "time": ("early", "late", "days", "none"),
    "budget": ("low", "middle", "high", "none"),
    "company": ("group", "alone", "none"),
    "planning": ("fixed", "open", "none"),
}


class Network:
    def __init__(self, weights: Mapping[str, Any]) -> None:
        words = bytes(weights["vocabulary"]).decode().split("\n")
        self._vocabulary = {word: n for n, word in enumerate(words)}
        self._subject = self._vocabulary[MARKS[SUBJECT]]
        self._words = weights["words"].astype(np.float32) * weights["words scale"].astype(np.float32)
        # Of every member; where there are two directions, they follow it.
        of = {name: weights[name].astype(np.float32) for name in weights if name.split(".")[0] in _PARTS}
        self._distances = of["distances.weight"]
        self._layer = _Recurrent(of)
        self._attention, self._attention_bias = of["attention.weight"][:, 0], of["attention.bias"]
        self._hidden, self._hidden_bias = of["hidden.weight"], of["hidden.bias"]
        self._output, self._output_bias = of["output.weight"], of["output.bias"]

    def read(self, marked: str) -> dict[str, Floats]:
        """The probabilities of the classes of every task, as a mean over the members."""
        tokens = tokens_of(marked) or ["."]
        numbers = np.asarray(numbers_of(tokens, self._vocabulary))
        vectors = np.broadcast_to(self._words[numbers], (len(self._distances), len(tokens), self._words.shape[1]))
        states = self._layer.states(np.concatenate([vectors, self._distances[:, distances_of(tokens)]], axis=2))
        attention = _softmax(np.einsum("mth,mh->mt", states, self._attention) + self._attention_bias)
        mentions = (numbers == self._subject).astype(np.float32)
        pooled = [
            states.max(1),
            np.einsum("mt,mth->mh", attention, states),
            np.einsum("t,mth->mh", mentions / max(1.0, mentions.sum()), states),
        ]
        hidden = np.einsum("mkp,mp->mk", self._hidden, np.concatenate(pooled, axis=1)) + self._hidden_bias
        logits = np.einsum("mok,mk->mo", self._output, np.maximum(hidden, 0)) + self._output_bias
        found, at = {}, 0
        for task, classes in TASKS.items():
            found[task] = _softmax(logits[:, at : at + len(classes)]).mean(0)
            at += len(classes)
        return found


class _Recurrent:
    """A gated recurrent unit in both directions, as PyTorch defines it, for all members at once."""

    def __init__(self, of: Mapping[str, Floats]) -> None:
        def both(name: str) -> Floats:
            return np.stack([of[f"states.{name}"], of[f"states.{name}_reverse"]], axis=1)

        self._input, self._input_bias = both("weight_ih_l0"), both("bias_ih_l0")
        self._state, self._state_bias = both("weight_hh_l0"), both("bias_hh_l0")

    def states(self, vectors: Floats) -> Floats:
        """The states of both directions at each token, side by side."""
        inputs = np.einsum("mdgv,mdtv->tmdg", self._input, np.stack([vectors, vectors[:, ::-1]], axis=1), optimize=True)
        inputs += self._input_bias
        members, _, _, size = self._state.shape
        state = np.zeros((members, 2, size), np.float32)
        states = np.empty((len(inputs), members, 2, size), np.float32)
        for n, given in enumerate(inputs):
            recalled = (self._state @ state[..., None])[..., 0] + self._state_bias
            opened = 1 / (1 + np.exp(-(given[..., : 2 * size] + recalled[..., : 2 * size])))
            new = np.tanh(given[..., 2 * size :] + opened[..., :size] * recalled[..., 2 * size :])
            state = new + opened[..., size:] * (state - new)
            states[n] = state
        ordered = np.concatenate([states[:, :, 0], states[::-1, :, 1]], axis=2)
        return np.asarray(ordered.transpose(1, 0, 2), np.float32)


def _softmax(values: Floats) -> Floats:
    powers: Floats = np.exp(values - values.max(-1, keepdims=True))
    return np.asarray(powers / powers.sum(-1, keepdims=True), np.float32)


@cache
def network() -> Network:
    with np.load(Path(__file__).with_name(WEIGHTS)) as weights:
        return Network(weights)


@lru_cache(maxsize=4096)
def read(marked: str) -> Mapping[str, Floats]:
    """The probabilities of the classes of every task for an answer in which mentions and times are marked."""
    return network().read(marked)
