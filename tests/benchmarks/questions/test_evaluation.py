"""Settings of question benchmarks."""

import pytest

from bowstring.benchmarks.questions import QuestionSettings


@pytest.mark.parametrize(
    ("history", "searched"),
    [
        ("full", set()),
        ("bm25/dialogue/2", {"bm25_tokens"}),
        ("dense/utterance/2", {"retriever"}),
    ],
)
def test_a_run_is_described_by_the_settings_that_affect_it(history, searched):
    described = QuestionSettings(history=history).configuration()
    assert described["history"] == history
    assert described.keys() & {"bm25_tokens", "retriever"} == searched
