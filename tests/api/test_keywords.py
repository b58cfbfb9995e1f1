"""What a type checker knows about the keywords of the Python API is what the settings dataclasses say."""

import dataclasses
import types
import typing
from collections.abc import Sequence
from pathlib import Path

import pytest

from bowstring.api.calls import EvaluationKeywords, evaluate
from bowstring.api.evaluate import Subject
from bowstring.benchmarks.cupid.evaluation import CupidKeywords, CupidSettings, CupidSweepKeywords
from bowstring.benchmarks.cupid.synthesis import CupidRoles, CupidSynthesisKeywords, CupidSynthesisSettings
from bowstring.benchmarks.hicupid.evaluation import HicupidKeywords, HicupidSettings, HicupidSweepKeywords
from bowstring.benchmarks.hicupid.synthesis import HicupidRoles, HicupidSynthesisKeywords, HicupidSynthesisSettings
from bowstring.errors import UsageError
from bowstring.runs.running import RequestKeywords, RunKeywords, RunOptions
from bowstring.settings import options_of
from bowstring.studies.audit import AuditKeywords, AuditSettings, audit
from bowstring.synthesis.settings import SynthesisKeywords, SynthesisOptions
from bowstring.training.settings import TrainKeywords, TrainOptions, TrainSettings

SRC = Path(__file__).parents[2] / "src"


def keyword_types(*dataclasses_, without=(), several=False):
    """The types of keywords: a path may be text, a tuple any sequence, and an axis of a sweep several values."""
    found = {}
    for kind in dataclasses_:
        axes = {one.field for one in options_of(kind) if one.axis}
        hints = typing.get_type_hints(kind)
        for field in dataclasses.fields(kind):
            one = keyword_type(hints[field.name])
            found[field.name] = one | Sequence[one] if several and field.name in axes else one
    return {name: hint for name, hint in found.items() if name not in without}


def keyword_type(hint):
    members = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if Path in members:
        return typing.Union[tuple(str | Path if one is Path else one for one in members)]  # noqa: UP007
    return Sequence[typing.get_args(hint)[0]] if typing.get_origin(hint) is tuple else hint


@pytest.mark.parametrize(
    ("keywords", "expected"),
    [
        (RunKeywords, keyword_types(RunOptions)),
        (AuditKeywords, keyword_types(AuditSettings) | typing.get_type_hints(RequestKeywords)),
        (TrainKeywords, keyword_types(TrainOptions, TrainSettings, without=("method", "data", "out"))),
        (HicupidKeywords, keyword_types(HicupidSettings)),
        (HicupidSweepKeywords, keyword_types(HicupidSettings, several=True)),
        (CupidKeywords, keyword_types(CupidSettings)),
        (CupidSweepKeywords, keyword_types(CupidSettings, several=True)),
        (SynthesisKeywords, keyword_types(SynthesisOptions)),
        (HicupidSynthesisKeywords, keyword_types(HicupidSynthesisSettings, HicupidRoles, without=("model",))),
        (CupidSynthesisKeywords, keyword_types(CupidSynthesisSettings, CupidRoles, without=("model",))),
    ],
    ids=lambda one: getattr(one, "__name__", ""),
)
def test_keywords_are_the_fields_of_the_dataclasses(keywords, expected):
    assert typing.get_type_hints(keywords) == expected


def test_the_keywords_of_an_evaluation_have_its_subject():
    fields = {field.name for field in dataclasses.fields(Subject)}
    assert EvaluationKeywords.__annotations__.keys() == fields | RunKeywords.__annotations__.keys() | {
        *("like", "watch", "tell")
    }


RIGHT = """
import bowstring

bowstring.evaluate("hicupid", model="embedded", limit=3, shots=1, out="x", types=["persona"])
bowstring.evaluate("cupid", model="embedded", task="both", protocol="published")
bowstring.evaluate("diary", model="embedded", data="d", history="none", settings={"strictness": 3})
bowstring.evaluate(like="runs/a", model="embedded")
bowstring.sweep("hicupid", model="embedded", history=["full", "none"], shots=[0, 1])
bowstring.synthesize("cupid", model="x", personas=3, assistant="y")
bowstring.synthesize("hicupid", offline=True, users=3, out="x")
bowstring.audit("runs/a", second_judge="builtin", checks=["gold"], max_cost=1)
bowstring.compare(["runs/a", "runs/b"], labels=["people.csv"], items=3)
bowstring.train("sft", data="d", out="o", epochs=2, lr=1e-4)
"""
WRONG = [
    'bowstring.evaluate("hicupid", modle="x")',
    'bowstring.evaluate("hicupid", limit="three")',
    'bowstring.evaluate("hicupid", task="both")',
    'bowstring.evaluate("diary", strictness=3)',
    'bowstring.sweep("cupid", history=[1])',
    'bowstring.synthesize("cupid", users=3)',
    'bowstring.audit("runs/a", sample="all")',
    'bowstring.compare(["runs/a"], labels=3)',
    'bowstring.train("sft", epoch=2)',
]


def test_a_type_checker_finds_wrong_names_and_types(tmp_path, monkeypatch):
    checker = pytest.importorskip("mypy.api")
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text("import bowstring\n" + "\n".join(WRONG) + "\n")
    monkeypatch.setenv("MYPYPATH", str(SRC))
    monkeypatch.chdir(tmp_path)
    options = ("--strict", "--follow-imports=silent", "--no-error-summary", "--cache-dir", str(tmp_path / "cache"))
    said, problem, _ = checker.run([*options, "right.py", "wrong.py"])
    assert not problem
    lines = {
        int(line.split(":")[1]) for line in said.splitlines() if line.startswith("wrong.py:") and ": error:" in line
    }
    assert lines == set(range(2, 2 + len(WRONG)))
    assert "right.py" not in said


def test_settings_may_be_a_mapping(tmp_path):
    made = evaluate("hicupid", model=lambda messages: "Yes.", limit=1, out=tmp_path / "r", settings={"history": "none"})
    assert made.metrics["config"]["settings"]["history"] == "none"
    with pytest.raises(UsageError, match="history is given twice: as a keyword, and in settings"):
        evaluate("hicupid", history="full", settings={"history": "none"})
    with pytest.raises(UsageError, match="has no setting 'histroy'; did you mean history"):
        evaluate("hicupid", model="embedded", settings={"histroy": "none"})


def test_an_audit_has_no_folder_of_its_own(tmp_path):
    with pytest.raises(UsageError, match=r"audit\(\) has no setting 'out'"):
        audit(tmp_path, out="x")
