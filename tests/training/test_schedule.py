"""The learning rate over the steps: a warm-up, then a cosine down to nothing."""

import math

import pytest

from tests.support.training import small


@pytest.mark.parametrize("share", [0.0, 0.5])
def test_the_rate_rises_by_the_warm_up_and_then_falls_by_a_cosine(share, folder, users, tmp_path):
    made = small("sft", folder, users, tmp_path / "a", warmup=share, lr=1e-3, branches=2, users_per_step=1, epochs=1)
    rates = [line["lr"] for line in made.record["log"]]
    steps = made.record["counts"]["steps"]
    rising = round(share * steps)
    assert len(rates) == steps > 6
    assert rates[:rising] == pytest.approx([1e-3 * n / rising for n in range(rising)])
    falling = [1e-3 * (1 + math.cos(math.pi * n / (steps - rising))) / 2 for n in range(steps - rising)]
    assert rates[rising:] == pytest.approx(falling)


def test_gradients_are_cut_to_their_norm(folder, users, tmp_path):
    """Gradients clipped to almost zero are below Adam's epsilon, so nothing is learned."""
    losses = {}
    for most in (1e-9, 1e3):
        made = small(
            "sft", folder, users, tmp_path / str(most), grad_norm=most, lr=1e-2, branches=4, users_per_step=4, epochs=2
        )
        losses[most] = [line["loss"] for line in made.record["log"]]
    assert losses[1e-9][0] == pytest.approx(losses[1e3][0])
    assert losses[1e-9][-1] > losses[1e3][-1] + 0.1
