"""The `bowstring train` command."""

import json
import shutil

import pytest
import typer

from bowstring.benchmarks.cupid.data import write_parquet as write_cupid
from bowstring.benchmarks.loading import load_cupid
from bowstring.cli import main
from bowstring.cli.train import app
from bowstring.runs.folder import RunFolder
from tests.support.command import bowstring
from tests.support.hub import Hub
from tests.support.sets import write_hicupid
from tests.support.tiny import copy_of
from tests.support.training import as_options


@pytest.fixture
def train(folder, users, tmp_path, capsys):
    """Call it on the tiny model, with the set of short histories; options given later count."""

    def call(method: str = "sft", *words) -> tuple[int, str, list[str]]:
        usual = as_options(limit=4, dropout=0.0 if method == "sft" else None)
        given = (method, "--model", folder, "--data", users, "--out", tmp_path / "a", *usual, *words)
        with pytest.raises(SystemExit) as ended:
            main(["train", *map(str, given)])
        said = capsys.readouterr()
        return ended.value.code, said.out, said.err.splitlines()

    return call


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--model", "/no/such/folder"), "hf//no/such/folder: no such folder"),
        (("--model", "."), "hf/.: the model cannot be loaded"),
        (
            ("--init-from", "/no/such/adapter"),
            "the adapter /no/such/adapter: no such folder",
        ),
        (("--data", "mini"), "mini/hicupid or mini/cupid"),
        (("--type", "horoscope"), "horoscope"),
        (("--history", "nonsense"), "--history nonsense: expected full, gold, none, last:N"),
        (
            ("--max-length", "40"),
            "all 4 examples are longer than --max-length 40; increase it, or try --history last:4k",
        ),
        (("--lr", "0"), "--lr 0.0: expected a number above 0"),
        (("--dropout", "1"), "--dropout 1.0: expected a number from 0 to below 1"),
        (("--branches", "0"), "--branches 0: expected a whole number of at least 1"),
    ],
)
def test_what_cannot_be_meant_is_said_in_one_line(words, message, train, tmp_path):
    code, out, lines = train("sft", *words)
    assert code == 2
    assert out == ""
    assert message in lines[-1]
    assert not any("Traceback" in line for line in lines)
    assert not (tmp_path / "a" / "adapter_model.safetensors").exists()


@pytest.mark.parametrize("method", ["sft", "dpo", "judge", "matcher"])
@pytest.mark.parametrize(
    ("out", "said"),
    [
        ("afile", "{0}/afile is not a folder; choose another path"),
        ("afile/x", "{0}/afile is not a folder, so {0}/afile/x cannot be created; choose another path"),
    ],
)
def test_a_file_in_the_place_of_the_adapters_folder_is_said_first_of_all(method, out, said, tmp_path, capsys):
    (tmp_path / "afile").write_text("mine")
    with pytest.raises(SystemExit) as ended:
        main(["train", method, "--data", "x", "--model", "/no/such", "--out", str(tmp_path / out)])
    assert ended.value.code == 2
    assert capsys.readouterr().err.splitlines() == [said.format(tmp_path)]
    assert (tmp_path / "afile").read_text() == "mine"


def test_what_is_no_folder_here_and_no_name_on_the_hub_is_not_sought_there(users, tmp_path):
    (tmp_path / "afile").write_text("mine")
    for option, name, said in (
        ("--model", "afile", "hf/afile is a file; expected a folder or a hub id"),
        ("--init-from", "afile", "the adapter afile is a file; expected a folder or a hub id"),
        ("--init-from", "nosuch", "the adapter nosuch: no such folder; expected a folder or a hub id (OWNER/NAME)"),
    ):
        with Hub({}) as hub:
            words = ("train", "sft", "--data", users, "--out", "a", option, name)
            ran = bowstring(*words, env=hub.env(tmp_path / "home"), cwd=tmp_path)
        assert (ran.code, ran.err.splitlines(), hub.asked) == (2, [said], [])


def test_what_the_hub_does_not_have_is_no_folder_here_either(users, tmp_path):
    with Hub({}) as hub:
        words = ("train", "sft", "--data", users, "--out", "a", "--model", "no/such")
        ran = bowstring(*words, env=hub.env(tmp_path / "home"), cwd=tmp_path)
    assert hub.asked
    assert ran.code == 2
    assert ran.err.splitlines()[-1] == "hf/no/such: no such folder, and no accessible model of that id on the hub"


def test_a_folder_with_a_near_name_is_suggested_where_the_hub_does_not_help(users, tmp_path):
    (tmp_path / "llama-tuned").mkdir()
    wrong = {
        ("--model", "lama-tuned"): "hf/lama-tuned: no such folder, and no accessible model of that id on the hub",
        ("--model", "llama-tuned-"): "hf/llama-tuned-: neither an existing folder nor a valid hub id",
        (
            "--init-from",
            "lama-tuned",
        ): "the adapter lama-tuned: no such folder; expected a folder or a hub id (OWNER/NAME)",
    }
    words = ("train", "sft", "--data", users, "--out", "a")
    with Hub({}) as hub:
        for option, said in wrong.items():
            ran = bowstring(*words, *option, env=hub.env(tmp_path / "home"), cwd=tmp_path)
            assert ran.code == 2
            assert ran.err.splitlines()[-1] == f"{said}; did you mean llama-tuned?"
    ran = bowstring(*words, "--model", "lama-tuned", env=hub.env(tmp_path / "home"), cwd=tmp_path)
    assert ran.code == 1
    assert "hf/lama-tuned: no such folder, and the download failed: " in ran.err
    assert ran.err.endswith("; did you mean llama-tuned?\n")


def test_whose_limit_it_is_that_all_examples_pass_is_said(train, folder, tmp_path):
    short = copy_of(folder, tmp_path / "short", max_position_embeddings=64)
    code, _, lines = train("sft", "--model", short)
    assert code == 2
    assert lines[-1] == (
        "all 4 examples are longer than the model's 64 tokens; use another model, or try --history last:4k"
    )


def test_a_set_without_questions_of_the_type_is_named(train, tmp_path):
    without = tmp_path / "without schedules"
    write_hicupid(without, users=1, dimensions=1, turns=1, schedules=0, profile_questions=0)
    code, _, lines = train("sft", "--data", without, "--type", "schedule")
    assert code == 2
    assert lines[-1] == f"{without} has no questions to train on in train"


def test_dpo_has_no_dropout(train):
    code, _, lines = train("dpo", "--dropout", "0.1")
    assert code == 2
    assert "No such option: --dropout" in lines[-1]


def test_a_folder_that_is_no_training_is_not_written_into(train, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("mine")
    code, _, lines = train()
    assert code == 2
    assert lines[-1] == f"{tmp_path / 'a'} is not empty and not a training of Bowstring; choose another --out"
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["notes.txt"]


def test_fresh_removes_a_training_and_nothing_else(train, tmp_path):
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "thesis.txt").write_text("mine")
    code, _, lines = train("sft", "--fresh")
    assert code == 2
    assert "is not empty and not a training of Bowstring" in lines[-1]
    assert (tmp_path / "a" / "thesis.txt").read_text() == "mine"
    (tmp_path / "a" / "thesis.txt").unlink()
    assert train()[0] == 0
    before = (tmp_path / "a" / "adapter_model.safetensors").stat().st_mtime_ns
    assert train()[0] == 0
    assert (tmp_path / "a" / "adapter_model.safetensors").stat().st_mtime_ns == before
    assert train("sft", "--fresh")[0] == 0
    assert (tmp_path / "a" / "adapter_model.safetensors").stat().st_mtime_ns > before


def test_a_folder_that_is_being_trained_in_is_left_to_it(train, tmp_path):
    at_work = RunFolder(tmp_path / "a")
    code, _, lines = train()
    at_work.close()
    assert code == 1
    assert f"{tmp_path / 'a'} is in use" in lines[-1]


def test_an_adapters_folder_says_what_it_was_trained_on_and_how(train, users, folder, tmp_path):
    code, out, lines = train("sft", "--max-length", "720", "--limit", "15", "--epochs", "1.5")
    assert code == 0, lines
    record = json.loads((tmp_path / "a" / "training.json").read_text())
    assert sorted(p.name for p in (tmp_path / "a").iterdir()) == [
        ".lock", "README.md", "adapter_config.json", "adapter_model.safetensors", "curve.svg", "training.json"
    ]  # fmt: skip
    assert record["status"] == "complete"
    assert record["loss"] == "cross-entropy of answers and their end token, the mean over a step's answer tokens"
    said = record["configuration"]
    assert said["method"] == "sft"
    assert said["model"] == str(folder)
    assert said["data"] == str(users)
    assert len(said["data_fingerprint"]) == 64
    assert said["prompts"].keys() == {"hicupid/ask"}
    assert (said["rank"], said["epochs"], said["seed"]) == (4, 1.5, 0)
    assert "beta" not in said
    counts = record["counts"]
    assert counts["examples"] + counts["too_long"] == 15
    assert counts["too_long"] > 0
    assert f"Note: left out {counts['too_long']} examples longer than 720 tokens." in lines
    assert counts["steps"] == len(record["log"]) == -(-round(counts["packs"] * 1.5) // 2)
    assert [line["step"] for line in record["log"]] == list(range(1, counts["steps"] + 1))
    assert {"loss", "grad_norm", "lr", "step"} == record["log"][0].keys()
    assert record["versions"].keys() == {"bowstring", "torch", "transformers", "peft", "accelerate"}
    assert f"{counts['examples']} examples, {counts['steps']} steps" in out
    card = (tmp_path / "a" / "README.md").read_text()
    assert f"bowstring eval hicupid --model hf/{folder}+THIS-FOLDER" in card
    assert json.loads((tmp_path / "a" / "adapter_config.json").read_text())["base_model_name_or_path"] == str(folder)


def test_json_is_the_record(train, tmp_path):
    code, out, _ = train("dpo", "--json")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "a" / "training.json").read_text())
    assert json.loads(out)["configuration"]["beta"] == 0.1


def test_cupid_is_trained_on_by_the_same_command(train):
    for method in ("sft", "dpo"):
        code, out, lines = train(method, "--data", "mini/cupid", "--split", "test", "--limit", "1", "--fresh")
        assert code == 0, lines
        assert "Note: the training data includes test, so these splits cannot be used to test the result." in lines
        assert "next: bowstring eval" in out


@pytest.mark.parametrize("method", ["sft", "dpo"])
@pytest.mark.parametrize(("data", "split"), [("mini/hicupid", "test_1"), ("mini/cupid", "test"), ("made", "test")])
def test_a_test_set_is_only_trained_on_by_name(method, data, split, train, tmp_path):
    if data == "made":
        data = tmp_path / data
        write_cupid(load_cupid("mini").instances, data)
    code, out, lines = train(method, "--data", data)
    assert (code, out) == (2, "")
    assert lines == [f"{data} has no train split; to train on another split, give --split {split}"]
    assert not (tmp_path / "a").exists()
    code, _, lines = train(method, "--data", data, "--split", split, "--limit", "2")
    assert code == 0, lines


def test_only_what_is_to_be_trained_on_is_taken_of_a_cupid_set_too(train, tmp_path):
    known = tmp_path / "set"
    instances = load_cupid("mini").instances
    write_cupid(instances[:3], known)
    (known / "test.parquet").rename(known / "train.parquet")
    write_cupid(instances[3:], known)
    code, _, lines = train("sft", "--data", known, "--limit", "100")
    assert code == 0, lines
    assert json.loads((tmp_path / "a" / "training.json").read_text())["counts"]["examples"] == 3
    assert not any("cannot test" in line for line in lines)


@pytest.mark.parametrize("method", ["sft", "dpo"])
def test_there_is_no_training_without_data(method, tmp_path, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["train", method, "--out", str(tmp_path / "a")])
    assert ended.value.code == 2
    assert "Missing option '--data'" in capsys.readouterr().err


@pytest.mark.parametrize("method", ["sft", "dpo", "judge", "matcher"])
def test_every_option_has_a_sentence_of_help(method):
    options = typer.main.get_command(app).commands[method].params
    assert len(options) > 20
    assert all(option.help.partition("  [")[0].endswith((".", ")", "…")) for option in options)


def test_out_is_never_what_the_training_starts_from(train, folder):
    code, _, lines = train("sft", "--out", folder, "--fresh")
    assert code == 2
    assert "is the model that the training starts from" in lines[-1]
    assert (folder / "model.safetensors").is_file()


def test_fresh_replaces_nothing_before_the_new_training_can_begin(train, tmp_path):
    assert train()[0] == 0
    code, _, _ = train("sft", "--fresh", "--max-length", "5")
    assert code == 2
    assert (tmp_path / "a" / "adapter_model.safetensors").is_file()


def test_the_same_training_by_another_spelling_is_the_same(train, folder, users, tmp_path):
    assert train()[0] == 0
    _, _, lines = train("sft", "--model", f"hf/{folder}", "--data", f"{users}/.")
    assert lines[-1] == f"{tmp_path / 'a'} is already trained; use --fresh to train it again."


@pytest.mark.parametrize("words", [("--lr", "nan"), ("--epochs", "inf"), ("--seed", "-1")])
def test_numbers_that_are_none_are_refused(words, train):
    code, _, lines = train("sft", *words)
    assert code == 2
    assert lines[-1].startswith(words[0])


def test_an_adapter_to_go_on_from_brings_its_own_rank(train, tmp_path):
    assert train()[0] == 0
    code, _, lines = train("sft", "--init-from", tmp_path / "a", "--out", tmp_path / "b")
    assert code == 2
    assert "--rank and --alpha are fixed by the adapter" in lines[-1]


def test_a_loss_that_is_no_number_ends_the_training(train, tmp_path):
    code, out, lines = train("sft", "--lr", "1e12", "--grad-norm", "1e30", "--epochs", "30")
    assert code == 1
    assert "do not use this adapter" in out
    assert "next:" not in out
    assert any(line.startswith("Collapse at step") and "SFT first" not in line for line in lines)
    assert json.loads((tmp_path / "a" / "training.json").read_text())["status"] == "collapsed"


def test_damaged_weights_are_said_in_one_line(train, folder, tmp_path):
    shutil.copytree(folder, tmp_path / "m")
    whole = (tmp_path / "m" / "model.safetensors").read_bytes()
    (tmp_path / "m" / "model.safetensors").write_bytes(whole[: len(whole) // 2])
    code, _, lines = train("sft", "--model", tmp_path / "m")
    assert code == 2
    assert "the model cannot be loaded" in lines[-1]
