"""Model output for CUPID is parsed strictly; unparsable output is reported, never guessed."""

import json
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.benchmarks.cupid.pipeline_parts import read_factors
from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.judging.sections import read_preference, read_rating
from bowstring.judging.structured import Unreadable, read_checklist, read_labels
from bowstring.judging.verdicts import read_pairwise, read_satisfaction

ITEMS = ("Does it open with the sign?", "Does it give times?", "Is it free of opinion?")


def results(*rows, bare=False) -> str:
    listed = [dict(zip(("index", "entry", "label"), row, strict=True)) for row in rows]
    return json.dumps(listed if bare else {"results": listed})


FULL, PART, NOT = "Fully Covered", "Partially Covered", "Not Covered"
read_two = partial(read_labels, items=ITEMS[:2])


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("### Analysis\nfoo\n\n### Most Likely Preference\nShort and dry.", "Short and dry."),
        ("### Most Likely Preference\n\n\nShort and dry.\n", "Short and dry."),
        ("### **Most Likely Preference**\nShort and dry.", "Short and dry."),
        ("**Most Likely Preference:** Short and dry.", "Short and dry."),
        ("#### Most likely preference: **Short and dry.**", "Short and dry."),
        ("2. Most Likely Preference\n> Short", "Short"),
        ("### Most Likely Preference\nfirst try\n### Most Likely Preference\nsecond try", "second try"),
        ("### Most Likely Preference\nShort.\n\nThis is because…", "Short."),
        ("### Most Likely Preference\nShort.\n### Notes\nmore", "Short."),
        ('### Most Likely Preference\n"Short\nand dry."', "Short and dry."),
        ("### Most Likely Preference\n\n### Notes\nmore", None),
        ("### Most Likely Preference", None),
        ("### Most Likely Preference\nBullets.\n\nMost likely preference is based on sessions 3 and 5.", "Bullets."),
        ("### Most Likely Preference\nReal.\n\n### Why\nMost likely preference of the user is seen in 3.", "Real."),
        ("### Most Likely Preference Analysis\nblah blah", None),
        ("### MOST LIKELY PREFERENCE ###\n---\n- Bullets.", "Bullets."),
        ("### The Most Likely Preference\n(30 words) Bullets.", "Bullets."),
        ("# User's Most Likely Preferences\n**Preference:** Bullets.", "Bullets."),
        ("### 📌 Most Likely Preference\nBullets.\n**Explanation**: because", "Bullets."),
        ("### Most Likely Preference\n**Short** answers, and a **dry** tone", "**Short** answers, and a **dry** tone"),
        ("### Most Likely Preference\n**Short** and **dry**", "**Short** and **dry**"),
        ("### Most Likely Preference\nAnswers begin with **Summary**", "Answers begin with **Summary**"),
        ('### Most Likely Preference\n"Yes" or "No" first', '"Yes" or "No" first'),
        ('### Most Likely Preference\n"Yes" first, never "No"', '"Yes" first, never "No"'),
        ('### Most Likely Preference\nEnd with "Thanks"', 'End with "Thanks"'),
        (
            "### Most Likely Preference\nUse the users' own words, never \u2018jargon\u2019",
            "Use the users' own words, never \u2018jargon\u2019",
        ),
        ("### Most Likely Preference\n**\u201cShort and dry.\u201d**", "Short and dry."),
        ("### Most Likely Preference\n'Don't explain.'", "Don't explain."),
        ("### Most Likely Preference\n* **Short** first", "**Short** first"),
        ("### Most Likely Preference\n*Short and dry.*", "Short and dry."),
        ("### Most Likely Preference\n`snake_case` names", "`snake_case` names"),
        ("**Most Likely Preference: Short and dry.**", "Short and dry."),
        ("**Most Likely Preference:** **Short** first", "**Short** first"),
        ("### Most Likely Preference: **Short** first", "**Short** first"),
        ("### Most Likely Preference\nPreference: **Short** first", "**Short** first"),
        ("### Most Likely Preference\n**Preference**: Short.", "Short."),
        ("### Most Likely Preference\n**Preference: Short.**", "Short."),
        ("The user probably wants short answers.", None),
        ("I will now state the most likely preference of the user", None),
        ("", None),
    ],
)
def test_reads_the_preference_under_its_heading(said, means):
    assert read_preference(said) == means


@pytest.mark.parametrize(
    ("said", "means"),
    [
        ("### Evaluation Score\n8", 8.0),
        ("### Evaluation Score\n8.5", 8.5),
        ("### Evaluation Score: 8/10", 8.0),
        ("### Evaluation Score\n**8**", 8.0),
        ("### Evaluation Score\n\n[[7]]", 7.0),
        ("Score: 8", 8.0),
        ("**Evaluation Score:** 9 out of 10", 9.0),
        ("### Evaluation Score\n10", 10.0),
        ("### Evaluation Score\n1", 1.0),
        ("### Evaluation\nfine, 3 of 4 items\n### Evaluation Score\n6 because 2 items fail", 6.0),
        ("### Evaluation Score\n3\nOn reflection\n### Evaluation Score\n4", 4.0),
        ("### Evaluation Score\n0", None),
        ("### Evaluation Score\n11", None),
        ("### Evaluation Score\n80/100", None),
        ("### Evaluation Score\n-3", None),
        ("### Evaluation Score\n7-8", None),
        ("### Evaluation Score\neight", None),
        ("### Evaluation Score\n", None),
        ("### Evaluation Score\n7 to 8", None),
        ("### Evaluation Score\n7–8", None),
        ("### Evaluation Score\n7 or 8", None),
        ("### Evaluation Score\n4/5", None),
        ("### Evaluation Score\n8%", None),
        ("### Evaluation Score\nOn a scale from 1 to 10, I give 7.", None),
        ("### Evaluation Score\nOut of 10: 7", None),
        ("### Evaluation Score\nThe response meets 3 of 4 items, so 7.", None),
        ("### Evaluation Score\n8 - 3 checklist items", None),
        ("### Evaluation Score\n6\nEvaluation score explained: 9 would need more", 6.0),
        ("### Evaluation Score (1-10)\n7", 7.0),
        ("### Evaluation Score [1–10]: 7", 7.0),
        ("### Overall Evaluation Score\n7", 7.0),
        ("**Final Evaluation Score:** 7", 7.0),
        ("Final Score: 7", 7.0),
        ("### Evaluation Score\n7 (one item is missing)", 7.0),
        ("### Evaluation Score\n7 – good", 7.0),
        ("I'd give it an 8.", None),
        ("", None),
    ],
)
def test_reads_the_score_a_judge_gave(said, means):
    assert read_rating(said) == means


@pytest.mark.parametrize(
    "said",
    [
        '{"checklist": ["Is it short?", "Is it dry?"]}',
        'Here you are:\n```json\n{"checklist": ["Is it short?", "Is it dry?"]}\n```\nAnything else?',
        '["Is it short?", "Is it dry?"]',
        'I first thought {"checklist": []} but: {"checklist": [" Is it\\nshort?", "Is it dry?", ""]}',
    ],
)
def test_reads_a_checklist_among_other_words(said):
    assert read_checklist(said) == ("Is it short?", "Is it dry?")


@pytest.mark.parametrize(
    "said",
    [
        'First {"checklist": ["old?"]} wait, correct: {"checklist": ["a?"]}',
        'For [1] see ["formal", "informal"]. {"checklist": ["a?"]}',
        'draft ["x"] then {"checklist": ["a?"]} [done]',
    ],
)
def test_the_last_checklist_that_is_meant_counts(said):
    assert read_checklist(said) == ("a?",)


def test_what_lies_inside_a_value_is_not_read_by_itself():
    with pytest.raises(Unreadable, match="expected 1 to 4 items; there are 5"):
        read_checklist('{"checklist": ["a", "b", "c", "d", "e"], "x": ["y"]}')


def test_labels_that_were_corrected_count_as_corrected():
    draft = results((1, "a", NOT), (2, "b", NOT), (3, "c", NOT))
    final = results((1, "a", FULL), (2, "b", FULL), (3, "c", FULL))
    assert read_labels(f"Draft: {draft}\nCorrected: {final}", ITEMS) == (1.0, 1.0, 1.0)
    with pytest.raises(Unreadable, match="expected 3 results; there are 1"):
        read_labels('{"results": [{"index": 1, "label": "Fully Covered"}]}', ITEMS)


@pytest.mark.parametrize("line", ["\n", "#\n", " \n", "**\n", "[", "{", '{"a":', "1. ", "Score ", "Category: "])
def test_a_model_that_repeats_itself_to_its_limit_costs_no_more_than_reading_it(line):
    """Quadratic patterns take minutes here; the test would not end."""
    text = line * (200_000 // len(line))
    read_preference(text)
    read_rating(text)
    read_pairwise(text)
    read_satisfaction(text)
    CupidPrompts.read_category(text)
    for read in (read_checklist, lambda t: read_labels(t, ITEMS)):
        with pytest.raises(Unreadable):
            read(text)


@pytest.mark.parametrize(
    ("said", "category"),
    [
        ("Because.\nCategory: other context", "other context"),
        ("**Category:** Other contexts.", "other context"),
        ("Category: other_context", "other context"),
        ("Category: other", "other"),
        ("Category: vague", "vague"),
        ("Category: other context | shallow | vague | other", None),
        ("It is vague.", None),
    ],
)
def test_reads_the_way_in_which_an_inference_went_wrong(said, category):
    assert CupidPrompts.read_category(said) == category


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("", "no JSON was found"),
        ("- Is it short?", "no JSON was found"),
        ('{"checklist": []}', "expected 1 to 4 items; there are 0"),
        (json.dumps({"checklist": list("abcde")}), "expected 1 to 4 items; there are 5"),
        ('{"checklist": [1, 2]}', "with a list of texts"),
        ('{"checklist": "Is it short?"}', "with a list of texts"),
        ('{"checklist": ["Is it sh', "no JSON was found"),
        ("[" * 100_000, "no JSON was found"),
    ],
)
def test_says_why_a_checklist_cannot_be_read(said, why):
    with pytest.raises(Unreadable, match=why.replace("(", r"\(")):
        read_checklist(said)


@pytest.mark.parametrize(
    "said",
    [
        results((1, ITEMS[0], FULL), (2, ITEMS[1], PART), (3, ITEMS[2], NOT)),
        results((1, ITEMS[0], FULL), (2, ITEMS[1], PART), (3, ITEMS[2], NOT), bare=True),
        results((3, "x", NOT), (1, "y", FULL), (2, "z", PART)),
        results(("1", "", "fully covered"), ("2.", "", "PARTIALLY_COVERED"), (3.0, "", "Not covered.")),
        results((1, ITEMS[2], FULL), (2, ITEMS[0], PART), (3, ITEMS[1], NOT)),
        results((1, ITEMS[0], FULL), (None, ITEMS[1].upper(), PART), (3, ITEMS[2], NOT)),
        results((1, ITEMS[0], FULL), (2, ITEMS[1], PART), (2, ITEMS[2], NOT)),
        results((0, ITEMS[0], FULL), (1, ITEMS[1], PART), (2, ITEMS[2], NOT)),
        "```json\n" + results((1, "a", FULL), (2, "b", PART), (3, "c", NOT)) + "\n```",
        json.dumps(
            {
                "results": [
                    {"index": n, "reasoning": "[so] {it}", "label": label}
                    for n, label in enumerate((FULL, PART, NOT), 1)
                ]
            }
        ),
    ],
)
def test_the_index_decides_and_the_text_repairs(said):
    assert read_labels(said, ITEMS) == (1.0, 0.5, 0.0)


@pytest.mark.parametrize(
    "said",
    [
        "",
        "All covered!",
        results((1, ITEMS[0], FULL), (2, ITEMS[1], PART)),
        results((1, "a", FULL), (2, "b", PART), (3, "c", NOT), (4, "d", NOT)),
        results((1, "a", FULL), (2, "b", PART), (3, "c", "Mostly Covered")),
        results((1, "a", FULL), (2, "b", PART), (3, "c", 1)),
        results((0, "a", FULL), (1, "b", PART), (2, "c", NOT)),
        results((1, "a", FULL), (1, "b", PART), (3, "c", NOT)),
        results((1, ITEMS[0], FULL), (7, "nothing known", PART), (3, ITEMS[2], NOT)),
        results((True, "a", FULL), (2, "b", PART), (3, "c", NOT)),
        '{"results": {"1": "Fully Covered"}}',
    ],
)
def test_anything_else_is_unreadable(said):
    with pytest.raises(Unreadable):
        read_labels(said, ITEMS)


@pytest.mark.parametrize(
    ("read", "said", "why"),
    [
        (read_checklist, "Sure!", "no JSON was found"),
        (read_checklist, '{"items": []}', 'the JSON has no "checklist"'),
        (read_checklist, '{"checklist": [1]}', 'expected {"checklist": [...]} with a list of texts'),
        (read_checklist, '{"checklist": []}', "expected 1 to 4 items; there are 0"),
        (read_two, '{"results": [1]}', 'expected {"results": [{"index": 1, "entry": "…", "label": "…"}]}'),
        (read_two, '{"results": []}', "expected 2 results; there are 0"),
        (
            read_two,
            results((1, "a", FULL), (2, "b", "Mostly")),
            "'Mostly' is no label; expected Fully Covered, Partially Covered or Not Covered",
        ),
        (read_two, results((1, "a", FULL), (7, "b", NOT)), "it is not clear which item result 2 is about"),
        (
            partial(read_factors, n=3),
            "context_factors: &a [*a]",
            "not YAML that can be read: aliases (*name) are not read",
        ),
        (partial(read_factors, n=3), "Sure!", "no YAML with context_factors was found"),
    ],
)
def test_what_a_model_is_told_when_it_is_asked_again_stays_word_for_word(read, said, why):
    """These sentences are part of requests: other words are other requests, and stored answers to them are lost."""
    with pytest.raises(Unreadable) as raised:
        read(said)
    assert str(raised.value) == why


noise = st.text(max_size=200) | st.text(alphabet='{}[]":,0123index label results checklist#*\n', max_size=200)


@given(noise)
def test_no_text_makes_a_reader_crash(text):
    assert read_preference(text) != ""
    rating = read_rating("### Evaluation Score\n" + text)
    assert rating is None or 1 <= rating <= 10
    for read in (read_checklist, lambda t: read_labels(t, ITEMS)):
        try:
            read(text)
        except Unreadable:
            continue


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=10),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["results", "checklist", "index", "entry", "label", "x"]), inner, max_size=4)
    ),
    max_leaves=10,
)


@given(json_values)
def test_no_json_makes_a_reader_crash(value):
    said = json.dumps(value)
    for read in (read_checklist, lambda t: read_labels(t, ITEMS)):
        try:
            read(said)
        except Unreadable:
            continue
