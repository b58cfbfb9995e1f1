"""Offline generators: deterministic by seed, like the published sets in size and balance, and hard."""

import json
import random
import re
from collections import Counter
from datetime import datetime
from functools import partial
from pathlib import Path

import pytest

from bowstring.api import synthesize as making
from bowstring.api.calls import synthesize
from bowstring.benchmarks.cupid.banks import drafts, matters, talk, work
from bowstring.benchmarks.cupid.offline import OfflineCupid
from bowstring.benchmarks.hicupid.appointments import WINDOWS
from bowstring.benchmarks.hicupid.banks import DIMENSIONS, SIDES, dimension, people
from bowstring.benchmarks.hicupid.batches import in_batches
from bowstring.benchmarks.hicupid.conversations import cast
from bowstring.benchmarks.hicupid.offline import OfflineHicupid, truth_of
from bowstring.benchmarks.hicupid.stance.clash import notices
from bowstring.benchmarks.hicupid.truth import Truth, load_truth
from bowstring.benchmarks.hicupid.types import Persona, Question
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.datasets.personal import find_personal_data
from bowstring.errors import UsageError
from bowstring.history import Reader, parse_view
from bowstring.history.bm25 import Bm25, stems
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
    for name in ("README.md", "quality.json", "made.json", "truth.json", "choices.jsonl"):
        assert (tmp_path / "h" / name).is_file()
    write_cupid(tmp_path / "c", personas=3, seed=5)
    assert len(load_cupid(str(tmp_path / "c")).instances) == 9


def test_each_persona_is_shared_by_the_published_number_of_users_and_never_across_the_split():
    generator = OfflineHicupid(sizes(users=1500), seed=1)
    assert generator.sizes.seen == 1250
    for of in generator.dimensions[:3]:
        dealt = [generator._assigned.persona(user, of.name) for user in range(1500)]
        shared = Counter(dealt)
        assert len(shared) >= 150
        assert sum(n == 10 for n in shared.values()) >= len(shared) - 4  # 1,250 users are 62.5 groups of 20
        assert not {subject for subject, _ in dealt[:1250]} & {subject for subject, _ in dealt[1250:]}


def test_twins_have_the_same_questions_and_opposite_personas(users):
    for one, other in zip(users[0:20:2], users[1:20:2], strict=True):
        for a, b in zip(one.questions, other.questions, strict=True):
            if a.type == "schedule":
                continue
            assert (a.question, a.split, a.persona.entity) == (b.question, b.split, b.persona.entity)
            assert {a.persona.sentiment, b.persona.sentiment} == {"POS", "NEG"}
        for a, b in zip(one.choices, other.choices, strict=True):
            if a.options[1].kind == "wrong_side":
                assert a.options[0].text == b.options[1].text


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


def test_persona_questions_and_golds_have_the_published_number_of_words(users):
    asked = [q for user in users for q in user.questions if q.type == "persona"]
    published = {"question": 8.4, "personalized_answer": 18.5, "general_answer": 18.5}
    for field, words in published.items():
        lengths = [len(getattr(q, field).split()) for q in asked]
        assert sum(lengths) / len(lengths) == pytest.approx(words, rel=0.05)
    profile = [len(q.question.split()) for user in users for q in user.questions if q.type == "profile"]
    assert sum(profile) / len(profile) == pytest.approx(10.6, rel=0.05)


def test_attitudes_and_people_are_balanced(users):
    sentiments = Counter(q.persona.sentiment for u in users for q in u.questions if q.type == "persona")
    assert sentiments["POS"] == sentiments["NEG"]
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


def test_the_subject_is_named_no_more_often_and_no_later_than_those_of_other_people(users):
    most, last = Counter(), Counter()
    for user in users:
        by_id = {d.id: d for d in user.history}
        for q in (q for q in user.questions if q.type == "persona"):
            said = [m.text.lower() for m in by_id[q.evidence[0]].messages if m.role == "user"]
            of = next(dimension(name) for name in DIMENSIONS if dimension(name).category == q.persona.category)
            named = {e: [n for n, text in enumerate(said) if named_in(e, text)] for e in of.subjects}
            named = {e: turns for e, turns in named.items() if turns}
            assert len(named) >= 4
            assert len(named[q.persona.entity]) == 3
            top = max(len(turns) for turns in named.values())
            leaders = [e for e, turns in named.items() if len(turns) == top]
            most[q.persona.entity in leaders and len(leaders) < 3] += 1
            last[max(named[q.persona.entity]) == 9] += 1
    assert most[True] / most.total() < 0.1
    assert last[True] / last.total() < 0.4  # one in four, or two in four if the last turn names two


def named_in(subject, text):
    return re.search(rf"(?<!\w){re.escape(subject.lower())}(?!\w)", text) is not None


def test_replies_answer_their_messages(users):
    right = []
    for user in users[:6]:
        for dialogue in (d for d in user.history if d.kind == "persona"):
            texts = [m.text for m in dialogue.messages]
            index = Bm25([stems(reply) for reply in texts[1::2]])
            for n, message in enumerate(texts[::2]):
                scores = index.scores(stems(message))
                right.append(max(range(len(scores)), key=scores.__getitem__) == n)
    assert sum(right) / len(right) > 0.6


def test_people_are_coherent(users):
    bank = people()
    occupations = {o["name"]: o for o in bank["occupations"]}
    budgets = {i["name"]: i["budget"] for i in bank["incomes"]}
    for user in users:
        profile = next(q.profile for q in user.questions if q.profile)
        first, last = occupations[profile.occupation]["ages"]
        assert first <= int(profile.age) <= last
        assert budgets[profile.income_range] in occupations[profile.occupation]["incomes"]


def test_the_profile_changes_what_is_recommended(users):
    for user in users:
        for choice, q in zip(user.choices, user.questions, strict=True):
            if q.type != "profile":
                continue
            right, wrong = choice.options[0].text, choice.options[1].text
            assert right != wrong
            assert len(set(right.split()) ^ set(wrong.split())) <= 6  # only the variant differs


def test_appointments_are_at_times_that_fit_them(users):
    windows = {event: WINDOWS[name] for name, group in people()["events"].items() for event in group}
    for user in users:
        for q in (q for q in user.questions if q.type == "schedule"):
            half = "%I:%M %p on %B %d, %Y" if ":" in q.schedule.datetime else "%I %p on %B %d, %Y"
            assert windows[q.schedule.event].holds(datetime.strptime(q.schedule.datetime, half))


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


def test_the_truth_knows_gold_from_every_other_option(users):
    truth = Truth(truth_of(OfflineHicupid(sizes(users=1), 0)))
    for option, q in ((o, q) for u in users for c, q in zip(u.choices, u.questions, strict=True) for o in c.options):
        if q.type == "schedule":
            assert read_satisfaction(truth.satisfaction(q, option.text)) == (option.kind == "gold")
        else:
            read = read_pairwise(truth.pairwise(q, option.text, answer_is="A"))
            assert read == ("tie" if option.kind == "gold" else "B"), (option, q)
    for q in (q for u in users for q in u.questions):
        if q.type == "schedule":
            assert read_satisfaction(truth.satisfaction(q, q.personalized_answer))
            assert not read_satisfaction(truth.satisfaction(q, q.general_answer))
        else:
            assert read_pairwise(truth.pairwise(q, q.personalized_answer, answer_is="A")) == "tie", q
            assert read_pairwise(truth.pairwise(q, q.general_answer, answer_is="A")) == "B", q


def test_a_booking_does_not_name_an_appointment_with_book_in_its_name():
    event, when = "a book club evening", "6 PM on June 17, 2025"
    assert notices(f"I have booked a massage for {when}. You will get a message.", event, when) != "named"
    assert notices(f"You have {event} at {when}, so I have not booked a massage.", event, when) == "named"


def question(kind: str, persona: Persona) -> Question:
    return Question("test_2", 1, 1, kind, "?", "", "", (), persona, None, None)


@pytest.mark.parametrize("name", DIMENSIONS)
def test_the_truth_reads_every_answer_pattern_of_the_banks(name):
    of = dimension(name)
    truth = Truth(truth_of(OfflineHicupid(sizes(users=1), 0)))
    subjects = list(of.subjects)
    for n, (side, line) in enumerate((side, a[side]) for a in of.answers for side in SIDES):
        said = fill(line, {"e": subjects[n], "alt": of.alternatives[0]})
        for sentiment in SIDES:
            known = question("persona", Persona(of.category, "x", subjects[n], sentiment))
            expected = "tie" if side == sentiment else "B"
            assert read_pairwise(truth.pairwise(known, said, answer_is="A")) == expected, said


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
        assert len(of.subjects) >= 76
        assert all(len(cues) >= 2 for cues in of.subjects.values())
        assert all(len(scenes) >= 8 for scenes in of.scenes.values())
        assert len(of.both) >= 5


def test_scenes_say_who_does_it_by_slots_alone():
    for name in DIMENSIONS:
        of = dimension(name)
        for scene in (scene for scenes in of.scenes.values() for scene in scenes):
            assert re.search(r"\{A[ms]?\}", scene.said), scene
            assert "{e}" in scene.said
            assert not re.search(r"\b(I|me|my)\b", scene.said), scene


def test_times_in_scenes_are_adverbs():
    # A time is 'at the weekend' or 'when it snowed so suddenly', so no preposition goes before it.
    lines = [
        line
        for of in map(dimension, DIMENSIONS)
        for side in SIDES
        for scene in of.scenes[side]
        for line in (scene.said, scene.reply)
    ]
    assert not [line for line in lines if re.search(r"\b(since|until|from|on|of|than|for|by) \{time\}", line)]


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
        found += [
            hit
            for t in texts([[scene.said, scene.reply] for side in of.scenes.values() for scene in side])
            for hit in find_personal_data(t)
        ]
    found += [hit for t in texts([people(), work(), drafts(), matters(), talk()]) for hit in find_personal_data(t)]
    assert found == []


def test_a_share_of_schedule_questions_asks_for_a_free_time(tmp_path):
    write_hicupid(tmp_path / "s", users=12, seed=5, dimensions=2, turns=2, profile_questions=1, no_clash=0.5)
    data = load_hicupid(str(tmp_path / "s"))
    truth = load_truth(str(tmp_path / "s"))
    asked = [q for q in data.questions() if q.type == "schedule"]
    free = [q for q in asked if not truth.clashes(q)]
    assert len(free) == len(asked) / 2
    taken = {(q.user_id, q.schedule.datetime) for q in asked}
    for q in asked:
        assert (q.schedule.datetime in q.question) == truth.clashes(q)
        assert read_satisfaction(truth.satisfaction(q, q.personalized_answer))
        assert not read_satisfaction(truth.satisfaction(q, q.general_answer))
    for q in free:
        assert not any(when in q.question for user, when in taken if user == q.user_id)


def test_data_info_counts_the_questions_without_a_clash(tmp_path):
    write_hicupid(tmp_path / "s", users=12, seed=5, dimensions=2, turns=2, profile_questions=1, no_clash=0.5)
    counts = load_hicupid(str(tmp_path / "s")).describe(None).about["no_clash"]
    assert set(counts) == {"train", "test_1", "test_2"}
    assert sum(counts.values()) == 60


def test_only_the_offline_generator_writes_questions_without_a_clash(tmp_path):
    with pytest.raises(UsageError, match="--no-clash is for --offline"):
        synthesize("hicupid", model="embedded", users=2, no_clash=0.5, out=tmp_path / "s")


def test_choices_are_in_the_order_of_the_questions_with_gold_first(tmp_path):
    write_hicupid(tmp_path / "s", users=12, seed=5, dimensions=3, turns=4, no_clash=0.3)
    rows = [json.loads(line) for line in (tmp_path / "s" / "choices.jsonl").read_text().splitlines()]
    data = load_hicupid(str(tmp_path / "s"))
    asked = [q for split in ("train", "test_1", "test_2") for q in data.questions(split)]
    assert [(r["split"], r["user_id"], r["question_id"]) for r in rows] == [
        (q.split, q.user_id, q.question_id) for q in asked
    ]
    for row, q in zip(rows, asked, strict=True):
        assert [o["kind"] for o in row["options"]].index("gold") == 0
        assert row["options"][0]["text"] == q.personalized_answer
        assert len({o["text"] for o in row["options"]}) == 5
        assert ("clash" in row) == (q.type == "schedule")


def test_the_number_of_processes_does_not_change_the_users():
    generator = OfflineHicupid(sizes(users=6, dimensions=2, turns=2, schedules=2, profile_questions=1), seed=3)
    made = [[batch for batch, _ in in_batches(generator, 2, len, n)] for n in (1, 2)]
    assert made[0] == made[1]


def test_too_few_subjects_are_reported_with_the_share_that_would_do():
    with pytest.raises(UsageError, match="--share 2 or more"):
        OfflineHicupid(sizes(users=300, share=1), seed=0)


def test_truth_is_asked_for_where_it_is(tmp_path):
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


def test_the_people_of_a_dialogue_have_different_subjects():
    """Also where the name of the user's own has no word that tells it apart, and comes up most often."""
    for name in DIMENSIONS:
        of = dimension(name)
        for subject in of.subjects:
            rng = random.Random(f"{name} {subject}")
            members = cast(of, subject, "POS", [[subject] * 5, [subject]], [], rng)
            subjects = [member.subject for member in members]
            assert subjects[0] == subject
            assert len(set(subjects)) == len(subjects) > 1
