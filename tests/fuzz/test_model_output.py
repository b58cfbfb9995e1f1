"""Arbitrary model output is parsed or found unreadable, in bounded time and memory."""

import json
import math
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bowstring.benchmarks.cupid.pipeline_parts import (
    FactorOut,
    read_factors,
    read_persona,
    read_series,
    read_simulated,
)
from bowstring.benchmarks.cupid.published_form import PublishedForm
from bowstring.benchmarks.hicupid.pipeline_parts import QuestionOut, read_list, read_one, read_personas, read_schedules
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.judging.sections import read_preference, read_rating, read_section
from bowstring.judging.structured import Unreadable, read_checklist, read_labels
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.models import anthropic, bedrock, endpoint
from bowstring.models.finish_reasons import AnswerFailed

# What such texts are made of, and what they should not be.
PIECES = """
Better Response: | Satisfaction: | A | B | Tie | YES | NO | ** | ### Most Likely Preference | ### Evaluation Score
#### Your Message | #### Continue or End? | 7 | 10 | 1e999 | -0 | ９ | ```json | ```yaml | ``` | { | } | [ | ]
"checklist" | "results" | "index": 1 | "label": "Fully Covered" | : | , | null | NaN | Infinity | true | <think>
context_factors: | scenarios: | - factor: x |   preference: 2001-99-99 | &a | *a | <<: *a | !!python/object:os.system
"personas": [{"entity": "x"}] | "schedules" | \\ | " | ' | %TAG ! x | --- | ? [a] | </think> | 😀
"""
MARKS = [piece.strip() for line in PIECES.strip().splitlines() for piece in line.split(" | ")]
ODD = ["\n", "\n\n", " ", "\t", "\x00", "\ud800", "\u202e", "9" * 5000, "[" * 500, '{"a":' * 300, "|"]
WRITTEN = st.lists(st.one_of(st.sampled_from(MARKS + ODD), st.text(max_size=20)), max_size=25).map("".join)
NAMES = st.sampled_from(
    ["results", "checklist", "index", "label", "entry", "choices", "message", "content", "usage", "text", "type"]
)
ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=20,
)
PUBLISHED = PublishedForm.__new__(PublishedForm)  # reading needs no prompts
FACTORS = [FactorOut(factor=f"factor {n}", preference=f"likes what is number {n}") for n in range(4)]


FIELDS = st.sampled_from(
    ["factor", "preference", "task_types", "related_factor", "id", "context_factor", "request_with_factor", "resource"]
)
ROW = st.dictionaries(FIELDS, st.sampled_from(["x", "factor 1", "N/A", None, 3, [], ["x"], {}]), max_size=8)


@settings(max_examples=200)
@given(st.lists(ROW | ANY, min_size=7, max_size=7), st.sampled_from(["context_factors", "scenarios", "personas"]))
def test_published_answers_of_any_shape(rows, key):
    text = json.dumps({key: rows})
    for read in (
        lambda: PUBLISHED.read_factors(text, 7),
        lambda: PUBLISHED.read_series(text, 7, FACTORS),
        lambda: PUBLISHED.read_personas(text, 7),
    ):
        with suppress(Unreadable):
            read()


@settings(max_examples=400)
@given(WRITTEN)
def test_verdicts(said):
    assert read_pairwise(said) in ("A", "B", "tie", None)
    assert read_satisfaction(said) in (True, False, None)
    rating = read_rating(said)
    assert rating is None or (1 <= rating <= 10 and math.isfinite(rating))
    preference = read_preference(said)
    assert preference is None or preference.strip()
    read_section(said, "Evaluation Score")


@pytest.mark.parametrize(
    "read",
    [
        read_checklist,
        lambda text: read_labels(text, ["Is it blue?", "Is it brief?"]),
        read_persona,
        lambda text: read_factors(text, 3),
        lambda text: read_series(text, 9, FACTORS),
        lambda text: read_simulated(text, 3),
        lambda text: PUBLISHED.read_personas(text, 1),
        lambda text: PUBLISHED.read_factors(text, 3),
        lambda text: PUBLISHED.read_series(text, 9, FACTORS),
        lambda text: PUBLISHED.read_simulated(text, 3),
        PUBLISHED.read_checklist,
        lambda text: read_one(text, "question", QuestionOut),
        lambda text: read_list(text, "schedules", QuestionOut, 2),
        lambda text: read_personas(text, 1, frozenset()),
        lambda text: read_schedules(text, 1),
    ],
)
@given(WRITTEN)
def test_structures(read, said):
    with suppress(Unreadable):
        read(said)


@given(ANY)
def test_json_of_any_shape(value):
    for read in (read_checklist, lambda text: read_labels(text, ["a", "b"])):
        with suppress(Unreadable):
            read(json.dumps(value))


@pytest.mark.parametrize("read", [endpoint.read_completion, anthropic.read_completion, bedrock.read_completion])
@given(ANY | st.fixed_dictionaries({"choices": st.lists(ANY, max_size=2), "usage": ANY, "content": ANY, "output": ANY}))
def test_a_servers_answer_is_a_completion_or_a_wrong_shape(read, value):
    """The transport treats these errors as malformed answers, or as failures of the server, and retries."""
    with suppress(ValueError, KeyError, IndexError, TypeError, AttributeError, AnswerFailed):
        found = read(value)
        assert isinstance(found.text, str)
        assert found.usage.prompt >= 0


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(97 + n)}: &{chr(97 + n)} [{','.join([f'*{chr(96 + n)}'] * 9)}]\n" for n in range(1, 12)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "a: &a [*a]",
        "a: 2001-99-99",
        "? [1, 2]\n: x",
        "? {a: b}\n: x",
        "!!python/object/apply:os.system ['true']",
        "a: " + "9" * 5000,
        "[" * 3000,
        "a: !!binary x",
        "a: !!timestamp nonsense",
        "\x00",
        "- - - - -\n -",
    ],
)
def test_yaml_that_is_no_plain_data_is_refused_in_a_line(text):
    with pytest.raises(ParseError) as why:
        parse_safe_yaml(text)
    assert "\n" not in str(why.value)
    with pytest.raises(Unreadable):
        read_factors(f"```yaml\ncontext_factors:\n{text}\n```", 3)


@settings(max_examples=300)
@given(WRITTEN)
def test_yaml_of_any_text(said):
    with suppress(ParseError):
        parse_safe_yaml(said)
