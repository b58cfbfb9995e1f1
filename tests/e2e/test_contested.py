"""A run that fails where it would be wrong is not the better one."""

import hashlib
import json

import pytest

import bowstring as package
from bowstring.studies.compare import compare
from tests.support.command import bowstring


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contested") / "set"
    made = bowstring("synth", "hicupid", "--offline", "--users", "30", "--out", str(folder))
    assert made.code == 0, made.err
    return folder


def share(messages, salt):
    return int(hashlib.sha256(f"{salt}{messages[-1]['content']}".encode()).hexdigest()[:8], 16) / 2**32


def steady(messages):
    return "GOLD" if share(messages, "steady") < 0.75 else "wrong"


def cautious(messages):
    """Right where it answers: on four items of ten."""
    if share(messages, "hard") > 0.4:
        raise RuntimeError("too hard")
    return "GOLD"


def judge(messages):
    return f"Satisfaction: {'YES' if 'GOLD' in messages[-1]['content'] else 'NO'}"


def test_failing_does_not_pay(data, tmp_path):
    runs = {}
    for name, model in (("steady", steady), ("cautious", cautious)):
        runs[name] = package.evaluate(
            "hicupid", model=model, judge=judge, data=str(data), types=["schedule"], attempts=1, out=tmp_path / name
        )
    found = compare([tmp_path / "steady", tmp_path / "cautious"])
    names = {run.name: run.folder.name for run in found.runs}
    ((first, second), pair), *_ = found.pairs.items()
    better = second if pair.value > 0 else first
    assert names[better] == "cautious", "on the items that both have a score of"
    assert pair.corrected < 0.05
    assert (pair.contested, pair.significant) == (True, False)
    places = {names[name]: rank for name, rank in found.ranks.items()}
    assert (places["steady"].place, places["cautious"].place) == (1, 2)
    assert any("not with failures at the worst score" in note for note in found.notes)
    shown = bowstring("compare", str(tmp_path / "steady"), str(tmp_path / "cautious"), "--format", "markdown")
    assert "▲" not in shown.out
    raced = package.race(
        "hicupid",
        model=steady,
        against=cautious,
        judge=judge,
        data=str(data),
        types=["schedule"],
        attempts=1,
        runs=tmp_path / "race",
    )
    assert raced.better != raced.names[1], "nor in a race"
    saved = json.loads((tmp_path / "cautious" / "metrics.json").read_text())["metrics"]["score.schedule"]
    assert saved["missing"]["as_worst"] < 60 < saved["value"]
