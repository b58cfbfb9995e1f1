"""Scales: which labels are nominal, ordinal or interval."""

import pytest

from bowstring.metrics.scales import normalize_label, scale_of


@pytest.mark.parametrize(
    ("found", "order", "labels", "levels", "level"),
    [
        ({"10", "9", "2"}, (), ("2", "9", "10"), ("nominal", "ordinal", "interval"), "interval"),
        ({"win", "lose", "tie"}, (), ("lose", "tie", "win"), ("nominal", "ordinal", "interval"), "ordinal"),
        ({"personalized", "general", "tie"}, (), ("general", "tie", "personalized"), None, "ordinal"),
        ({"win", "lose"}, (), ("lose", "win"), ("nominal",), "nominal"),
        ({"good", "bad", "fair"}, (), ("bad", "fair", "good"), ("nominal",), "nominal"),
        ({"good", "bad", "fair"}, ("bad", "fair", "good", "best"), None, ("nominal", "ordinal"), "ordinal"),
        ({"7", "n/a"}, (), ("7", "n/a"), ("nominal",), "nominal"),
        ({str(n) for n in range(100)}, (), None, ("interval",), "interval"),
    ],
)
def test_labels_have_what_they_have(found, order, labels, levels, level):
    scale = scale_of(found, order)
    assert labels is None or scale.labels == labels
    assert levels is None or scale.levels == levels
    assert scale.level == level


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
def test_what_was_asked_for_is_taken(level):
    assert scale_of({"1", "2", "3"}, level=level).levels == (level,)
    assert scale_of({"win", "lose"}, level=level).level == level


@pytest.mark.parametrize(
    ("found", "order", "level", "message"),
    [
        ({"good", "bad"}, (), "ordinal", "ordinal needs an order; the labels are bad, good"),
        ({"good", "bad"}, ("bad", "good"), "interval", "interval needs numbers"),
        ({"good", "bad"}, ("bad",), None, "'good' is not in the order"),
        ({str(n) for n in range(41)}, (), "nominal", "at most 40 different labels; there are 41"),
    ],
)
def test_what_labels_do_not_have_cannot_be_asked_for(found, order, level, message):
    with pytest.raises(ValueError, match=message):
        scale_of(found, order, level)


@pytest.mark.parametrize(
    ("label", "means"),
    [("7.0", "7"), ("07", "7"), ("8.50", "8.5"), ("-1", "-1"), ("nan", "nan"), ("1e99", "1" + "0" * 99)],
)
def test_a_number_is_one_label_however_it_is_written(label, means):
    assert float(normalize_label(label)) == float(means) if label != "nan" else normalize_label(label) == "nan"
    assert normalize_label(normalize_label(label)) == normalize_label(label)
