"""Text that looks like real personal information is found, and ordinary numbers are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bowstring.datasets.personal import find_personal_data


@pytest.mark.parametrize(
    ("text", "kind", "match"),
    [
        ("write to jane.doe+x@mail.co.uk today", "e-mail address", "jane.doe+x@mail.co.uk"),
        ("call (212) 867-5309 after six", "phone number", "(212) 867-5309"),
        ("ring me on +44 20 7946 1958.", "phone number", "+44 20 7946 1958"),
        ("mobile 010-4412-9087 please", "phone number", "010-4412-9087"),
        ("card 4111 1111 1111 1111 exp", "card number", "4111 1111 1111 1111"),
        ("5500-0000-0000-0004", "card number", "5500-0000-0000-0004"),
        ("my SSN is 078-05-1120", "identity number", "078-05-1120"),
        ("NI: AB 12 34 56 C", "identity number", "AB 12 34 56 C"),
        ("born 920314-2012345", "identity number", "920314-2012345"),
        ("IBAN DE89 3704 0044 0532 0130 00 thanks", "bank account", "DE89 3704 0044 0532 0130 00"),
        ("Carnegie Hall, 881 7th Avenue, New York", "street address", "881 7th Avenue"),
        ("we live at 12 Old Mill Lane now", "street address", "12 Old Mill Lane"),
        ("treffen uns Lindenstraße 14", "street address", "Lindenstraße 14"),
        ("send it to PO Box 1187", "street address", "PO Box 1187"),
        ("au 8 rue de Rivoli", "street address", "8 rue de Rivoli"),
    ],
)
def test_finds(text, kind, match):
    assert list(find_personal_data(text)) == [(kind, match)]


@pytest.mark.parametrize(
    "text",
    [
        "11 AM on March 13, 2025",
        "serves 12, 250 g of flour, 1,250 kcal, 3.14159",
        "the 2024-11-20 release, version 10.0.19045",
        "write to me@example.com or x@host.test",
        "the film's number is 212-555-0142, or +44 20 7946 0321",
        "4111 1111 1111 1112 is no card",
        "DE89 3704 0044 0532 0130 01 is no account",
        "call @channel in 5 minutes",
        "bars 24-31, then 40",
        "ewe 214, 41.3 at seven",
        "I walked 3 Mile Drive-style loops",
        "0000-0000-0000-0000",
    ],
)
def test_leaves_everyday_numbers_alone(text):
    assert list(find_personal_data(text)) == []


def test_many_findings_take_no_more_than_their_share():
    assert len(list(find_personal_data("a@mail.org " * 20_000))) == 20_000


@given(st.text(alphabet=st.sampled_from("0123456789 -+().@abDEIBN,'\n"), max_size=200) | st.text(max_size=200))
def test_no_text_makes_the_search_crash(text):
    for kind, match in find_personal_data(text):
        assert kind
        assert match in text
