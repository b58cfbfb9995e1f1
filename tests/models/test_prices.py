"""What requests cost: by kind of token, nothing for local models, and as a user's file says."""

from types import SimpleNamespace

import pytest

from bowstring.errors import UsageError
from bowstring.models.names import open_model
from bowstring.models.prices import Price, load_prices
from bowstring.records import Usage

MILLION = 1_000_000


def test_fresh_cached_and_written_tokens_have_their_own_prices():
    price = Price(input=2.0, cached=0.5, output=8.0)
    assert price.of(Usage(prompt=MILLION, cached=MILLION // 4, completion=MILLION)) == pytest.approx(9.625, rel=1e-12)


def test_a_batch_has_its_discount_and_none_for_what_is_cached():
    assert Price(input=2.0, cached=0.5, output=8.0).in_batches(0.5) == Price(input=1.0, cached=1.0, output=4.0)


def model(identity: str, name: str = "") -> SimpleNamespace:
    return SimpleNamespace(name=name or identity, identity=identity)


def test_more_cached_tokens_than_tokens_earn_nothing():
    assert Price(input=2.0, cached=0.5, output=8.0).of(Usage(prompt=10, cached=1000)) == pytest.approx(5e-6)


@pytest.mark.parametrize("identity", ["embedded/m#1", "python:models:knows", "hf/folder#1", "vllm/folder#1"])
def test_a_model_on_this_machine_costs_nothing(identity):
    assert load_prices().of(model(identity)).of(Usage(MILLION, MILLION // 2, MILLION)) == 0


@pytest.mark.parametrize(
    "key",
    [
        "openai/m@http://127.0.0.1:8000/v1",
        "openai/m@http://me:password@127.0.0.1:8000/v1/",
        "openai/m@http://127.0.0.1:8000/v1/chat/completions",
        "openai/m@127.0.0.1/v1",
        "openai/served",
    ],
)
def test_a_price_is_found_by_the_name_as_given_and_by_identity(tmp_path, key):
    path = tmp_path / "prices.yaml"
    path.write_text(f'"{key}": {{input: 3, output: 4}}\nopenai/m: {{input: 9, output: 9}}\n')
    prices = load_prices(path)
    opened = open_model("openai/m@http://you:secret@127.0.0.1:8000/v1/")
    assert prices.of(model("openai/served", opened.name)) == Price(3, 3, 4)
    assert prices.of(model("openai/other", "openai/other@http://127.0.0.1:8000/v1")) is None


def test_a_users_file_adds_to_the_list_and_takes_precedence(tmp_path):
    listed = load_prices()
    known = "openai/gpt-4o"
    path = tmp_path / "prices.yaml"
    path.write_text(f"{known}: {{input: 1, output: 2}}\nopenai/mine: {{input: 3, cached: 0.3, output: 4}}\n")
    found = load_prices(path)
    assert found.of(model(known)) == Price(1, 1, 2) != listed.of(model(known)), "cached is as input"
    assert found.of(model("openai/mine")) == Price(3, 0.3, 4)
    assert found.of(model("openai/unknown")) is None
    assert found.of(model("openai/gpt-4o-mini")) == listed.of(model("openai/gpt-4o-mini")) is not None
    assert found.dated == f"{listed.dated}, with prices.yaml"


def test_a_model_is_found_by_its_name_at_any_provider():
    assert "openai/gpt-4o" in load_prices().named("gpt-4o")
    assert load_prices().named("openai/gpt-4o") == []


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{input: 1}", "expected input and output, and cached if it differs"),
        ("{input: -1, output: 1}", "a price is negative, too large, or not a number"),
        ("{input: 1, output: .nan}", "a price is negative, too large, or not a number"),
        ("{input: 1, output: 1.0e+10}", "a price is negative, too large, or not a number"),
    ],
)
def test_a_price_that_is_none_is_named(tmp_path, row, said):
    path = tmp_path / "prices.yaml"
    path.write_text(f"openai/mine: {row}\n")
    with pytest.raises(UsageError) as error:
        load_prices(path)
    assert str(error.value) == f"{path}: openai/mine: {said}"
