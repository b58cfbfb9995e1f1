"""What questions are shown of a history: a stage is opened once per user, and again only if that failed."""

import asyncio

import pytest

from bowstring.benchmarks.loading import load_hicupid
from bowstring.history.stages.showing import Asked, Histories, Readers
from bowstring.history.stages.user_stage import UserStages
from bowstring.history.views import View
from bowstring.models.interface import RequestFailed


class Recorder:
    """Records for which users it was opened, and fails a given number of times."""

    opened: list[str]
    failures = 0

    def open(self, user):
        type(self).opened.append(user)
        if type(self).failures:
            type(self).failures -= 1
            raise ConnectionError("the index is down")

    def ingest(self, dialogue):
        self.newest = dialogue.id

    def retrieve(self, question):
        return [self.newest]


async def no_model(prompt, sampling, *, expect):
    raise AssertionError("this stage asks nothing")


def histories(failures):
    class Stage(Recorder):
        opened: list[str] = []  # noqa: RUF012

    Stage.failures = failures
    readers = Readers(load_hicupid("mini"))
    return Stage, Histories(View("python", name="python:test:Stage"), readers, own=UserStages(Stage))


def test_a_history_is_taken_in_once_however_many_ask_at_the_same_time():
    stage, shown_of = histories(failures=0)

    async def run():
        return await asyncio.gather(*(shown_of.show("0", [Asked("a?"), Asked("b?")], no_model) for _ in range(3)))

    shown = asyncio.run(run())
    assert stage.opened == ["0"]
    assert len({one.sources for group in shown for one in group}) == 1


def test_a_stage_that_could_not_be_opened_is_opened_again_for_the_next_who_asks():
    stage, shown_of = histories(failures=1)

    async def run():
        with pytest.raises(RequestFailed, match="the index is down"):
            await shown_of.show("0", [Asked("a?")], no_model)
        return await shown_of.show("0", [Asked("a?")], no_model)

    assert len(asyncio.run(run())) == 1
    assert stage.opened == ["0", "0"]
