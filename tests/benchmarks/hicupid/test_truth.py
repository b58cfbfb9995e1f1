"""The truth judge of HiCUPID: stance, clashes, and dislikes that are violated."""

import json
from pathlib import Path

import pytest

from bowstring.benchmarks.hicupid.stance.clash import notices
from bowstring.benchmarks.hicupid.stance.names import Field
from bowstring.benchmarks.hicupid.stance.reading import stance_of
from bowstring.benchmarks.hicupid.truth import load_truth
from bowstring.benchmarks.loading import load_hicupid
from tests.support.sets import write_hicupid

FIELD = Field({"zydeco": ["Clifton Chenier"], "dub": ["King Tubby"]})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    return str(write_hicupid(tmp_path_factory.mktemp("sets") / "offline", users=6, no_clash=0.5))


@pytest.mark.parametrize(
    ("answer", "stance"),
    [
        ("You don't like zydeco, so put on Bach.", "against"),
        ("You don't like Bach, so put on zydeco.", "for"),
        ("Bach rather than zydeco.", "against"),
        ("Zydeco rather than Bach.", "for"),
        ("You can't stand zydeco.", "against"),
        ("You can't get enough of zydeco.", "for"),
        ("I don't think you'd regret another evening of zydeco.", "for"),
        ("I can't say that zydeco suits you.", "against"),
        ("Nothing beats zydeco.", "for"),
        ("Nothing bores you more than zydeco.", "against"),
        ("Anything but zydeco.", "against"),
        ("Let your brother enjoy his zydeco and put on Bach.", "against"),
        ("You find zydeco dull, so put on Bach.", "against"),
        ("You'd hate to miss zydeco.", "for"),
        ("Clifton Chenier always cheers you up.", "for"),
        ("Zydeco? You loathe it.", "against"),
        ("You love zydeco. You don't like zydeco.", "open"),
        ("Some zydeco is fast, some is slow.", "open"),
        ("Put on King Tubby.", "none"),
    ],
)
def test_stance_is_that_of_the_clause_that_mentions_the_subject(answer, stance):
    assert stance_of(answer, FIELD, "zydeco") == stance


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        ("You have a mortgage appointment at 2 PM then, so I can't book the haircut.", "named"),
        ("You also have a mortgage appointment.", "beside the point"),
        ("I cancelled the mortgage appointment and booked the haircut.", "set aside"),
        ("The mortgage appointment was cancelled.", "set aside"),
        ("Your haircut is booked for 2 PM. Don't forget the mortgage appointment.", "booked over"),
        ("You have a dentist appointment then.", "not named"),
    ],
)
def test_a_clash_is_noticed_only_if_it_is_the_reason(answer, said):
    assert notices(answer, "a mortgage appointment", "2 PM on May 6, 2025") == said


def test_gold_passes_and_its_opposite_never_does(made):
    truth, types = load_truth(made), set()
    for question in load_hicupid(made).questions():
        types.add(question.type)
        swapped = truth.swaps.swapped(question)
        if question.type == "schedule":
            assert truth.satisfaction(question, question.personalized_answer).endswith("YES")
            assert truth.satisfaction(question, swapped).endswith("NO"), swapped
        else:
            assert truth.pairwise(question, question.personalized_answer, answer_is="A").endswith("Tie")
            assert truth.pairwise(question, swapped, answer_is="A").endswith("B"), swapped
    assert types == {"persona", "profile", "schedule"}


def test_violated_dislikes_are_found(made):
    truth, seen = load_truth(made), set()
    for question in load_hicupid(made).questions():
        if question.type == "persona" and question.persona.sentiment == "NEG":
            of = question.personalized_answer, truth.swaps.swapped(question), question.general_answer
            seen.add(tuple(truth.dislike(question, answer).split()[-1] for answer in of))
            entity = question.persona.entity
            assert truth.dislike(question, f"Go for {entity}.").endswith("VIOLATED")
    assert seen == {("RESPECTED", "VIOLATED", "OMITTED")}


def test_lists_use_nothing(made):
    truth = load_truth(made)
    known = json.loads((Path(made) / "truth.json").read_text())["entities"]
    for question in load_hicupid(made).questions():
        if question.type == "persona":
            names = [question.persona.entity, *[n for n in known[question.persona.category] if n][:4]]
            for verb in ("Choose", "Avoid"):
                listed = f"{verb} {', '.join(names)}."
                assert not truth.pairwise(question, listed, answer_is="A").endswith("Tie")
