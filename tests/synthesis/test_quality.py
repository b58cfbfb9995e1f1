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
        ("I study physics.", "studies", "physics", True),
        ("I watch the old Westerns.", "watches", "old Westerns", True),
        ("I absolutely adore jazz.", "likes", "jazz", True),
        ("Honestly, I hate jazz", "dislikes", "jazz", True),
        ("I can't stand gazpacho.", "dislikes", "gazpacho", True),
        ("I've never really liked olives.", "dislikes", "olives", True),
        ("Jazz has always been my thing.", "likes", "jazz", True),
        ("My love of jazz knows no bounds.", "likes", "jazz", True),
        ("I'm a huge fan of jazz.", "likes", "jazz", True),
        ("As a jazz lover, what should I hear?", "likes", "jazz", True),
        ("I'm really into vintage cars.", "owns", "vintage cars", True),
        ("I love listening to jazz at night.", "likes", "jazz", True),
        ("I know my aunt loves jazz.", "likes", "jazz", False),
        ("I played some jazz for her, and I love her.", "likes", "jazz", False),
        ("I love the kitchen. Jazz was on.", "likes", "jazz", False),
        ("I like my tea strong, and the jazz trio played late.", "likes", "jazz", False),
        ("They put on jazz again, and I stepped out until it was over.", "dislikes", "jazz", False),
        ("My brother likes jazz, not me.", "likes", "jazz", False),
        ("I put down carpet.", "owns", "car", False),
        ("The jazz went on till three.", "likes", "jazz", False),
    ],
)
def test_a_persona_that_is_stated(said, relation, entity, stated):
    assert (quality.states_persona([said], [], relation, entity) is not None) == stated


def test_an_assistant_may_not_state_it_either():
    assert quality.states_persona([], ["Since you like jazz, try this."], "likes", "jazz")
    assert quality.states_persona([], ["Given your love of jazz, go."], "likes", "jazz")
    assert quality.states_persona([], ["You're such a jazz fan!"], "likes", "jazz")
    assert not quality.states_persona([], ["Some people like jazz."], "likes", "jazz")


@pytest.mark.parametrize(
    ("question", "entity", "told"),
    [
        ("What should I feed my dog?", "dogs", True),
        ("Which video game should be next?", "video games", True),
        ("Is a Tesla a good idea?", "Tesla Model 3", True),
        ("Which ghosts are real?", "ghost stories", True),
        ("What should I read on the train?", "ghost stories", False),
        ("What should I read on the train?", "the", False),
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


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Texts must name one price.", "A text should always name one price", True),
        ("Texts must name one price.", "Texts must not name one price.", False),
        ("Don't name a price.", "Name a price.", False),
        ("Stay under 90 words.", "Stay under 200 words.", False),
        ("Put the price before the date.", "Put the date before the price.", False),
        ("Be formal.", "Be informal.", False),
    ],
)
def test_a_wish_that_is_another_in_other_small_words(old, new, same):
    assert quality.rewords(old, new) == same


def test_answers_that_cannot_be_told_apart():
    general = "A long walk by the river in the evening light is a fine way to end the day."
    assert quality.indistinct(f"Since you like jazz, {general}", general)
    assert not quality.indistinct("Put on the Monk record you keep coming back to and cook slowly.", general)


def test_an_answer_may_add_a_preface_to_another_and_no_more():
    general = "Walk slowly beside rivers, watch evening light, cook fresh bread, call old friends, sleep early."
    preface = ["jazz", "trumpet", "vinyl", "record", "midnight", "concert"]
    assert len(quality.content_words(" ".join(preface))) == 6
    assert quality.indistinct(f"{' '.join(preface)}: {general}", general)
    assert not quality.indistinct(f"{' '.join(preface)} saxophone: {general}", general)


def test_a_reply_may_have_twice_its_six_sentences_and_no_more():
    sentence = "This is one more. "
    assert not quality.too_long(12 * sentence)
    assert quality.too_long(13 * sentence)
    assert not quality.too_long(12 * sentence + 20 * "Oh yes! "), "exclamations are no sentences"


def test_what_was_found_is_told_in_sentences_and_as_json():
    found = quality.Quality()
    found.made["dialogue"] += 1200
    assert found.lines() == ["made: 1,200 dialogue", "no flaws found"]
    found.flaws["the request leaks the preference"] += 2
    for key in ("2", "1"):
        found.drop("session", key, "no verdict")
    assert found.lines()[1:] == [
        "flaws found: 2 the request leaks the preference",
        "dropped: 2 session: no verdict",
    ]
    told = found.as_json()
    assert told["made"] == {"dialogue": 1200}
    assert [one["key"] for one in told["dropped"]] == ["1", "2"]
    assert told["dropped_by_reason"] == {"no verdict": 2}
