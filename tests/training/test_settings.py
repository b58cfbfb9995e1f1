"""Training settings: one definition for the command and the API, with the published defaults of each method."""

from typing import get_args

import pytest

from bowstring.api.train import train
from bowstring.cli.train import method_options
from bowstring.errors import UsageError
from bowstring.training.settings import Method, relevant_settings, settings_for


@pytest.mark.parametrize("method", get_args(Method))
def test_help_shows_the_defaults_that_a_call_has(method):
    settings = settings_for(method)
    shown = {one.field: one.default for one in method_options(method) if hasattr(settings, one.field)}
    assert shown == {name: getattr(settings, name) for name in shown}
    assert shown.keys() == relevant_settings(method) - {"method"} - ({"dropout"} if method == "dpo" else set())


@pytest.mark.parametrize(
    ("method", "lr", "rank", "alpha", "length"),
    [
        ("sft", 1e-4, 256, 512, 20_480),
        ("dpo", 1e-6, 256, 512, 20_480),
        ("judge", 2e-4, 64, 128, 1024),
        ("matcher", 2e-4, 64, 128, 2048),
    ],
)
def test_defaults_are_the_published_ones(method, lr, rank, alpha, length):
    found = settings_for(method)
    assert (found.lr, found.rank, found.alpha, found.max_length) == (lr, rank, alpha, length)


def test_irrelevant_dialogues_are_dropped_from_a_full_history():
    assert settings_for("sft", drop_irrelevant=2).drop_irrelevant == 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"epoch": 2}, "train() has no setting 'epoch'; did you mean epochs?"),
        ({"int_from": "x"}, "train() has no setting 'int_from'; did you mean init_from?"),
        ({"lr": 0}, "--lr 0.0: expected a number above 0"),
        ({"save_every": 0}, "--save-every 0: expected a whole number of at least 1"),
        ({"drop_irrelevant": 2, "history": "gold"}, "--drop-irrelevant needs --history full, not gold"),
        ({"precision": "fp8"}, "--precision fp8: expected auto, bf16 or float32"),
    ],
)
def test_a_call_that_cannot_be_meant_is_refused(given, said, tmp_path):
    with pytest.raises(UsageError) as error:
        train("sft", data="mini/hicupid", out=tmp_path / "a", **given)
    assert str(error.value) == said
    assert not (tmp_path / "a").exists()


def test_whole_numbers_and_lists_are_the_same_training():
    assert settings_for("sft", epochs=2, types=["persona"]) == settings_for("sft", epochs=2.0, types=("persona",))
    assert settings_for("sft", lr=None) == settings_for("sft")
