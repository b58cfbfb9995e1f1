"""Offline generators: deterministic by seed, like the published sets in size and balance, and hard."""

import re
from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from bowstring.api import synthesize as making
from bowstring.benchmarks.cupid.banks import drafts, matters, talk, work
from bowstring.benchmarks.cupid.offline import OfflineCupid
from bowstring.benchmarks.hicupid.banks import DIMENSIONS, dimension, people
from bowstring.benchmarks.hicupid.offline import OfflineHicupid, truth_of
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import Persona, Question
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.datasets.personal import find_personal_data
from bowstring.history import Reader, parse_view
from bowstring.history.bm25 import stems
from bowstring.judging.verdicts import read_pairwise, read_satisfaction
from bowstring.models.tokens import embedded_counter
from bowstring.synthesis.banks import fill
from tests.support.sets import sizes, write_cupid, write_hicupid


@pytest.fixture(scope="module")
def users():
    return list(OfflineHicupid(sizes(users=24, share=4), seed=11).users())


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_the_same_seed_gives_the_same_bytes_and_another_another(tmp_path):
    small = {"users": 4, "dimensions": 3, "turns": 2, "schedules": 2, "profile_questions": 1}
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        write_hicupid(tmp_path / name, seed=seed, **small)
        write_cupid(tmp_path / f"cupid {name}", personas=2, seed=seed)
    for kind in ("", "cupid "):
        one, same, other = (files(tmp_path / f"{kind}{name}") for name in "abc")
        assert one == same
        assert all(one[name] != other[name] for name in one if name.endswith(".parquet"))


def test_sets_load_and_have_the_published_layout(tmp_path):
    write_hicupid(tmp_path / "h", users=6, seed=5)
    data = load_hicupid(str(tmp_path / "h"))
    assert data.splits == ("test_1", "test_2", "train") or set(data.splits) == {"train", "test_1", "test_2"}
    by_split = Counter((q.split, q.type) for q in data.questions())
    assert by_split == {
        ("train", "persona"): 100,
        ("train", "profile"): 20,
        ("train", "schedule"): 40,
        ("test_1", "persona"): 25,
        ("test_1", "profile"): 5,
        ("test_1", "schedule"): 10,
        ("test_2", "persona"): 25,
        ("test_2", "profile"): 5,
        ("test_2", "schedule"): 10,
    }
    for name in ("README.md", "quality.json", "made.json", "truth.json"):
        assert (tmp_path / "h" / name).is_file()
    write_cupid(tmp_path / "c", personas=3, seed=5)
    assert len(load_cupid(str(tmp_path / "c")).instances) == 9


def test_each_persona_is_shared_by_the_published_number_of_users_and_never_across_the_split():
    generator = OfflineHicupid(sizes(users=1500), seed=1)
    assert generator.sizes.seen == 1250
    assert generator.sizes.personas == 150
    for of in generator.dimensions[:3]:
        numbers = [generator._deal.persona(user, of.name) for user in range(1500)]
        assert set(Counter(numbers).values()) == {10}
        assert not set(numbers[:1250]) & set(numbers[1250:])
        assert len({generator._personas[of.name][n] for n in set(numbers)}) == 150


def test_lengths_are_near_the_published_ones(users):
    counter = embedded_counter()
    sums = Counter()
    for user in users:
        for dialogue in user.history:
            sums[dialogue.kind] += sum(counter.count(m.text for m in dialogue.messages))
    published = {"persona": 15_962, "profile": 329, "schedule": 971}
    for kind, tokens in published.items():
        assert sums[kind] / len(users) == pytest.approx(tokens, rel=0.06)
    instances = [i for n in range(20) for i in OfflineCupid(3).persona(n).instances]
    logs = [sum(counter.count(m.text for s in i.sessions for m in s.dialogue.messages)) for i in instances]
    assert sum(logs) / len(logs) == pytest.approx(8_200, rel=0.06)


def test_attitudes_and_people_are_balanced(users):
    sentiments = Counter(q.persona.sentiment for u in users for q in u.questions if q.type == "persona")
    assert 0.4 < sentiments["POS"] / sum(sentiments.values()) < 0.6
    profiles = [next(q.profile for q in u.questions if q.profile) for u in users]
    assert len({p.occupation for p in profiles}) > 15
    assert {"male", "female"} <= {p.gender for p in profiles}


def test_the_persona_is_in_the_dialogue_and_neither_stated_there_nor_named_in_the_question(users):
    for user in users[:8]:
        by_id = {d.id: d for d in user.history}
        for q in user.questions:
            if q.type != "persona":
                continue
            said = " ".join(m.text for m in by_id[q.evidence[0]].messages).lower()
            assert q.persona.entity.lower() in said
            assert f"{q.persona.relation} {q.persona.entity}".lower() not in said
            assert not set(stems(q.persona.entity)) <= set(stems(q.question))


def test_other_dialogues_distract(users):
    """Other entities of the same kind come up in the evidence, attributed to others."""
    user = users[0]
    for q in user.questions[:10]:
        of = next(dimension(name) for name in DIMENSIONS if dimension(name).category == q.persona.category)
        dialogue = next(d for d in user.history if d.id == q.evidence[0])
        said = " ".join(m.text for m in dialogue.messages if m.role == "user").lower()
        others = [e for e in of.entities if e != q.persona.entity and e.lower() in said]
        assert others


def test_schedule_clashes_are_real(users):
    for user in users[:5]:
        asked = [q for q in user.questions if q.type == "schedule"]
        assert len({q.schedule.datetime for q in asked}) == len(asked)
        for q in asked:
            assert q.schedule.datetime in q.question
            evidence = next(d for d in user.history if d.id == q.evidence[0])
            assert q.schedule.datetime in evidence.messages[0].text
            assert not set(stems(q.schedule.event)) <= set(stems(q.question))


def test_keyword_search_finds_some_and_not_all(users):
    view = parse_view("bm25/dialogue/3", kinds=("bm25",), units=("utterance", "dialogue"))
    hits = []
    for user in users:
        reader = Reader(user.history, lambda texts: [0] * len(texts))
        for q in (q for q in user.questions if q.type == "persona"):
            found = {d.id for d in reader.show(view, evidence=(), query=q.question)}
            hits.append(bool(found & set(q.evidence)))
    assert 0.15 < sum(hits) / len(hits) < 0.85


def test_sentences_rarely_repeat(users):
    messages = [m.text for u in users for d in u.history for m in d.messages]
    assert len(set(messages)) / len(messages) > 0.93


def test_the_truth_knows_gold_from_general_answers(users):
    truth = Truth(truth_of(OfflineHicupid(sizes(users=1), 0)))
    for q in (q for u in users for q in u.questions):
        if q.type == "schedule":
            assert read_satisfaction(truth.satisfaction(q, q.personalized_answer))
            assert not read_satisfaction(truth.satisfaction(q, q.general_answer))
        else:
            assert read_pairwise(truth.pairwise(q, q.personalized_answer, answer_is="A")) == "tie", q
            assert read_pairwise(truth.pairwise(q, q.general_answer, answer_is="A")) == "B", q


def question(kind: str, persona: Persona) -> Question:
    return Question("test_2", 1, 1, kind, "?", "", "", (), persona, None, None)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_the_truth_reads_every_answer_pattern_of_the_banks(name):
    of = dimension(name)
    truth = Truth({"entities": {of.category: {e: list(c) for e, c in of.entities.items()}}, "profiles": {}})
    entities = list(of.entities)
    for section, sentiment in (("answers_pos", "POS"), ("answers_neg", "NEG")):
        for n, line in enumerate(of.lines[section]):
            entity, other = entities[n % len(entities)], entities[(n + 1) % len(entities)]
            said = fill(line, {"e": entity, "c": of.entities[entity][0], "o": other, "s": of.situations[0]})
            known = question("persona", Persona(of.category, "x", entity, sentiment))
            assert read_pairwise(truth.pairwise(known, said, answer_is="A")) == "tie", said


def test_a_recommendation_of_what_is_disliked_is_not_respected():
    truth = Truth({"entities": {"music": {"bebop": ["a racing ride cymbal"]}}, "profiles": {}})
    disliked = question("persona", Persona("music", "dislikes", "bebop", "NEG"))
    liked = question("persona", Persona("music", "likes", "bebop", "POS"))
    for said, verdicts in {
        "Put on some bebop over dinner.": ("B", "tie"),
        "Put on a racing ride cymbal.": ("B", "tie"),
        "Something soft, rather than bebop.": ("tie", "B"),
        "Something soft.": ("B", "B"),
    }.items():
        found = tuple(read_pairwise(truth.pairwise(q, said, answer_is="A")) for q in (disliked, liked))
        assert found == verdicts, said


def test_the_banks_are_rich_enough():
    for name in DIMENSIONS:
        of = dimension(name)
        assert len(of.entities) >= 40
        assert all(len(cues) == 3 for cues in of.entities.values())
        assert Counter(r.sentiment for r in of.relations) == {"POS": 2, "NEG": 2}
        assert all(len(r.shows) >= 10 for r in of.relations)


def test_no_bank_holds_what_looks_like_personal_information():
    def texts(value):
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict):
            yield from (t for v in value.values() for t in texts(v))
        elif isinstance(value, list | tuple):
            yield from (t for v in value for t in texts(v))

    found = []
    for name in DIMENSIONS:
        of = dimension(name)
        found += [hit for t in texts([of.lines, [r.shows for r in of.relations]]) for hit in find_personal_data(t)]
    found += [hit for t in texts([people(), work(), drafts(), matters(), talk()]) for hit in find_personal_data(t)]
    assert found == []


def test_truth_is_asked_for_where_it_is(tmp_path):
    from bowstring.errors import UsageError

    with pytest.raises(UsageError, match=r"has no truth\.json"):
        load_truth(str(tmp_path))


def test_times_are_of_the_published_form(users):
    for user in users:
        for q in user.questions:
            if q.schedule:
                assert re.fullmatch(r"\d{1,2}(:30)? (AM|PM) on [A-Z][a-z]+ \d{1,2}, 2025", q.schedule.datetime)


TINY = {"users": 2, "dimensions": 2, "turns": 1, "schedules": 1, "profile_questions": 1}


@pytest.mark.parametrize("write", [partial(write_cupid, personas=2), partial(write_hicupid, **TINY)])
def test_a_set_whose_writing_was_broken_off_is_written_by_the_same_command(write, tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(making, "finish", interrupted)
        with pytest.raises(KeyboardInterrupt):
            write(tmp_path / "s")
    write(tmp_path / "s")
    write(tmp_path / "whole")
    assert files(tmp_path / "s").keys() == files(tmp_path / "whole").keys()
    assert "unfinished" not in (tmp_path / "s" / "made.json").read_text()
