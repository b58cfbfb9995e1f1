"""The figure of a training curve."""

from xml.etree import ElementTree

import pytest

from bowstring.training.curve import draw_training

SVG = "{http://www.w3.org/2000/svg}"


def titles(drawn: str) -> list[str]:
    return [t.text for t in ElementTree.fromstring(drawn).iter(f"{SVG}text") if t.get("class") == "title"]


def test_every_number_that_was_logged_has_its_panel():
    sft = [{"step": n, "loss": 3.0 / n, "lr": 1e-4, "grad_norm": 1.0} for n in range(1, 30)]
    assert titles(draw_training(sft)) == ["loss", "learning rate"]
    dpo = [line | {"margin": 0.1, "accuracy": 0.5, "chosen_change": 0.0} for line in sft]
    assert len(titles(draw_training(dpo))) == 5


@pytest.mark.parametrize("values", [[2.0], [1.0, 1.0, 1.0], [3.0, None, 2.0], [0.0, 0.0], [1e30, -1e30]])
def test_a_line_goes_through_whatever_numbers_there_are(values):
    drawn = draw_training([{"step": n, "loss": value} for n, value in enumerate(values, 1)])
    (raw, smooth) = ElementTree.fromstring(drawn).iter(f"{SVG}polyline")
    assert len(raw.get("points").split()) == len([v for v in values if v is not None])
    for pair in (*raw.get("points").split(), *smooth.get("points").split()):
        x, y = map(float, pair.split(","))
        assert 0 <= x <= 720
        assert 0 <= y <= 250
