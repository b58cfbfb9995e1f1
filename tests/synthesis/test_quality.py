"""Quality checks: texts with a flaw, and texts without."""

import pytest

from bowstring.synthesis import quality


@pytest.mark.parametrize(
    ("said", "relation", "entity", "stated"),
    [
        ("I like jazz.", "likes", "jazz", True),
        ("I really love chess, you know.", "loves", "chess", True),
        ("I dislike gazpacho.", "dislikes", "gazpacho", True),
        ("I'm studying physics.", "is studying", "physics", True),
        ("I have not been to Cairo.", "has not been to", "Cairo", True),
        ("I've not been to Cairo yet.", "has not been to", "Cairo", True),
        ("My favourite thing is jazz.", "likes", "jazz", True),
        ("I watch the old Westerns.", "watches", "old Westerns", True),
        ("My brother likes jazz, not me.", "likes", "jazz", False),
        ("I put down carpet.", "owns", "car", False),
        ("The jazz went on till three.", "likes", "jazz", False),
    ],
)
def test_a_persona_that_is_stated(said, relation, entity, stated):
    assert (quality.states_persona([said], [], relation, entity) is not None) == stated


def test_an_assistant_may_not_state_it_either():
    assert quality.states_persona([], ["Since you like jazz, try this."], "likes", "jazz")
    assert not quality.states_persona([], ["Some people like jazz."], "likes", "jazz")


@pytest.mark.parametrize(
    ("question", "entity", "told"),
    [
        ("What should I feed my dog?", "dogs", True),
        ("Which video game should be next?", "video games", True),
        ("Is a Tesla a good idea?", "Tesla Model 3", True),
        ("What should I read on the train?", "ghost stories", False),
    ],
)
def test_a_question_that_gives_its_answer_away(question, entity, told):
    assert (quality.gives_away(question, entity) is not None) == told


def test_a_request_that_leaks():
    preference = "Emails should open with a short summary in bullet points and avoid jargon."
    assert quality.leaks_preference(
        "Write an email; start with a short summary in bullets, no jargon please", preference
    )
    assert quality.leaks_preference("Write to Ana, and be concise.", "Be concise.")
    assert not quality.leaks_preference("Write an email to Ana about the roof tiles.", preference)


def test_answers_that_cannot_be_told_apart():
    general = "A long walk by the river in the evening light is a fine way to end the day."
    assert quality.indistinct(f"Since you like jazz, {general}", general)
    assert not quality.indistinct("Put on the Monk record you keep coming back to and cook slowly.", general)


def test_an_answer_may_add_a_preface_to_another_and_no_more():
    general = "Walk slowly beside rivers, watch evening light, cook fresh bread, call old friends, sleep early."
    preface = "jazz trumpet vinyl record midnight concert".split()
    assert len(quality.content_words(" ".join(preface))) == 6
    assert quality.indistinct(f"{' '.join(preface)}: {general}", general)
    assert not quality.indistinct(f"{' '.join(preface)} saxophone: {general}", general)
