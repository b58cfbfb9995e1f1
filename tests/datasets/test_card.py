"""Dataset cards: a header that the hub can parse, and a text that data cannot break out of."""

import statistics
from dataclasses import replace

import pytest
import yaml

from bowstring.benchmarks import cards
from bowstring.benchmarks.cards import known_origin
from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.export import export
from bowstring.benchmarks.hicupid.describe import _decade
from bowstring.benchmarks.loading import load, load_cupid, load_hicupid
from bowstring.datasets.card import Origin, write_card
from bowstring.datasets.personal import Finding
from bowstring.errors import UsageError


def card_of(data, findings=(), title="A set") -> tuple[dict, str]:
    text = cards.card_of(data, Origin("cc-by-4.0", "By hand."), findings, None, title=title)
    _, header, body = text.split("---\n", 2)
    return yaml.safe_load(header), body


def test_the_header_says_where_the_hub_finds_the_files():
    header, body = card_of(load_hicupid("mini"))
    assert header["license"] == "cc-by-4.0"
    assert header["size_categories"] == ["n<1K"]
    assert header["configs"] == [
        {
            "config_name": "dialogue",
            "data_files": [
                {"split": "train", "path": "dialogue/train.parquet"},
                {"split": "test", "path": "dialogue/test.parquet"},
            ],
        },
        {
            "config_name": "qa",
            "data_files": [
                {"split": "test_1", "path": "qa/test_1.parquet"},
                {"split": "test_2", "path": "qa/test_2.parquet"},
            ],
        },
    ]
    assert "| questions, test_1 | 18 | 6 | 6 | 30 |" in body
    assert "By hand." in body


def test_a_cupid_card_counts_instances_by_type():
    header, body = card_of(load_cupid("mini"))
    assert header["configs"][0]["data_files"] == [{"split": "test", "path": "test.parquet"}]
    assert "| contrastive | 4 |" in body


@pytest.mark.parametrize(
    ("name", "as_json", "configs"),
    [
        ("mini/hicupid", False, {"dialogue": ["train", "test"], "qa": ["test_1", "test_2"]}),
        ("mini/cupid", False, {"default": ["test"]}),
        ("mini/cupid", True, {"default": ["test"]}),
    ],
)
def test_an_export_has_a_card_by_which_datasets_loads_it(tmp_path, name, as_json, configs):
    data = load(name)
    paths = export(data, tmp_path / "set", as_json=as_json)
    assert paths[-1] == tmp_path / "set" / "README.md"
    header = yaml.safe_load(paths[-1].read_text(encoding="utf-8").split("---\n")[1])
    assert header["license"] == "apache-2.0"
    found = {c["config_name"]: [f["split"] for f in c["data_files"]] for c in header["configs"]}
    assert found == configs
    datasets = pytest.importorskip("datasets")
    for config, splits in configs.items():
        loaded = datasets.load_dataset(str(tmp_path / "set"), name=config, cache_dir=str(tmp_path / "cache"))
        assert list(loaded) == splits
        assert all(loaded[split].num_rows for split in splits)
    assert len(load(str(tmp_path / "set")).items()) == len(data.items())


def test_the_card_of_an_export_describes_the_part_and_names_no_folder_of_this_disk(tmp_path):
    export(load_hicupid("mini"), tmp_path / "secret place" / "set")
    own = load_hicupid(str(tmp_path / "secret place" / "set"))
    export(own, tmp_path / "part", splits=["test_1"], users=2)
    card = (tmp_path / "part" / "README.md").read_text(encoding="utf-8")
    assert "secret place" not in card
    assert "license: unknown" in card
    assert "2 users" in card
    assert "test_2" not in card
    assert "not searched for; bowstring data validate FOLDER --pii does that" in card


def test_personal_information_is_a_stated_risk():
    _, clean = card_of(load_cupid("mini"))
    assert "found none" in clean
    found = [Finding("somewhere", "phone number", "…")] * 3
    _, risky = card_of(load_cupid("mini"), found)
    assert "3 × phone number" in risky


def test_a_title_or_a_value_cannot_become_markup():
    header, _ = card_of(load_cupid("mini"), title="evil: {yes}\n---\nlicense: none")
    assert header["pretty_name"] == "evil: {yes} --- license: none"
    assert header["license"] == "cc-by-4.0"
    hicupid = load_hicupid("mini").describe(None)
    hicupid.about["balance"]["gender"] = {"<script>alert(1)</script> | x\n# heading": 1}
    text = write_card(hicupid, Origin("x", "y"), [], title="t", benchmark="HiCUPID")
    assert "<script>" not in text
    assert "\n# heading" not in text


def test_where_a_set_comes_from_is_known_or_must_be_said():
    assert known_origin("kixlab/CUPID", license=None, made=None).license == "cc-by-4.0"
    assert known_origin("mini/cupid", license="mit", made=None).license == "mit"
    with pytest.raises(UsageError, match="--license and --made"):
        known_origin("my/set", license="mit", made=None)


def test_describe_gives_means_deviations_and_balance_of_what_is_there():
    data = load_hicupid("mini")
    about = data.describe(None).about
    lengths = [len(q.question.split()) for q in data.questions()]
    assert about["lengths"]["words per question"] == {
        "n": 60,
        "mean": pytest.approx(statistics.mean(lengths)),
        "sd": pytest.approx(statistics.stdev(lengths)),
        "max": max(lengths),
    }
    assert sum(about["balance"]["category"].values()) == 36, "persona questions only"
    ages = sorted(int(p.age) for p in {q.user_id: q.profile for q in data.questions() if q.profile}.values())
    assert sorted(about["balance"]["age"]) == [f"{a // 10 * 10}-{a // 10 * 10 + 9}" for a in ages]


@pytest.mark.parametrize(
    ("age", "group"), [("9", "0-9"), ("40", "40-49"), ("39", "30-39"), ("9" * 5000, None), ("x", None)]
)
def test_ages_are_grouped_by_decade(age, group):
    assert _decade(age) == (group or age)


def test_a_card_names_the_files_that_are_there(hicupid_folder, cupid_folder):
    (hicupid_folder / "dialogue" / "test.parquet").rename(hicupid_folder / "dialogue" / "unseen.parquet")
    header, _ = card_of(load_hicupid(str(hicupid_folder)))
    paths = [f["path"] for config in header["configs"] for f in config["data_files"]]
    assert all((hicupid_folder / path).is_file() for path in paths)
    header, _ = card_of(load_cupid(str(cupid_folder)))
    assert header["configs"][0]["data_files"] == [{"split": "test", "path": "*.json"}]


def test_describe_counts_distance_to_the_evidence():
    instance = load_cupid("mini").instances[0]
    moved = replace(instance, sessions=instance.sessions[: instance.evidence[-1] + 1])
    about = CupidSet("x", [moved]).describe(None).about
    assert about["lengths"]["sessions since the evidence"]["mean"] == 0
    assert about["tokenizer"] is None
