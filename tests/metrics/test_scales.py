"""Scales: which labels are nominal, ordinal or interval."""

import pytest

from bowstring.metrics.scales import normalize_label, normalize_text, scale_of


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


@pytest.mark.parametrize(
    ("written", "means"),
    [
        ("\uff21", "A"),  # full width
        ("Jose\u0301", "Jos\u00e9"),
        ("win\u200b", "win"),
        ("\ufeffwin", "win"),
        ("not\u00a0 covered", "not covered"),
        ("e\u200d\u0301", "\u00e9"),
        ("\U0001f44d\ufe0f", "\U0001f44d"),
        ("\u200f\u05d0", "\u05d0"),
        ("Win", "Win"),
    ],
)
def test_texts_that_look_alike_are_equal(written, means):
    assert normalize_text(written) == means
    assert normalize_text(means) == means
    assert normalize_label(written) == means


def test_full_width_numbers_are_numbers():
    assert normalize_label("\uff17") == normalize_label("\uff17.\uff10") == "7"


def test_the_scale_has_all_labels_of_the_task():
    labels = ("win", "tie", "lose")
    assert scale_of({"win", "lose"}, task_labels=labels).labels == ("lose", "tie", "win")
    assert scale_of({"win", "lose"}, task_labels=labels).levels == ("nominal",), "two labels are nominal"
    assert scale_of({"win", "draw"}, task_labels=labels).labels == ("draw", "win")
    assert scale_of({"7", "9"}, task_labels=tuple(map(str, range(1, 11)))).labels == ("7", "9")
    assert scale_of({"bad"}, ("bad", "fair", "good")).labels == ("bad", "fair", "good")
