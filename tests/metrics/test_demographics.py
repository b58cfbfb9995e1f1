"""User groups: ages in decades, occupations by field, incomes in order of amount."""

import pytest

from bowstring.benchmarks.hicupid.demographics import age_group, occupation_group, order_of


@pytest.mark.parametrize(
    ("age", "group"),
    [("24", "under 25"), ("25", "25-34"), ("44", "35-44"), ("64", "55-64"), ("65", "65 and over"), ("old", "old")],
)
def test_ages(age, group):
    assert age_group(age) == group


@pytest.mark.parametrize(
    ("occupation", "group"),
    [
        ("ferry engineer", "engineering and technology"),
        ("Software Developer", "engineering and technology"),
        ("student nurse", "student or apprentice"),
        ("retired bus driver", "retired or not working"),
        ("music teacher", "education"),
        ("Registered Nurse", "health and care"),
        ("marine biologist", "science"),
        ("corporate lawyer", "business, finance and law"),
        ("graphic designer", "arts and media"),
        ("head chef", "sales, service and hospitality"),
        ("truck driver", "trades, transport and production"),
        ("sheep farmer", "farming and nature"),
        ("police officer", "public service and safety"),
        ("clairvoyant", "other"),
        ("", "other"),
    ],
)
def test_occupations(occupation, group):
    assert occupation_group(occupation) == group


def test_incomes_stand_in_the_order_of_their_amounts():
    incomes = ["$100,000-$150,000", "$50k to $75k", "under $20,000", "$20,000-$40,000", "£1.5M and over", "unknown"]
    ordered = sorted(incomes, key=lambda income: order_of("income", income))
    assert ordered == [incomes[2], incomes[3], incomes[1], incomes[0], incomes[4], incomes[5]]


def test_ages_stand_in_their_order():
    ages = ["65 and over", "under 25", "35-44", "unknown"]
    assert sorted(ages, key=lambda age: order_of("age", age)) == ["under 25", "35-44", "65 and over", "unknown"]
