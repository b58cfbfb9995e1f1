"""The bundled sets satisfy the properties of the benchmarks, at a small size."""

import re

import pytest

from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.datasets.personal import search_data_set
from bowstring.models.tokens import embedded_counter

HICUPID, CUPID = load_hicupid("mini"), load_cupid("mini")
STATED = re.compile(
    r"\bI(?:'m| am)? (?:really |just |absolutely )*(?:like|love|hate|dislike|enjoy|prefer|own|adore|(?:a )?fan)\b",
    re.I,
)


@pytest.mark.parametrize("user", HICUPID.user_ids)
def test_every_user_has_the_published_mix_in_small(user):
    kinds = [d.kind for d in HICUPID.history(user)]
    assert {k: kinds.count(k) for k in kinds} == {"persona": 6, "profile": 5, "schedule": 2}
    assert kinds != sorted(kinds), "dialogues of a type stand together"
    asked = [q.type for q in HICUPID.questions() if q.user_id == user]
    assert {k: asked.count(k) for k in asked} == {"persona": 6, "profile": 2, "schedule": 2}


@pytest.mark.parametrize("user", HICUPID.user_ids)
def test_personas_are_shown_and_never_stated(user):
    for dialogue in HICUPID.history(user):
        if dialogue.kind == "persona":
            said = [m.text for m in dialogue.messages if m.role == "user"]
            assert not [text for text in said if STATED.search(text)]


@pytest.mark.parametrize("question", HICUPID.questions(), ids=lambda q: q.key)
def test_a_question_does_not_give_away_what_its_answer_needs(question):
    assert question.personalized_answer != question.general_answer
    if question.persona:
        entity = set(re.findall(r"\w{4,}", question.persona.entity.lower()))
        assert not entity & set(re.findall(r"\w{4,}", question.question.lower()))
    if question.type == "schedule":
        assert question.schedule.datetime in question.question
        assert len(question.evidence) == 1
    if question.type == "profile":
        kinds = {d.id: d.kind for d in HICUPID.history(question.user_id)}
        assert [kinds[e] for e in question.evidence] == ["profile"] * 5 + ["persona"]


def test_both_sentiments_and_all_categories_occur():
    personas = [q.persona for q in HICUPID.questions() if q.type == "persona"]
    assert len({p.category for p in personas}) == 25
    negative = sum(p.sentiment == "NEG" for p in personas) / len(personas)
    assert 0.3 < negative < 0.6


@pytest.mark.parametrize("instance", CUPID.instances, ids=lambda i: i.key)
def test_instances_have_the_published_structure(instance):
    assert len(instance.sessions) == 8
    assert instance.sessions[-1].context_factor != instance.context_factor
    own = [s for s in instance.sessions if s.context_factor == instance.context_factor]
    assert own[-1].preference == own[-2].preference == instance.preference
    if instance.type == "changing":
        assert own[0].preference == own[1].preference != instance.preference
    else:
        assert {s.preference for s in own} == {instance.preference}
    for session in instance.sessions:
        roles = [m.role for m in session.dialogue.messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]


def test_the_three_instances_of_a_persona_share_their_request():
    for persona in CUPID.persona_ids:
        mine = [i for i in CUPID.instances if i.persona_id == persona]
        assert {i.type for i in mine} == {"consistent", "contrastive", "changing"}
        assert len({i.request for i in mine}) == 1
        consistent, contrastive = (
            {s.context_factor for i in mine if i.type == t for s in i.sessions} for t in ("consistent", "contrastive")
        )
        assert len(contrastive - consistent) == 1, "a contrastive instance adds one similar context"


@pytest.mark.parametrize("instance", CUPID.instances, ids=lambda i: i.key)
def test_feedback_hints_and_never_states_the_preference(instance):
    def runs(text: str) -> set[tuple[str, ...]]:
        words = re.findall(r"\w+", text.lower())
        return set(zip(words, words[1:], words[2:], words[3:], strict=False))

    for session in instance.sessions:
        for message in session.dialogue.messages:
            if message.role == "user":
                assert not runs(session.preference) & runs(message.text)
    assert not runs(instance.preference) & runs(instance.request)


def test_histories_are_about_as_long_as_they_are_said_to_be():
    counter = embedded_counter()
    for user in HICUPID.user_ids:
        texts = [m.text for d in HICUPID.history(user) for m in d.messages]
        assert 900 < sum(counter.count(texts)) < 1200
    for instance in CUPID.instances:
        texts = [m.text for d in instance.history for m in d.messages]
        assert 1100 < sum(counter.count(texts)) < 1350


def test_nobody_real_is_in_there():
    assert list(search_data_set(HICUPID)) == []
    assert list(search_data_set(CUPID)) == []
