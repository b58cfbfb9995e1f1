"""The rules of generated preferences: checks of texts, and the reading of stated preferences."""

from pathlib import Path

import pytest
import yaml

from bowstring.benchmarks.cupid.preference_types import category_of
from bowstring.benchmarks.cupid.rules import meets, opposite, rules
from bowstring.benchmarks.cupid.rules.checks import CHECKS
from bowstring.benchmarks.cupid.rules.reading import read_rules
from bowstring.synthesis.quality import quotes_checklist

HERE = Path(__file__).parent
LIST = "The roof leaks:\n\n{a} the beam\n{b} the tiles\n{c} the gutter"
TABLE = "The roof leaks.\n\n| Part | State |\n| --- | --- |\n| beam | sound |\n| tiles | old |"
LONG_SENTENCE = (
    "The roof lets in water above the two racing boats, the north gutter has come loose at both ends, and a local "
    "roofer has looked at all of the damage."
)
# A text that meets the first rule of a feature, and one that meets the second.
EXAMPLES = {
    "bullets": (LIST.format(a="-", b="-", c="-"), "The beam, the tiles and the gutter leak."),
    "numbered": (LIST.format(a="1.", b="2.", c="3."), "First the beam, then the tiles."),
    "table": (TABLE, "The beam is sound and the tiles are old."),
    "headings": ("## Roof\nIt leaks.\n\n## Boats\nThey are dry.", "The roof leaks, and the boats are dry."),
    "bold": ("The **roof** leaks above the **boats**.", "The roof leaks above the boats."),
    "short": ("The roof leaks.", " ".join(["The roof leaks badly."] * 45)),
    "one-paragraph": ("The roof leaks. The boats are dry.", "The roof leaks.\n\nBadly.\n\nWhere?\n\nIn the north."),
    "short-sentences": ("The roof leaks. The boats are dry.", LONG_SENTENCE),
    "conclusion-first": (
        "In short, the roof should be patched. It leaks.",
        "It leaks in two places. In short, the roof should be patched.",
    ),
    "end-question": ("The roof leaks. Shall we call the roofer?", "The roof leaks. We call the roofer."),
    "source": ("According to the register, the roof is old.", "The roof is old."),
    "example": ("For example, the shed has stayed dry.", "The shed has stayed dry."),
    "risk": ("There is a risk that the beam rots.", "The beam is sound."),
    "deadline": ("The tiles must be there by Friday.", "The tiles are on order."),
    "figures": ("It takes 38 tiles, 12 battens and 2 gutters.", "It takes tiles and some battens."),
    "comparison": ("It is like a coat with a torn sleeve.", "The north side is torn."),
    "exclamation": ("It can be done!", "It can be done."),
    "first-person": ("I have looked at it.", "The roofer has looked at it."),
    "second-person": ("Please bring your ladder.", "A ladder is needed."),
    "contractions": ("It's old, and it doesn't hold.", "It is old, and it does not hold. The roofer's view is clear."),
    "jargon": ("All stakeholders share one roadmap.", "Everybody agrees on the plan."),
    "hedging": ("Perhaps the beam is sound.", "The beam is sound."),
    "metric": ("The gutter is four metres long.", "The gutter is thirteen feet long."),
    "greeting": ("Dear Ada,\n\nThe roof leaks.", "The roof leaks."),
}


def test_there_is_an_example_of_every_rule():
    assert {one for first in EXAMPLES for one in (first, opposite(first))} == set(rules()) == set(CHECKS)


@pytest.mark.parametrize("first", EXAMPLES)
def test_a_text_meets_the_rule_that_it_is_an_example_of_and_not_its_opposite(first):
    second = opposite(first)
    for text, yes, no in ((EXAMPLES[first][0], first, second), (EXAMPLES[first][1], second, first)):
        assert meets(text, yes), text
        assert not meets(text, no), text


@pytest.mark.parametrize(
    ("text", "rule", "holds"),
    [
        ("The roof leaks. Or does it?\n\nKind regards", "end-question", False),
        ('He asked: "Does it leak?"', "end-question", True),
        ("* beam\n* tiles\n* gutter", "bullets", True),
        ("- beam\n- tiles", "bullets", False),
        ("**Roof:** it leaks.\n**Boats:** dry.", "bold", True),
        ("The bill has 1,250 in it, and 1,250 again.", "figures", False),
        ("1. beam\n2. tiles\n3. gutter", "figures", False),
        ("1. beam\n2. tiles\n3. gutter", "no-figures", True),
        ("# Roof\nIt leaks.", "headings", False),
        ("# Roof\nIt leaks.", "no-headings", False),
        ("Dear Ada, the roof leaks.", "greeting", True),
        ("The dear old roof leaks.", "greeting", False),
        ("Hi! In short, the roof should be patched.", "conclusion-first", True),
        ("Dr. Okafor saw it. It leaks.", "short-sentences", True),
        ("The thermometer shows frost.", "metric", False),
        ("We will e.g. patch it.", "example", True),
        ("I’m sure that it’s old.", "contractions", True),
        ("The US delegation saw the roof.", "first-person", True),  # 'US' reads as 'us': a known limit
    ],
)
def test_checks_in_cases_that_are_easily_mistaken(text, rule, holds):
    assert meets(text, rule) is holds


def test_rules_have_what_the_generator_needs():
    clauses = [clause for rule in rules().values() for clause in rule.clauses]
    items = [item for rule in rules().values() for item in rule.items]
    assert len(clauses) == len(set(clauses)) == 4 * len(rules())
    assert len(items) == len(set(items)) == 2 * len(rules())
    for rule in rules().values():
        assert opposite(rule.opposite) == rule.id
        assert category_of(rule.type) is not None
        assert len(rule.hints) >= 6
        assert len(rule.allusions) >= 3


def test_held_out_rules_are_a_quarter_of_the_features_and_both_rules_of_a_feature():
    held_out = {rule.feature for rule in rules().values() if rule.held_out}
    assert len(held_out) == 6
    assert all(rule.held_out == rules()[rule.opposite].held_out for rule in rules().values())
    assert len({rule.group for rule in rules().values() if rule.held_out}) >= 3  # a preference takes one per group


def test_no_hint_or_allusion_states_a_rule():
    for rule in rules().values():
        for said in (*rule.hints, *rule.allusions):
            assert quotes_checklist(said, rule.items) is None, said
            assert not any(clause in said.lower() for clause in rule.clauses), said


def statements(name: str) -> list[dict]:
    return yaml.safe_load((HERE / f"statements_{name}.yaml").read_text(encoding="utf-8"))


def balanced_accuracy(known: list[dict]) -> float:
    """The mean of the shares of right readings among statements that state their rule and that do not."""
    right = {True: [], False: []}
    for one in known:
        right[one["states"]].append((one["rule"] in read_rules(one["says"])) == one["states"])
    return sum(sum(found) / len(found) for found in right.values()) / 2


@pytest.mark.parametrize("name", ["development", "sealed", "review"])
def test_statements_are_read_as_the_rules_that_they_state(name):
    assert len(statements(name)) >= 100
    assert balanced_accuracy(statements(name)) >= 0.97


def test_the_generators_own_phrasings_and_their_reversals_are_read():
    known = []
    for rule in rules().values():
        for clause in rule.clauses:
            for said in (f"It must {clause}.", f"{clause[0].upper()}{clause[1:]}."):
                assert read_rules(said) == (rule.id,), said
                known.append({"rule": rule.id, "states": True, "says": said})
                known.append({"rule": rule.opposite, "states": False, "says": said})
            if not clause.startswith(("not ", "never ")):
                for said in (f"It must not {clause}.", f"Never {clause}."):
                    known.append({"rule": rule.id, "states": False, "says": said})
    assert balanced_accuracy(known) >= 0.97


def test_vague_statements_state_no_rule():
    for said in (
        "The user wants clear, helpful and well organised responses in a friendly, professional tone.",
        "Responses should be accurate and engaging.",
        "",
        "The user prefers it the way it was last time.",
    ):
        assert read_rules(said) == ()


def test_two_statements_of_one_sentence_do_not_share_their_polarity():
    for said, meant in (
        ("Deadlines and risks should both be left out.", {"no-deadline", "no-risk"}),
        ('Without "I" or "we" that still uses contractions such as "it\'s".', {"no-first-person", "contractions"}),
        ("Buzzwords should be replaced by a numbered list.", {"no-jargon", "numbered"}),
        ("Quantities belong in metric units and exclamation marks are to be avoided.", {"metric", "no-exclamation"}),
        ("The user thinks headings chop the text up and wants them removed.", {"no-headings"}),
    ):
        assert set(read_rules(said)) == meant, said
