"""Groups with one command per benchmark: what is not a benchmark is said, also where help is asked for."""

import pytest

from tests.support.command import bowstring


@pytest.mark.parametrize("rest", [[], ["--help"], ["--model", "embedded"]])
def test_a_benchmark_that_there_is_not_is_refused_whatever_follows(rest, tmp_path):
    ran = bowstring("eval", "hicupd", *rest, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "'hicupd' is not a benchmark; did you mean hicupid?\n"


def test_an_option_is_not_taken_for_a_benchmark(tmp_path):
    ran = bowstring("eval", "--frobnicate", cwd=tmp_path)
    assert ran.code == 2
    assert "No such option: --frobnicate" in ran.err
    assert "not a benchmark" not in ran.err


def test_help_offers_nothing_but_options_of_the_command(tmp_path):
    ran = bowstring("eval", "hicupid", "--help", cwd=tmp_path)
    assert "--history" in ran.out
    assert "completion" not in ran.out
