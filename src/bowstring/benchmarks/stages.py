"""Opens the history stages of an evaluation from its settings, and finds their asker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from bowstring.benchmarks.interface import Context
from bowstring.history.stages.dense import DenseSearch
from bowstring.history.stages.interface import Ask
from bowstring.history.stages.user_stage import UserStages
from bowstring.history.stages.vectors import VECTORS_NAME
from bowstring.history.views import View
from bowstring.models.embedder import Embedder
from bowstring.records import STAGE_ROLE, Completion, Prompt, Sampling
from bowstring.runs.asking import Asker


class HasHistory(Protocol):
    """Settings that define what a model sees of a history."""

    @property
    def retriever(self) -> str: ...

    def view(self) -> View: ...


def dense_search(settings: Sequence[HasHistory], context: Context) -> DenseSearch | None:
    """The search shared by dense views, if there are any."""
    dense = next((one for one in settings if one.view().kind == "dense"), None)
    if dense is None:
        return None
    return DenseSearch(Embedder(dense.retriever, context.tell), context.store.with_name(VECTORS_NAME))


def own_stages(view: View) -> UserStages | None:
    """The factory for stages of a user's class, if the view is one."""
    return UserStages(view.name) if view.kind == "python" else None


def stage_identities(view: View, search: DenseSearch | None, own: UserStages | None) -> dict[str, str]:
    """What the stage of an evaluation is made of, for its configuration."""
    dense = {"retriever": search.embedder.identity} if search and view.kind == "dense" else {}
    return dense | ({"stage": own.identity} if own else {})


def stage_asker(askers: Mapping[str, Asker]) -> Ask:
    """The asker of the stages of an evaluation."""

    async def ask(prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion:  # noqa: ARG001
        return await askers[STAGE_ROLE].ask(prompt, sampling)

    return ask
