"""The `bowstring data` commands."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from bowstring.benchmarks.hicupid.data import evaluation_table
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.benchmarks.loading import load_hicupid
from tests.support.command import bowstring


@pytest.mark.parametrize(
    "command", ["info", "validate", "audit", "show", "export", "export-judgements", "pull", "card"]
)
def test_every_option_has_a_sentence_of_help(command):
    ran = bowstring("data", command, "--help", env={"COLUMNS": "200"})
    assert ran.code == 0
    options = [line for line in ran.out.splitlines() if line.startswith("  --")]
    assert options
    assert all(line.rstrip().endswith((".", "]", "exit.")) or "  " in line.strip() for line in options)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), ""),
        (("dta",), "'dta' is not a command; did you mean data?"),
        (("data",), "bowstring data: Missing command (see bowstring data --help)"),
        (("data", "info"), "Missing argument 'SRC'"),
        (("data", "info", "mini", "--frobnicate"), "No such option: --frobnicate"),
        (("data", "info", "no such thing"), "no such file or folder, and not a hub id; try mini"),
        (("data", "info", "mini", "--tokenizer", "no such//one"), "tokenizer not found"),
        (("data", "info", ""), "no such file or folder, and not a hub id"),
        (("data", "info", "~nobody-here/x"), "no such file or folder, and not a hub id"),
        (("data", "info", "mini", "--revision", "v1"), "--revision is only for hub data sets; mini is bundled"),
        (("data", "info", "a--b/c..d"), "a--b/c..d is neither an existing file or folder nor a valid hub id"),
        (("data", "show", "mini", "9" * 5000), "is not in mini/hicupid or mini/cupid"),
        (("data", "export", "mini/cupid", "OUT", "--split", "dev"), "mini/cupid has no split 'dev'; it has test"),
        (("data", "show", "mini", "99"), "'99' is not in mini/hicupid or mini/cupid; users are numbered 0 to 5"),
        (("data", "show", "mini", "0+crofter"), "has 3 instances; choose one: 0+crofter+consistent"),
        (("data", "export", "mini", "/tmp/x"), "choose one: mini/hicupid or mini/cupid"),
        (("data", "export", "mini/hicupid", "/dev/null"), "is a file; expected a folder"),
        (
            ("data", "export", "mini/hicupid", "OUT", "--format", "json"),
            "--format json: hicupid data sets are written as parquet",
        ),
        (
            ("data", "export", "mini/hicupid", "OUT", "--split", "train"),
            "has no split 'train'; it has test_1 or test_2",
        ),
        (("data", "pull", "not-an-id"), "is not a hub id"),
        (("data", "card", "mini"), "choose one"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments, message, tmp_path):
    ran = bowstring(*(str(tmp_path / "out") if a == "OUT" else a for a in arguments))
    assert ran.code == 2
    assert message in ran.err
    assert len(ran.err.splitlines()) <= 1


def test_info_counts_both_mini_sets():
    ran = bowstring("data", "info", "mini", "--json")
    hicupid, cupid = json.loads(ran.out)
    assert ran.code == 0
    assert hicupid["questions"]["test_1"] == {"persona": 18, "profile": 6, "schedule": 6}
    assert hicupid["lengths"]["tokens per history"]["n"] == 6
    assert hicupid["balance"]["sentiment"].keys() == {"POS", "NEG"}
    assert cupid["instances"] == {"consistent": 4, "contrastive": 4, "changing": 4}
    assert cupid["tokenizer"] == "SmolLM2-135M (embedded)"
    shown = bowstring("data", "info", "mini").out
    assert "6 users, 60 questions" in shown
    assert "tokens counted with SmolLM2-135M (embedded)" in shown


def test_info_counts_judge_transcripts_and_export_keeps_them(hicupid_folder, tmp_path):
    question = load_hicupid("mini").questions("test_1")[0]
    (hicupid_folder / "evaluation").mkdir()
    table = evaluation_table([Judgement(question, "Plums.", "Satisfaction: NO")] * 7)
    pq.write_table(table, hicupid_folder / "evaluation" / "train.parquet")
    assert json.loads(bowstring("data", "info", hicupid_folder, "--json").out)["transcripts"] == {"train": 7}
    assert bowstring("data", "export", hicupid_folder, tmp_path / "again").code == 0
    assert pq.read_table(tmp_path / "again" / "evaluation" / "train.parquet").num_rows == 7


def test_info_without_any_way_to_count_tokens_says_so(tmp_path):
    nowhere = {
        "BOWSTRING_CACHE": str(tmp_path),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": "",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    ran = bowstring("data", "info", "mini/cupid", env=nowhere)
    assert ran.code == 0
    assert "Tokens are not counted: the embedded model could not be downloaded" in ran.err
    assert "tokens not counted" in ran.out
    unwritable = bowstring("data", "info", "mini/cupid", env={"BOWSTRING_CACHE": "/proc/nowhere"})
    assert unwritable.code == 0
    assert "set BOWSTRING_CACHE to another folder" in unwritable.err


def test_validate_lists_every_problem_and_ends_with_2(hicupid_folder):
    path = hicupid_folder / "qa" / "test_2.parquet"
    rows = pq.read_table(path).to_pylist()
    for row in rows[3:9]:
        row["type"] = "horoscope"
    pq.write_table(pa.Table.from_pylist(rows), path)
    ran = bowstring("data", "validate", hicupid_folder)
    assert ran.code == 2
    assert ran.out.count("type is 'horoscope'; expected persona, profile or schedule") == 6
    assert ran.out.endswith("6 problems\n")
    as_json = json.loads(bowstring("data", "validate", hicupid_folder, "--json").out)
    assert as_json["problems"][0] == {
        "file": "qa/test_2.parquet",
        "row": 3,
        "column": "type",
        "message": "is 'horoscope'; expected persona, profile or schedule",
    }
    loading = bowstring("data", "info", hicupid_folder)
    assert loading.code == 2
    assert loading.err.startswith("qa/test_2.parquet row 3: type is 'horoscope'; expected")
    assert "and 5 more: bowstring data validate" in loading.err


def test_validate_finds_personal_information_when_asked(cupid_folder):
    path = sorted(cupid_folder.glob("*.json"))[0]
    row = json.loads(path.read_text(encoding="utf-8"))
    row["current_request"] += " Or ring me on (212) 867-5309."
    path.write_text(json.dumps(row), encoding="utf-8")
    assert bowstring("data", "validate", cupid_folder).code == 0
    ran = bowstring("data", "validate", cupid_folder, "--pii")
    assert ran.code == 2
    assert "request: phone number: (212) 867-5309" in ran.out
    assert bowstring("data", "validate", "mini", "--pii").out == "mini: no problems\n"


def test_show_makes_control_characters_visible_instead_of_obeying_them(cupid_folder):
    path = sorted(cupid_folder.glob("*.json"))[0]
    row = json.loads(path.read_text(encoding="utf-8"))
    row["current_request"] = "\x1b[2Jgone\x07 [bold]not markup[/bold] \u202esdrawkcab"
    path.write_text(json.dumps(row), encoding="utf-8")
    ran = bowstring("data", "show", cupid_folder, f"{row['persona_id']}+{row['instance_type']}")
    assert ran.code == 0
    assert "\\x1b[2Jgone\\x07 [bold]not markup[/bold] \\u202esdrawkcab" in ran.out
    assert not set(ran.out) & {"\x1b", "\x07", "\u202e"}


def test_show_reads_a_user_a_question_and_an_instance():
    user = bowstring("data", "show", "mini", "3").out
    assert user.startswith("user 3 ")
    assert user.count("\nquestion 3/") == 10
    assert bowstring("data", "show", "mini", "3/121").out.lstrip().startswith("question 3/121, persona")
    assert json.loads(bowstring("data", "show", "mini", "3", "--json").out)["user_id"] == 3
    instance = bowstring("data", "show", "mini", "1+data_engineer+contrastive").out
    assert instance.count("\nsession ") == 8
    assert instance.count("◆ the request's context") == 2


def test_json_of_a_dialogue_without_a_date_has_no_date():
    user = json.loads(bowstring("data", "show", "mini", "3", "--json").out)
    instance = json.loads(bowstring("data", "show", "mini", "1+data_engineer+contrastive", "--json").out)
    for dialogue in [*user["history"], *(session["dialogue"] for session in instance["sessions"])]:
        assert list(dialogue) == ["id", "kind", "messages"]


def test_export_then_validate_then_use(tmp_path):
    assert bowstring("data", "export", "mini/hicupid", tmp_path / "h", "--users", "1").code == 0
    assert bowstring("data", "validate", tmp_path / "h").out.endswith("no problems\n")
    again = bowstring("data", "export", "mini/hicupid", tmp_path / "h")
    assert again.code == 2
    assert "is not empty; choose another folder, or --overwrite" in again.err
    less = bowstring("data", "export", "mini/hicupid", tmp_path / "h", "--split", "test_2", "--overwrite")
    assert less.code == 0
    assert json.loads(bowstring("data", "info", tmp_path / "h", "--json").out)["users"] == 3, "nothing old is left"
    assert bowstring("data", "export", "mini/cupid", tmp_path / "c", "--format", "json").code == 0
    assert bowstring("data", "export", "mini/cupid", tmp_path / "c", "--users", "1", "--overwrite").code == 0
    assert json.loads(bowstring("data", "info", tmp_path / "c", "--json").out)["personas"] == 1
    assert bowstring("data", "export", "mini/cupid", tmp_path / "c", "--format", "json", "--overwrite").code == 0
    assert json.loads(bowstring("data", "info", tmp_path / "c", "--json").out)["personas"] == 4


def test_card_is_printed_or_written(tmp_path):
    printed = bowstring("data", "card", "mini/cupid", "--title", "Mini CUPID")
    assert yaml.safe_load(printed.out.split("---\n")[1])["pretty_name"] == "Mini CUPID"
    path = tmp_path / "deep" / "README.md"
    assert bowstring("data", "card", "mini/cupid", "--title", "Mini CUPID", "--out", path).code == 0
    assert path.read_text(encoding="utf-8") == printed.out
