"""The stages of an evaluation, opened from its settings; and the asker that they ask with."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bowstring.benchmarks.interface import Context
from bowstring.history.stages.dense import VECTORS_NAME, DenseSearch
from bowstring.history.stages.interface import Ask
from bowstring.history.stages.user_stage import UserStages
from bowstring.history.views import View
from bowstring.models.embedder import Embedder
from bowstring.records import STAGE_ROLE, Completion, Prompt, Sampling
from bowstring.runs.asking import Asker


class HasHistory(Protocol):
    """Settings that say what a model sees of a history."""

    @property
    def retriever(self) -> str: ...

    def view(self) -> View: ...


def dense_search(settings: Sequence[HasHistory], context: Context) -> DenseSearch | None:
    """The search that dense views share, if there is any among them."""
    dense = next((one for one in settings if one.view().kind == "dense"), None)
    if dense is None:
        return None
    return DenseSearch(Embedder(dense.retriever, context.tell), context.store.with_name(VECTORS_NAME))


def own_stages(view: View) -> UserStages | None:
    """What makes the stages of a user's own class, if that is the view."""
    return UserStages(view.name) if view.kind == "python" else None


def stage_asker(askers: Mapping[str, Asker]) -> Ask:
    """What the stages of an evaluation ask with: the asker of their role."""

    async def ask(prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion:  # noqa: ARG001
        return await askers[STAGE_ROLE].ask(prompt, sampling)

    return ask
