"""Runs that are shown together are named by their differences."""

import pytest

from bowstring.studies.run_names import short_names


def configuration(model="openai/a", judge="openai/j", prompts=None, **settings):
    usual = {"history": "full", "shots": 0, "instruction": "system", "splits": [], "both_orders": False}
    return {"model": model, "judge": judge, "settings": usual | settings, "prompts": prompts or {"ask": "1" * 64}}


@pytest.mark.parametrize(
    ("configurations", "names"),
    [
        ([configuration("openai/a"), configuration("openai/b")], ["a", "b"]),
        ([configuration("openai/a@gpu-box/v1"), configuration("hf/models/b+out/c")], ["a", "b+c"]),
        ([configuration("python:mine:Model#aaaa"), configuration("embedded")], ["Model", "embedded"]),
        ([configuration("openai/a"), configuration("together/a")], ["openai/a", "together/a"]),
        ([configuration("python:m:f#aa"), configuration("python:m:f#bb")], ["python:m:f#aa", "python:m:f#bb"]),
        ([configuration(history="full"), configuration(history="bm25/utterance/5")], ["full", "bm25/utterance/5"]),
        ([configuration(shots=0), configuration(shots=3)], ["0-shot", "3-shot"]),
        ([configuration("openai/a"), configuration("openai/b", shots=1)], ["a, 0-shot", "b, 1-shot"]),
        ([configuration(judge="openai/j"), configuration(judge="builtin")], ["judge j", "judge builtin"]),
        ([configuration(both_orders=True), configuration()], ["both orders", "one order"]),
        ([configuration(splits=["test_1"]), configuration()], ["test_1", "all splits"]),
        ([configuration(seed=1), configuration(seed=2)], ["seed 1", "seed 2"]),
        ([configuration(), configuration(prompts={"ask": "2" * 64})], ["prompts 1111", "prompts 2222"]),
        ([configuration(None), configuration("openai/b")], ["none", "b"]),
    ],
)
def test_a_name_says_what_differs(configurations, names):
    assert short_names(configurations, ["runs/x", "runs/y"]) == names


def test_what_no_setting_tells_apart_the_folder_does():
    alike = [configuration(), configuration(), configuration("openai/b")]
    assert short_names(alike, ["runs/x", "runs/y", "runs/z"]) == ["a (x)", "a (y)", "b"]
    assert short_names(alike[:2], ["one/x", "two/x"]) == ["one/x", "two/x"]
