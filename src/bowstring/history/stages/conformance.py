"""Check that a user-supplied stage follows the rules. Call `check_stage` in your tests:

from bowstring.history.stages.conformance import check_stage

def test_my_memory_keeps_the_rules():
    check_stage("my_module:MyMemory")          # or the class itself; answer= is the stand-in model

An AssertionError names the broken rule.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from bowstring.concurrency import run_anywhere
from bowstring.history.stages.interface import Shown
from bowstring.history.stages.user_stage import UserStages
from bowstring.models.interface import RequestFailed
from bowstring.records import Completion, Dialogue, Message, Prompt, Sampling

_TOPICS = {
    "anna": ("allergic to peanuts", "moved to Lisbon in May", "training for a marathon"),
    "ben": ("keeps bees", "works night shifts", "is learning Welsh"),
}
_QUESTIONS = ("What should I cook tonight?", "How do I get to work?", "What should I do at the weekend?")


def check_stage(
    stage: str | type[Any], *, answer: Callable[[str], str] = lambda text: f"Noted: {text[:80]}"
) -> dict[str, list[Shown]]:
    """Run a stage for two users; return what was shown to each. `answer` stands in for the model that it calls."""
    stages = UserStages(f"python:{stage}" if isinstance(stage, str) and not stage.startswith("python:") else stage)

    async def ask(prompt: Prompt, sampling: Sampling, *, expect: int) -> Completion:  # noqa: ARG001
        return Completion(answer(prompt.messages[-1].text))

    async def shown_to(user: str) -> list[Shown]:
        made = stages(ask)
        await made.open(user)
        for dialogue in _history(user):
            await made.ingest(dialogue)
        return [await made.retrieve(question) for question in (*_QUESTIONS, *_QUESTIONS)]

    async def run() -> dict[str, list[Shown]]:
        first = {user: await shown_to(user) for user in _TOPICS}
        again = {user: await shown_to(user) for user in reversed(_TOPICS)}
        for user, shown in first.items():
            assert again[user] == shown, (
                f"{stages.name}: {user} is shown something different when another user came first: state is shared "
                "between instances, or the stage is not deterministic"
            )
            _check_shown(stages.name, user, shown)
        return first

    try:
        return run_anywhere(run)
    except RequestFailed as failed:
        raise AssertionError(failed.reason) from failed


def _check_shown(name: str, user: str, shown: list[Shown]) -> None:
    half = len(_QUESTIONS)
    assert shown[:half] == shown[half:], (
        f"{name}: the same question is shown something different when it is asked again"
    )
    foreign = [topic for other, topics in _TOPICS.items() if other != user for topic in topics]
    for one in shown:
        text = " ".join([*(m.text for d in one.dialogues for m in d.messages), *(one.notes or ())])
        leaked = next((topic for topic in foreign if topic in text), None)
        assert leaked is None, f"{name}: {user} is shown text of another user: {leaked!r}"


def _history(user: str) -> list[Dialogue]:
    return [
        Dialogue(
            10 * n,
            "session",
            (
                Message("user", (f"{user.title()} here. A few words about me: {topic}.",)),
                Message("assistant", ("I see.",)),
            ),
            when=f"2025-0{n}-14",
        )
        for n, topic in enumerate(_TOPICS[user], 1)
    ]
