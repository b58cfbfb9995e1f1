"""Planted leaks are found, by name; sets without leaks are fine; small sets are unclear."""

from dataclasses import replace

import pytest

from bowstring.benchmarks import registry
from bowstring.benchmarks.loading import load
from tests.support.audited import cupid_of_words, write_hicupid_of_words

# Leak -> a finding that must be a problem.
HICUPID = {
    "gold longer": "from the style of one answer",
    "side in question": "the user's side from the question",
    "side in general": "the user's side from the general answer",
    "subject in question": "the user's subject or another's, from the question",
    "subject most": "the subject is mentioned most often",
    "overlap": "questions of test_2 that are in train verbatim",
    "similar turns": "messages of the assistant: near-duplicates of another of the same user",
    "one general answer": "general answer: the most frequent text",
    "one side": "largest side (POS)",
    "evidence last": "the last dialogue is evidence",
}
CUPID = {
    "last": "gold is the preference of the last session",
    "frequent": "gold is the most frequent preference of the sessions",
    "type": "the type from the request",
    "preference in request": "gold among the preferences of the sessions, from the request",
}


def audited(data):
    return [one.finding for one in registry.get(data.benchmark).data_audit().findings(data)]


def named(findings, name):
    (found,) = [one for one in findings if one.name.endswith(name)]
    return found


def problems(findings):
    return {one.name for one in findings if one.verdict == "problem"}


@pytest.mark.parametrize("leak", HICUPID)
def test_a_leak_of_hicupid_is_found(leak, tmp_path):
    data = load(str(write_hicupid_of_words(tmp_path / "set", users=100, leak=leak)))
    found = named(audited(data), HICUPID[leak])
    assert found.verdict == "problem", found


@pytest.mark.parametrize("leak", CUPID)
def test_a_leak_of_cupid_is_found(leak):
    found = named(audited(cupid_of_words(personas=120, leak=leak)), CUPID[leak])
    assert found.verdict == "problem", found


@pytest.mark.parametrize("seed", range(3))
def test_a_set_of_random_words_has_no_problem(seed, tmp_path):
    data = load(str(write_hicupid_of_words(tmp_path / "set", users=80, seed=seed, choices="clean")))
    assert problems(audited(data)) == set()
    # "yes" is the last reply of every session.
    assert {
        name for name in problems(audited(cupid_of_words(personas=60, seed=seed))) if "replies" not in name
    } == set()


def test_a_large_set_without_leaks_is_fine(tmp_path):
    data = load(str(write_hicupid_of_words(tmp_path / "set", users=500, choices="clean")))
    assert {one.verdict for one in audited(data)} == {"fine", "info"}


def test_options_that_show_gold_are_found(tmp_path):
    leaky = audited(load(str(write_hicupid_of_words(tmp_path / "leaky", users=80, choices="gold longer"))))
    for name in ("gold from the options alone", "gold from options and question alone", "the longest option is gold"):
        assert named(leaky, f"persona: {name}").verdict == "problem"
    assert named(leaky, "persona: the shortest option is gold").verdict == "fine"


def test_a_small_set_is_unclear_and_says_how_many_users_it_takes(tmp_path):
    findings = audited(load(str(write_hicupid_of_words(tmp_path / "set", users=10))))
    style = named(findings, "from the style of one answer")
    assert style.verdict == "unclear"
    assert 20 < style.needed < 2000


def test_the_control_finds_nothing_where_style_shows_everything(tmp_path):
    findings = audited(load(str(write_hicupid_of_words(tmp_path / "set", users=100, leak="gold longer"))))
    control = named(findings, "labels shuffled within users")
    assert control.verdict != "problem"
    assert control.low < 50 < control.high


@pytest.mark.parametrize(("same", "low", "high"), [(True, 80, 100), (False, 0, 20)])
def test_users_who_share_questions_do_not_teach_a_classifier_each_others_sides(same, low, high, tmp_path):
    """Questions are shared by pairs of users with equal, or with opposite sides: their wording shows nothing."""
    data = load(str(write_hicupid_of_words(tmp_path / "set", users=100)))
    by_user: dict[int, list] = {}
    for question in data.questions():
        by_user.setdefault(question.user_id, []).append(question)
    changed = []
    for first, second in zip(list(by_user)[::2], list(by_user)[1::2], strict=True):
        for one, other in zip(by_user[first], by_user[second], strict=True):
            side = one.persona.sentiment if same else {"POS": "NEG", "NEG": "POS"}[one.persona.sentiment]
            persona = replace(other.persona, sentiment=side)
            changed += [one, replace(other, question=one.question, persona=persona)]
    findings = [one.finding for one in registry.get("hicupid").data_audit()._stance(changed)]
    assert 45 < named(findings, "the user's side from the question").value < 55
    twins = named(findings, "another user with the same question is of the same side")
    assert low <= twins.value <= high
    assert twins.verdict == ("problem" if same else "fine")


def test_order_that_is_by_design_has_no_verdict():
    place = named(audited(cupid_of_words(personas=60, leak="last")), "0 first to 100 last")
    assert (place.value, place.verdict) == (100.0, "info")
