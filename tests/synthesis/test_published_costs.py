"""The numbers in docs/reproducing.md are those of the generators as they are now (`bench/published_costs.py`)."""

import importlib.util
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
AGAIN = "run bench/published_costs.py, and put what it prints into docs/reproducing.md"


@pytest.fixture(scope="module")
def costs():
    spec = importlib.util.spec_from_file_location("published_costs", ROOT / "bench" / "published_costs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def recorded(costs):
    return json.loads(costs.RECORDED.read_text())


def test_the_offline_generators_make_what_they_made_when_the_costs_were_recorded(costs, recorded):
    assert costs.fingerprints() == recorded["generators"], f"the offline sets are other ones now: {AGAIN}"


def test_the_page_has_the_recorded_numbers(costs, recorded):
    page = " ".join((ROOT / "docs" / "reproducing.md").read_text().split())
    missing = [said for said in (*costs.rows(recorded), *costs.sentences(recorded)) if said not in page]
    assert missing == [], AGAIN
