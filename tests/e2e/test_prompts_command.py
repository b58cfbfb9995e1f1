"""`bowstring prompts import` takes its names from the registry."""

import pytest

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import Benchmark
from bowstring.cli import main


def ended(*words: str) -> int:
    with pytest.raises(SystemExit) as end:
        main(["prompts", "import", *words])
    return end.value.code


def test_an_unknown_benchmark_is_named_with_the_nearest(capsys):
    assert ended("hicupit", "x") == 2
    assert capsys.readouterr().err == "'hicupit' is not a benchmark; did you mean hicupid?\n"


def test_a_benchmark_without_prompts_to_import_says_so(capsys, monkeypatch, tmp_path):
    cupid = registry.get("cupid")
    monkeypatch.setattr(type(cupid), "import_prompts", Benchmark.import_prompts)
    assert ended("cupid", str(tmp_path), "--out", str(tmp_path / "out")) == 2
    assert capsys.readouterr().err == "CUPID has no prompts to import\n"
    assert not (tmp_path / "out").exists()
