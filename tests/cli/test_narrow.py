"""Narrow terminals: all numbers of a command's output are there as a whole, whatever the width."""

import re

import pytest

import bowstring as package
from bowstring.cli.progress import shortened
from tests.support.command import bowstring

NUMBER = re.compile(r"(?<![\w#/:.])[-+]?\d[\d,]*(?:\.\d+)?[%k]?(?!\w)")  # not in a name


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("narrow") / "runs"
    package.evaluate("hicupid", model=plums, out=folder / "plums-and-other-fruit-of-the-season", seed=3)
    package.evaluate("hicupid", model=echo, out=folder / "echo")
    return folder


def plums(messages):
    return "Try plums instead, or anything else that grows near the river."


def echo(messages):
    return messages[-1]["content"]


COMMANDS = {
    "eval": "eval hicupid --model embedded --dry-run",
    "sweep": "eval hicupid --model embedded --history none --history gold --dry-run",
    "data info": "data info mini/cupid --tokenizer none",
    "compare": "compare echo plums-and-other-fruit-of-the-season",
    "agree": "agree echo plums-and-other-fruit-of-the-season --metrics",
    "audit": "audit echo",
}


@pytest.mark.parametrize("command", COMMANDS)
def test_no_number_is_cut(command, runs):
    words = COMMANDS[command].split()
    wide = bowstring(*words, env={"COLUMNS": "250"}, cwd=runs)
    assert wide.code == 0, wide.err
    expected = set(NUMBER.findall(wide.out))
    assert expected
    for width in (20, 32, 45, 60, 80):
        ran = bowstring(*words, env={"COLUMNS": str(width)}, cwd=runs)
        assert expected <= set(NUMBER.findall(ran.out)), f"at {width}: {ran.out}"
        assert not re.search(r"\d…", ran.out), f"at {width}: {ran.out}"


def test_a_run_in_twenty_columns(tmp_path):
    words = ("eval", "hicupid", "--model", f"python:{__name__}:plums", "--out", tmp_path / "r")
    assert bowstring(*words).code == 0
    wide, narrow = (bowstring(*words, env={"COLUMNS": width}).out for width in ("250", "20"))
    assert set(NUMBER.findall(narrow)) == set(NUMBER.findall(wide))


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (40, "12/1,060 · 73.7 requests/s · 14s left"),
        (36, "12/1,060 · 73.7 requests/s …"),
        (30, "12/1,060 · 73.7 requests/s …"),
        (27, "12/1,060 …"),
        (10, "…"),
    ],
)
def test_a_line_of_progress_loses_whole_parts(width, shown):
    line = "12/1,060 · 73.7 requests/s · 14s left"
    assert shortened(line, width) == shown
    assert len(shown) <= width


def test_words_are_cut_with_a_mark():
    assert shortened("stopping (press Ctrl-C again to stop immediately)", 20) == "stopping (press Ctr…"


@pytest.mark.parametrize("columns", ["0", "00", "", "wide", "-5", "1.5", "²"])
def test_a_width_that_is_none_counts_as_not_set(columns, runs):
    words = ("compare", "echo", "plums-and-other-fruit-of-the-season")
    ran = bowstring(*words, env={"COLUMNS": columns, "LINES": columns}, cwd=runs)
    assert ran.code == 0, ran.err
    assert ran.out == bowstring(*words, env={"COLUMNS": "80"}, cwd=runs).out
