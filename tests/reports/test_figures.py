"""Figures show what the numbers say, on the page and in files for papers."""

from xml.etree import ElementTree

import pytest

import bowstring
from bowstring.benchmarks.figures import Curve, Histogram, Intervals, Mark, Point, Scatter, Stack
from bowstring.metrics.measures import Scale
from bowstring.reports.drawing import draw
from bowstring.reports.figures import figures_of
from bowstring.reports.plots import save_figure

ODD = "a $x_1$ <b>&\u202e</b> name that goes on and on and on and on"
SOME = [
    Intervals("intervals", ODD, [Mark(ODD, 50, 40, 60, 9, True, 87.5, 50), Mark("b", 0, 0, 0, 1, False)], Scale()),
    Stack("stack", ODD, {ODD: {"win": 3, "tie": 1, "odd": 1}, "b": {"yes": 1}}, {"b": 2}),
    Histogram("histogram", ODD, "words", {ODD: [1, 2, 30], "none": []}, [0, 10, 20]),
    Scatter("scatter", ODD, "x", "y", [(0, 1), (0, 1), (100, 10)], ((0, 100), (0, 10))),
    Curve("curve", ODD, [Point("none", "last", 0, 1, 0, 2), Point(ODD, "last", 9000, 5, 4, 6)], Scale(0, 10)),
]


@pytest.mark.parametrize("figure", SOME, ids=lambda f: f.name)
def test_a_figure_on_a_page_is_well_formed_whatever_it_is_called(figure):
    drawn = ElementTree.fromstring(draw(figure))
    assert drawn.get("aria-label") == ODD.replace("\u202e", "\\u202e")
    width, height = map(float, drawn.get("viewBox").split()[2:])
    for shape in (*drawn.iter("circle"), *drawn.iter("rect")):
        x, y = float(shape.get("cx") or shape.get("x")), float(shape.get("cy") or shape.get("y"))
        assert 0 <= x <= width
        assert 0 <= y <= height


@pytest.mark.parametrize("figure", SOME, ids=lambda f: f.name)
def test_a_figure_for_a_paper_is_the_same_file_every_time(figure, tmp_path):
    first = save_figure(figure, tmp_path, ["svg", "pdf", "png"])
    before = [path.read_bytes() for path in first]
    assert before[0].startswith(b"<?xml")
    assert before[1].startswith(b"%PDF")
    assert before[2].startswith(b"\x89PNG")
    assert [path.read_bytes() for path in save_figure(figure, tmp_path, ["svg", "pdf", "png"])] == before


def test_verdicts_and_lengths_add_up(tmp_path):
    run = bowstring.evaluate("hicupid", model=lambda messages: "word " * 7, runs=tmp_path)
    found = {figure.name: figure for figure in figures_of(run.metrics, run.records())}
    rows = found["verdicts"].rows
    assert sum(sum(row.values()) for row in rows.values()) == run.metrics["n"] == 60
    assert set(rows["schedule"]) <= {"yes", "no"}
    compared = {kind: row for kind, row in rows.items() if kind != "schedule"}
    wins = sum(row.get("win", 0) for row in compared.values()) / sum(sum(row.values()) for row in compared.values())
    assert 100 * wins == pytest.approx(run.metrics["metrics"]["win"]["value"])
    lengths = found["lengths"]
    assert sum(lengths.counts("answers")) == 60
    assert set(lengths.series["answers"]) == {7.0}
    scores = {mark.label: mark.value for mark in found["score"].marks}
    assert scores["total"] == run.metrics["metrics"]["score.total"]["value"]
    assert {mark.label for mark in found["score-total-by-gender"].marks} == set(run.metrics["groups"]["gender"])


def test_values_beyond_the_edges_are_counted():
    histogram = Histogram("h", "h", "words", {"a": [-5, 0, 9.9, 10, 20, 99]}, [0, 10, 20])
    assert histogram.counts("a") == [3, 3]
