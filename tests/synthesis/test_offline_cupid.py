"""CUPID's offline generator: sessions that show a preference by feedback alone, and drafts that really meet it."""

import random
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from bowstring.benchmarks.cupid.drafts import Unwritable, write_draft
from bowstring.benchmarks.cupid.offline import OfflineCupid
from bowstring.benchmarks.cupid.pipeline_parts import OTHERS
from bowstring.benchmarks.cupid.rules import meets, met, rules
from bowstring.history.bm25 import Bm25, stems
from bowstring.synthesis.quality import leaks_preference, quotes_checklist

PERSONAS = 60


@pytest.fixture(scope="module")
def personas():
    return [OfflineCupid(5).persona(number) for number in range(PERSONAS)]


@pytest.fixture(scope="module")
def sessions(personas):
    """Every session of the set once, with the rules of its preference."""
    found = {}
    for persona in personas:
        for instance in persona.instances:
            for session in instance.sessions:
                found[session.dialogue.messages] = (session, persona.preferences[session.preference])
    return list(found.values())


def test_every_kind_of_preference_can_be_met_and_violated_rule_by_rule():
    rng = random.Random(2)
    known = list(rules().values())
    groups = sorted({rule.group for rule in known})
    for n in range(300):
        chosen = [rng.choice([r for r in known if r.group == g]).id for g in rng.sample(groups, 3)]
        for k in range(4):
            for wanted in combinations(chosen, k):
                text = write_draft(n % 26, rng, meets=wanted, violates=set(chosen) - set(wanted))
                assert met(text, chosen) == list(wanted)


def test_rules_that_exclude_each_other_cannot_be_written():
    with pytest.raises(Unwritable, match="no draft meets"):
        write_draft(0, random.Random(0), meets=["bullets", "no-bullets"])


def test_the_first_draft_violates_the_preference_and_the_last_one_meets_it(sessions):
    for session, wanted in sessions:
        drafts = [m.text for m in session.dialogue.messages if m.role == "assistant"]
        shares = [len(met(draft, wanted)) for draft in drafts]
        assert shares[0] < len(wanted)
        assert shares[-1] == len(wanted)
        assert shares == sorted(shares)  # what is met stays met
        assert all(share < len(wanted) for share in shares[:-1])  # the session ends when all is met


def test_sessions_alternate_and_end_on_a_user_message(sessions):
    for session, _ in sessions:
        roles = [m.role for m in session.dialogue.messages]
        assert roles == ["user", "assistant"] * (len(roles) // 2) + ["user"]
        assert 5 <= len(roles) <= 33


def test_every_rule_of_a_preference_is_alluded_to_and_none_is_stated(sessions):
    for session, wanted in sessions:
        said = [m.text for m in session.dialogue.messages[1:] if m.role == "user"]
        for one in wanted:
            rule = rules()[one]
            assert any(words in " ".join(said) for words in (*rule.hints, *rule.allusions)), one
            assert not any(quotes_checklist(text, rule.items) for text in said)
            assert not any(clause in text.lower() for text in said for clause in rule.clauses)


def test_feedback_hints_at_one_unmet_rule_at_a_time(sessions):
    for session, wanted in sessions:
        messages = session.dialogue.messages
        for draft, said in zip(messages[1:-2:2], messages[2:-1:2], strict=True):
            hinted = [one for one in wanted if any(hint in said.text for hint in rules()[one].hints)]
            assert len(hinted) == 1
            assert not meets(draft.text, hinted[0])


def test_feedback_is_varied(sessions):
    said = [m.text for session, _ in sessions for m in session.dialogue.messages[2:] if m.role == "user"]
    assert len(set(said)) / len(said) > 0.75
    of_preference = defaultdict(list)
    for session, wanted in sessions:
        of_preference[wanted].append(tuple(m.text for m in session.dialogue.messages[2:] if m.role == "user"))
    several = [texts for texts in of_preference.values() if len(texts) > 1]
    assert sum(len(set(texts)) == len(texts) for texts in several) > 0.9 * len(several)


def test_a_draft_is_not_another_draft_in_another_order(sessions):
    for session, _ in sessions[:200]:
        drafts = [m.text for m in session.dialogue.messages if m.role == "assistant"]
        for one, other in combinations(drafts, 2):
            assert sorted(one.split()) != sorted(other.split())


def test_contrast_is_the_opposite_in_a_similar_context_and_the_changed_preference_excludes_the_old_one(personas):
    for persona in personas:
        consistent, contrastive, changing = persona.instances
        old, new = persona.preferences[consistent.preference], persona.preferences[changing.preference]
        opposites = tuple(rules()[one].opposite for one in old)
        assert any(rules()[one].opposite in old for one in new)
        others = {s.context_factor: s.preference for s in contrastive.sessions}
        twins = [f for f, says in others.items() if persona.preferences[says] == opposites]
        assert len(twins) == 1
        shared = set(twins[0].lower().split()) & set(consistent.context_factor.lower().split())
        assert shared or twins[0][:3] == consistent.context_factor[:3]  # 'Yuki …' and 'Yumi …'


def test_instances_have_the_published_structure(personas):
    for persona in personas:
        consistent, contrastive, changing = persona.instances
        assert [i.type for i in persona.instances] == ["consistent", "contrastive", "changing"]
        assert len({i.request for i in persona.instances}) == 1
        for instance in persona.instances:
            assert len(instance.sessions) == OTHERS + 2
            assert 2 <= len(instance.checklist) <= 4
            assert instance.sessions[-1].context_factor != instance.context_factor
            assert leaks_preference(instance.request, instance.preference, instance.context_factor) is None
        assert len(consistent.evidence) == len(contrastive.evidence) == 2
        mains = [s.preference for s in changing.sessions if s.context_factor == changing.context_factor]
        assert mains == [consistent.preference] * 2 + [changing.preference] * 2


def test_training_personas_have_no_held_out_rule_and_every_second_test_persona_only_such(personas):
    for number in range(30):
        for ids in OfflineCupid(5).persona(number, training=True).preferences.values():
            assert not any(rules()[one].held_out for one in ids)
    for number, persona in enumerate(personas):
        wanted = {one for i in persona.instances for one in persona.preferences[i.preference]}
        assert {rules()[one].held_out for one in wanted} == {bool(number % 2)}


def test_rules_and_their_opposites_are_asked_for_equally_often():
    wanted = Counter()
    for number in range(300):
        persona = OfflineCupid(9).persona(number)
        wanted.update(one for i in persona.instances[:1] for one in persona.preferences[i.preference])
    first = sum(n for one, n in wanted.items() if list(rules()).index(one) % 2 == 0)
    assert 0.44 < first / sum(wanted.values()) < 0.56
    assert len(wanted) == len(rules())


def share_of_gold(personas, guess) -> float:
    """How often a guess is the gold preference."""
    right = [guess(i) == i.preference for persona in personas for i in persona.instances]
    return sum(right) / len(right)


def test_neither_recency_nor_frequency_gives_the_preference_away(personas):
    assert share_of_gold(personas, lambda i: i.sessions[-1].preference) < 0.15
    most = lambda i: Counter(s.preference for s in reversed(i.sessions)).most_common(1)[0][0]  # noqa: E731
    assert share_of_gold(personas, most) < 0.4


def test_the_nearest_request_does_not_give_the_preference_away(personas):
    def nearest(instance):
        index = Bm25([stems(s.dialogue.messages[0].text) for s in instance.sessions])
        return instance.sessions[index.order(stems(instance.request))[0]].preference

    assert share_of_gold(personas, nearest) < 0.6


def test_what_a_draft_does_besides_is_independent_of_the_preference(sessions):
    """A rule of another preference holds in an accepted draft about as often as in any text."""
    held = Counter()
    for session, wanted in sessions:
        last = session.dialogue.messages[-2].text
        groups = {rules()[one].group for one in wanted}
        for rule in rules().values():
            if rule.group not in groups and rule.group != "length":
                held[rule.id] += meets(last, rule.id)
                held[f"all {rule.id}"] += 1
    for rule in ("exclamation", "example", "jargon", "bold", "figures"):
        assert 0.2 < held[rule] / held[f"all {rule}"] < 0.5
