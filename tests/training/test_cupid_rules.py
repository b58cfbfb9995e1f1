"""Training on generated CUPID sets: what is chosen meets the rules, what is rejected violates them."""

import json

import pytest

from bowstring.benchmarks.cupid.benchmark import CUPID
from bowstring.benchmarks.cupid.rules import met, rules
from bowstring.benchmarks.cupid.training import cupid_examples
from bowstring.benchmarks.cupid.truth import load_truth
from bowstring.benchmarks.loading import load_cupid
from bowstring.training.settings import settings_for
from tests.support.sets import write_cupid
from tests.support.training import small


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return write_cupid(tmp_path_factory.mktemp("sets") / "rules", personas=6, train_personas=6)


@pytest.mark.parametrize("split", ["train", "test"])
@pytest.mark.parametrize("history", ["full", "gold"])
def test_chosen_replies_meet_all_rules_and_rejected_ones_do_not(made, split, history):
    data, truth = load_cupid(str(made), splits=[split]), load_truth(str(made))
    preference = {i.key: [s.preference for s in i.sessions] for i in data.instances}
    examples = cupid_examples(data, settings_for("dpo", history=history), CUPID.prompts())
    wanted_rules = set()
    for pair in (pair for group in examples.groups() for pair in group):
        key, _, number = pair.key.rpartition("/")
        wanted = truth.stated(preference[key][int(number) - 1])
        wanted_rules.update(wanted)
        assert met(pair.answer, wanted) == list(wanted)
        assert len(met(pair.rejected[0], wanted)) < len(wanted)
    held_out = {rule.id for rule in rules().values() if rule.held_out}
    assert bool(wanted_rules & held_out) == (split == "test")


@pytest.mark.parametrize(("method", "task"), [("sft", "inference"), ("sft", "both"), ("dpo", None)])
def test_assistants_are_trained_on_the_split_for_training(made, folder, tmp_path, method, task):
    small(method, folder, made, tmp_path / "a", history="gold", limit=2, **({"task": task} if task else {}))
    said = json.loads((tmp_path / "a" / "training.json").read_text())
    assert said["counts"]["examples"] > 0


def test_an_evaluation_leaves_the_split_for_training_out(made):
    data = load_cupid(str(made), leave_out=["train"])
    assert CUPID.choice({}).leave_out == ("train",)
    assert not any(i.persona_id.startswith("train-") for i in data.instances)
