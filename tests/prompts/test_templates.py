"""Templates: values are plain data, and prompts are split where their common part ends."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.benchmarks.hicupid.benchmark import HICUPID
from bowstring.errors import DataError
from bowstring.prompts import Template


def test_the_fixed_part_comes_first():
    template = Template("t", None, 'Rules: {{"a": 1}}. Q: {question} A: {answer}')
    assert template.user_parts(question="why?", answer="so") == ('Rules: {"a": 1}. Q: ', "why? A: so")
    assert template.placeholders == {"question", "answer"}


@given(st.text(max_size=50))
def test_what_is_filled_in_means_nothing(text):
    assert Template("t", None, "<{x}>").user_parts(x=text) == ("<", f"{text}>")


@pytest.mark.parametrize("text", ["{x.__class__}", "{0}", "{x!r}", "{x:>10}", "{ x }", "{}"])
def test_only_plain_names_are_placeholders(text):
    assert Template("t", None, text).user_parts(x="y") == (text, "")


def test_an_unknown_placeholder_is_named():
    with pytest.raises(DataError, match=r"prompt t has an unknown placeholder \{colour\}"):
        Template("t", None, "{colour}").user_parts(x="y")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[1, 2]", "expected system_prompt or user_prompt"),
        ("user_prompt: [a]", "to be text"),
        ("user_prompt: 'unclosed", "not YAML"),
        ("system_prompt: hello", r"has no placeholder \{answer\}"),
    ],
)
def test_a_prompt_that_cannot_be_used_says_why(tmp_path, content, message):
    (tmp_path / "hicupid").mkdir()
    (tmp_path / "hicupid" / "judge_schedule.yaml").write_text(content)
    with pytest.raises(DataError, match=message):
        HICUPID.prompts(tmp_path).get("hicupid/judge_schedule", needs=frozenset({"answer"}))


def test_a_folder_overrides_one_by_one_and_the_fingerprint_tells(tmp_path):
    (tmp_path / "hicupid").mkdir()
    (tmp_path / "hicupid" / "ask.yaml").write_text("system_prompt: Mine.")
    own, bundled = HICUPID.prompts(tmp_path), HICUPID.prompts()
    assert own.get("hicupid/ask").system_text() == "Mine."
    assert own.get("hicupid/judge_persona") == bundled.get("hicupid/judge_persona")
    bundled.get("hicupid/ask")
    assert own.fingerprints["hicupid/ask"] != bundled.fingerprints["hicupid/ask"]
    assert own.fingerprints["hicupid/judge_persona"] == bundled.fingerprints["hicupid/judge_persona"]


def test_a_prompt_that_nobody_wrote_is_named_with_its_place(tmp_path):
    expected = rf"has no prompt hicupid/poem: expected {tmp_path}/hicupid/poem\.yaml or .*templates/poem\.yaml"
    with pytest.raises(DataError, match=expected):
        HICUPID.prompts(tmp_path).get("hicupid/poem")
