"""Demographic groups of users that are large enough to compare: ages by decade, occupations by field, income ranges.

>>> occupation_group("ferry engineer")
'engineering and technology'
"""

from __future__ import annotations

import re
from functools import lru_cache

from bowstring.benchmarks.hicupid.types import Profile

AXES = ("age", "gender", "occupation", "income")
_AGES = ((25, "under 25"), (35, "25-34"), (45, "35-44"), (55, "45-54"), (65, "55-64"))
_OLDEST = "65 and over"
_NUMBER = re.compile(r"\d[\d,.]*\s*[kKmM]?")

# Matched by the beginnings of words; the first group with a match wins: 'student nurse' is a student.
_FIELDS: tuple[tuple[str, str], ...] = (
    ("student or apprentice", "student apprentice trainee intern undergraduate"),
    ("retired or not working", "retired pensioner unemployed homemaker housewife househusband"),
    ("education", "teacher professor lecturer tutor educator librarian principal headteacher instructor school"),
    (
        "health and care",
        "nurse doctor physician surgeon dentist dental pharma therap physio psycholog psychiatr paramedic midwi vet "
        "veterinar care caregiver carer medical health optician optometrist social radiolog nutrition dietit",
    ),
    (
        "engineering and technology",
        "engineer developer programmer software data it technolog technician system network architect web ux "
        "cyber devops machine",
    ),
    ("science", "scientist researcher biolog chemist physicist geolog astronom mathematic statistic archaeolog ecolog"),
    (
        "business, finance and law",
        "account bank financ audit analyst econom lawyer attorney solicitor judge paralegal notary consult manager "
        "director executive ceo entrepreneur business market advertis human hr recruit project product insur broker "
        "invest estate realtor admin secretary clerk assistant civil",
    ),
    (
        "arts and media",
        "artist musician singer actor actress writer author journal editor photograph film design illustrat animat "
        "paint sculpt potter dancer composer music poet translator curator art media blog content potter luthier",
    ),
    (
        "sales, service and hospitality",
        "sales shop retail cashier waiter waitress barista bartender chef cook baker hotel host hair barber beaut tour "
        "travel flight steward receptionist customer clean event fitness personal coach trainer cater florist butcher",
    ),
    (
        "trades, transport and production",
        "electric plumb carpent build construction mechanic weld mason driver pilot truck deliver courier factory "
        "machin operator warehouse logistic forklift sailor captain ferry train tailor joiner roofer bricklayer",
    ),
    ("farming and nature", "farm garden forest ranger fish shepherd beekeep landscap vintner wine horticult agri"),
    (
        "public service and safety",
        "police fire soldier army navy military officer guard security postal mail firefighter",
    ),
)
_OTHER = "other"


def group_of(profile: Profile, axis: str) -> str:
    match axis:
        case "age":
            return age_group(profile.age)
        case "gender":
            return profile.gender.strip().lower()
        case "occupation":
            return occupation_group(profile.occupation)
        case _:
            return " ".join(profile.income_range.split())


def age_group(age: str) -> str:
    """The decade of an age; anything that is not a number is returned unchanged."""
    found = re.search(r"\d+", age)
    if found is None:
        return age.strip().lower()
    return next((name for below, name in _AGES if int(found[0]) < below), _OLDEST)


@lru_cache(maxsize=4096)
def occupation_group(occupation: str) -> str:
    words = re.findall(r"[a-z]+", occupation.lower())
    for field, beginnings in _FIELDS:
        if any(word == b or (len(b) > 3 and word.startswith(b)) for word in words for b in beginnings.split()):
            return field
    return _OTHER


def order_of(axis: str, group: str) -> tuple[float, str]:
    """The sort key of a group on its axis: ages and incomes by size, others by name."""
    if axis == "age":
        names = [name for _, name in _AGES] + [_OLDEST]
        return (float(names.index(group)), "") if group in names else (99.0, group)
    if axis == "income":
        return _amount(group), group
    return 0.0, group


def _amount(income: str) -> float:
    """The first amount in an income range; for a range without a lower end, slightly less than its upper end."""
    found = _NUMBER.search(income)
    if found is None:
        return float("inf")
    text = found[0].lower().rstrip(".,").replace(",", "").strip()
    scale = {"k": 1e3, "m": 1e6}.get(text[-1], 1.0)
    try:
        amount = float(text.rstrip("km ")) * scale
    except ValueError:
        return float("inf")
    return amount - 0.5 if re.search(r"under|below|less|<|up to", income.lower()) else amount
