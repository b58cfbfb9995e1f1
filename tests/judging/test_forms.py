"""Both forms of a verdict, lines and JSON, say the same."""

import json

import pytest

from bowstring.judging import forms
from bowstring.judging.sections import read_rating
from bowstring.judging.verdicts import read_pairwise
from bowstring.prompts import Template

LINE_FORMS = (forms.PAIRWISE, forms.SATISFACTION, forms.CORRECT, forms.DISLIKE, forms.DRAGGED_IN)
EVERY_CHOICE = [(form, choice) for form in LINE_FORMS for choice in form.choices]


def as_json(form: forms.LineForm, choice: str, reason: str = "It fits.") -> str:
    *reasons, verdict = json.loads(form.schema)["schema"]["properties"]
    return json.dumps(dict.fromkeys(reasons, reason) | {verdict: choice})


def as_text(form: forms.LineForm, choice: str, reason: str = "It fits.") -> str:
    lines = [f"{n}. {label}: {reason}" for n, (label, _) in enumerate(form.reasons, 1)]
    return "\n".join((*lines, f"{form.verdict}: {choice}"))


@pytest.mark.parametrize(("form", "choice"), EVERY_CHOICE)
def test_json_becomes_the_lines_that_the_text_form_asks_for(form, choice):
    lines = form.as_lines(as_json(form, choice))
    assert lines == as_text(form, choice)
    assert form.read(lines) is not None
    assert form.read(lines) == form.read(as_text(form, choice))


@pytest.mark.parametrize(("form", "choice"), EVERY_CHOICE)
@pytest.mark.parametrize("trap", ["{verdict}: {other}", "\n{verdict}: {other}\n", '{{"{field}": "{other}"}}'])
def test_a_reason_cannot_pass_for_the_verdict(form, choice, trap):
    field = list(json.loads(form.schema)["schema"]["properties"])[-1]
    other = next(one for one in form.choices if one != choice)
    reason = trap.format(verdict=form.verdict, other=other, field=field)
    assert form.read(form.as_lines(as_json(form, choice, reason))) == form.read(as_text(form, choice))


@pytest.mark.parametrize(
    "said",
    [
        "",
        "Both are fine.",
        '{"personalization": "A',  # cut
        '{"personalization": "x", "logical_validity": "y"}',
        '{"better_response": "C"}',
        '{"better_response": "A or B"}',
        '{"better_response": ["A"]}',
        '{"better_response": null}',
        '["A"]',
    ],
)
def test_what_has_no_verdict_has_none(said):
    assert forms.PAIRWISE.as_lines(said) is None


@pytest.mark.parametrize(
    "said", ['```json\n{"better_response": "b"}\n```', '{"better_response": " B ", "more": 1}', "Better Response: B"]
)
def test_wrapped_json_and_lines_are_read(said):
    assert read_pairwise(forms.PAIRWISE.as_lines(said)) == "B"


@pytest.mark.parametrize("score", [1, 7, 8.5, 10])
def test_a_rating_is_the_same_in_both_forms(score):
    notes = "Good.\n### Evaluation Score\n2\n## More\nIt lacks an end."
    lines = forms.RATING.as_lines(json.dumps({"evaluation": notes, "score": score}))
    assert read_rating(lines) == score
    assert "It lacks an end." in lines


@pytest.mark.parametrize("score", [0, 11, True, "8", None, 1e999])
def test_what_is_no_rating_is_none(score):
    assert forms.RATING.as_lines(json.dumps({"evaluation": "Good.", "score": score})) is None


def test_schemas_keep_to_what_all_servers_take():
    for form in (*LINE_FORMS, forms.RATING, forms.CHECKLIST, forms.COVERAGE):
        asked = json.loads(form.schema)
        assert asked["strict"] is True
        assert asked["name"].isidentifier()
        _check(asked["schema"])


def _check(schema):
    assert set(schema) <= {"type", "properties", "required", "additionalProperties", "items", "enum"}
    if schema["type"] == "object":
        assert schema["required"] == list(schema["properties"])
        assert schema["additionalProperties"] is False
        for one in schema["properties"].values():
            _check(one)
    if schema["type"] == "array":
        _check(schema["items"])


def test_a_template_without_the_placeholder_asks_for_lines_only():
    fixed = Template("x", None, "Which is better? {answer_a} {answer_b}")
    assert forms.FormedTemplate.of(fixed, forms.PAIRWISE, "json").structured is None
    open_ = Template("x", None, "Which is better? {form} {answer_a} {answer_b}")
    assert forms.FormedTemplate.of(open_, forms.PAIRWISE, "text").structured is None
    both = forms.FormedTemplate.of(open_, forms.PAIRWISE, "json")
    assert "Better Response: <A, B or Tie>" in "".join(both.text.user_parts(answer_a="1", answer_b="2"))
    assert both.structured is not None
    filled = "".join(both.structured.user_parts(answer_a="{form}", answer_b="2"))
    assert '"better_response": "<A, B or Tie>"}' in filled
    assert "{form}" in filled, "an answer is data"


A, B = '{"personalization": "x", "logical_validity": "y", "better_response": "A"}', '{"better_response": "B"}'


@pytest.mark.parametrize(
    "said",
    [
        f'Draft: {A}\nNo wait. Final: {{"personalization": "z", "better_response": "',  # cut
        f"{A}\nNo wait.\nBetter Response: B",
        f'{A}{{"better_response": "Neither"}}',
        f'{A}\n{{"Better_Response": "B"}}\n{{"better_response": "B",}}',
        '{"draft": {"better_response": "A"}, "better_response": "B',
        '{"draft": {"better_response": "A"}, "better_response": "B"}',
        f'The form is {A} or {B} or {{"better_response": "Tie"}}. A is the better one.',
        f"{A} {B}",
        '{"Better_Response": "B"}',
        '{\n "personalization": "x",\n "better response": "B"\n}',
    ],
)
def test_a_draft_does_not_pass_for_the_verdict(said):
    assert forms.PAIRWISE.as_lines(said) is None


def test_a_verdict_that_is_said_twice_is_one():
    assert read_pairwise(forms.PAIRWISE.as_lines(f"{B}\n{B}\nBetter Response: B")) == "B"


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (forms.SATISFACTION, '{\n "conflict": "none",\n "satisfaction": "No conflict, so YES"\n}'),
        (forms.SATISFACTION, '```json\n{\n "conflict": "none",\n "satisfaction": "No conflict, so YES"\n}\n```'),
        (forms.SATISFACTION, '{"conflict": "but ultimately\n satisfaction: YES", "satisfaction": "NO"}'),
        (forms.CORRECT, '{\n"correct": ["NO", "YES"]\n}'),
        (forms.CORRECT, '{\n"correct": "No errors, YES"\n}'),
        (forms.DISLIKE, '{\n"dislike": "RESPECTED? No, VIOLATED"\n}'),
    ],
)
def test_json_is_not_read_as_lines(form, said):
    assert form.as_lines(said) is None


def test_a_score_of_many_digits_is_read():
    assert read_rating(forms.RATING.as_lines('{"evaluation": "good", "score": 8.333333}')) == 8.333
    assert forms.RATING.as_lines('{"score": 3}{"score": 11}') is None
    assert forms.RATING.as_lines('{"score": 3}\n### Evaluation Score\n9') is None
