"""Scores of given answers by local weights: all options of all questions are branches of one tree.

A model that has no tree scores one option at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from bowstring.errors import ModelError
from bowstring.models.interface import NotYet, RequestFailed
from bowstring.models.loading import Weights, require_torch
from bowstring.models.rendering import RenderedPrompt
from bowstring.models.scores import Scores, options_of
from bowstring.records import Completion, Prompt, Sampling, Usage

Stopped = Callable[[], bool]
_Pair = tuple[list[int], list[int]]  # the tokens of a prompt, and of an answer to it


class OptionScorer:
    def __init__(self, weights: Weights, room: int) -> None:
        """`room` bounds the branch tokens that are scored together."""
        self._model = weights.model.eval()
        self._rendering, self._limit, self._no_tree = weights.rendering, weights.limit, weights.no_tree_reason
        self._room = room

    def completions(
        self, prompts: Sequence[Prompt], samplings: Sequence[Sampling], stopped: Stopped
    ) -> list[Completion | Exception]:
        """Return the scores of every prompt's options as a completion, or an error."""
        if self._model.config.is_encoder_decoder:
            raise ModelError("options cannot be scored by a model that is not decoder-only; use --by letter")
        answers: dict[int, Completion | Exception] = {}
        pairs: dict[int, list[_Pair]] = {}
        for n, found in enumerate(self._rendered(prompts, samplings)):
            if isinstance(found, RequestFailed):
                answers[n] = found
                continue
            own = [self._rendering.continued(found, text) for text in options_of(samplings[n])]
            if all(answer for _, answer in own):
                pairs[n] = own
            else:
                answers[n] = RequestFailed("protocol", "an option has no tokens")
        scored = iter(self._scored(list(pairs.values()), stopped))
        if stopped():
            return [NotYet() for _ in prompts]
        for n, own in pairs.items():
            sums, shared = zip(*(next(scored) for _ in own), strict=True)
            tokens = tuple(len(answer) for _, answer in own)
            # The prompt of the first option, and what the others add to it.
            usage = Usage(len(own[0][0]) + sum(tokens), min(shared), 0)
            answers[n] = Scores(sums, tokens, usage).as_completion()
        return [answers[n] for n in range(len(prompts))]

    def _rendered(
        self, prompts: Sequence[Prompt], samplings: Sequence[Sampling]
    ) -> list[RenderedPrompt | RequestFailed]:
        room = [
            replace(one, max_tokens=max(len(self._rendering.answer(text)) for text in options_of(one)))
            for one in samplings
        ]
        return self._rendering.tokens_within_limit(prompts, room, self._limit)

    def _scored(self, questions: Sequence[list[_Pair]], stopped: Stopped) -> list[tuple[float, int]]:
        """Score the pairs of all questions: as one tree, or as one tree per question where these share so little of
        their prompts that repeating the rest for each option would take more tokens."""
        every = [pair for own in questions for pair in own]
        if self._no_tree:
            return self._one_by_one(every, stopped)
        if _tokens_apart(questions) < _tokens_together(every):
            return [one for own in questions for one in self._as_tree(own, stopped)]
        return self._as_tree(every, stopped)

    def _as_tree(self, pairs: Sequence[_Pair], stopped: Stopped) -> list[tuple[float, int]]:
        """Return the log-probability of each answer, and how many tokens of its prompt were prefilled for another."""
        from bowstring.tree.packing import build_tree, split_batches
        from bowstring.tree.scoring import Continuation, score

        if not pairs:
            return []
        found: dict[int, tuple[float, int]] = {}
        branches = build_tree([prompt for prompt, _ in pairs]).branches
        lengths = [len(own) + len(answer) for own, (_, answer) in zip(branches, pairs, strict=True)]
        for lot in split_batches(lengths, self._room):
            if stopped():
                break
            sums, trunk = score(self._model, [Continuation(*pairs[n]) for n in lot], stopped=stopped)
            found |= {n: (value, trunk if n != lot[0] else 0) for n, value in zip(lot, sums, strict=True)}
        return [found.get(n, (0.0, 0)) for n in range(len(pairs))]

    def _one_by_one(self, pairs: Sequence[_Pair], stopped: Stopped) -> list[tuple[float, int]]:
        torch = require_torch()
        found: list[tuple[float, int]] = []
        for prompt, answer in pairs:
            if stopped():
                return [(0.0, 0)] * len(pairs)
            given = torch.tensor([[*prompt, *answer]], device=self._model.device)
            with torch.inference_mode():
                logits = self._model(input_ids=given, use_cache=False, logits_to_keep=len(answer) + 1).logits
            likely = logits[0, :-1].float().log_softmax(-1)
            chosen = likely.gather(1, given[0, -len(answer) :].unsqueeze(1))
            found.append((float(chosen.double().sum()), 0))
        return found


def _tokens_together(pairs: Sequence[_Pair]) -> int:
    """Return the tokens of one tree of all pairs."""
    from bowstring.tree.packing import build_tree

    if not pairs:
        return 0
    tree = build_tree([prompt for prompt, _ in pairs])
    return len(tree.tokens) + sum(len(answer) for _, answer in pairs)


def _tokens_apart(questions: Sequence[list[_Pair]]) -> int:
    """Return the tokens of one tree per question."""
    return sum(_tokens_together(own) for own in questions)
