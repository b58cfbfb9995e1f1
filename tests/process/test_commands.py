"""Every command once as it is installed: it starts, does its work without a warning, and ends."""

import os
import re
import signal
import subprocess
import sys

import httpx
import pytest

import bowstring as package
from bowstring.cli import COMMANDS
from tests.certification import CHECKOUTS, RECORDINGS
from tests.support.command import bowstring_process
from tests.support.processes import LIMIT, start
from tests.support.tiny import write_model
from tests.support.training import as_options

CONSTANTS = "INFERENCE_PROMPTS = {'zero/system': [{'role': 'system', 'content': 'Answer like a pirate.'}]}\n"
WORDS = {
    "eval": "eval hicupid --model python:json:dumps --limit 2 --out new",
    "synth": "synth hicupid --offline --users 6 --dimensions 2 --turns 2 --schedules 1 --profile-questions 1 --out set",
    "report": "report runs/a",
    "compare": "compare runs/a runs/b",
    "agree": "agree runs/a --metrics",
    "audit": "audit runs/a",
    "data": "data info mini",
    "prompts": "prompts import hicupid constants.py",
    "models": "models",
    "store": "store list",
    "certify": f"certify cupid {CHECKOUTS / 'cupid'} --replay {RECORDINGS / 'cupid.json'}",
}
SERVED = {"view": "view runs", "annotate": "annotate runs/a --annotators anna --port 0"}


def short(messages):
    return "Try plums instead."


def long(messages):
    return "Try plums instead, or anything else that grows near the river."


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two runs, and the file that prompts are imported from."""
    folder = tmp_path_factory.mktemp("commands")
    for name, model in (("a", short), ("b", long)):
        package.evaluate("hicupid", model=model, out=folder / "runs" / name, limit=20)
    (folder / "constants.py").write_text(CONSTANTS)
    return folder


def test_none_is_forgotten():
    assert {*WORDS, *SERVED, "train", "demo"} == COMMANDS.keys()


@pytest.mark.parametrize("command", WORDS)
def test_it_runs(command, folder):
    ran = bowstring_process(*WORDS[command].split(), cwd=folder)
    assert ran.code == 0, ran.err
    assert ran.out
    assert "Warning" not in ran.err


def test_train_runs(tmp_path):
    sizes = {"users": 6, "dimensions": 2, "turns": 1, "schedules": 1, "profile_questions": 1, "share": 2}
    package.synthesize("hicupid", offline=True, out=tmp_path / "users", **sizes)
    words = ("train", "sft", "--model", write_model(tmp_path / "m"), "--data", tmp_path / "users")
    ran = bowstring_process(*words, "--out", tmp_path / "a", *as_options(limit=2))
    assert ran.code == 0, ran.err
    assert (tmp_path / "a" / "adapter_model.safetensors").is_file()


@pytest.mark.parametrize("command", SERVED)
def test_it_serves_until_ctrl_c(command, folder):
    process = start(*SERVED[command].split(), cwd=folder)
    said = ""
    while not (link := re.search(r"http://\S+?/\S*\?token=\S+", said)):
        line = process.stdout.readline()
        assert line, process.stderr.read()
        said += line
    with httpx.Client(follow_redirects=True, timeout=LIMIT) as client:
        assert client.get(link[0]).status_code == 200
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=LIMIT)
    assert process.returncode == 130


@pytest.mark.parametrize("module", ["difflib", "typer"])  # imported before, and after, the command line has begun
def test_ctrl_c_while_modules_are_imported_ends_it_without_a_traceback(module, tmp_path):
    (tmp_path / f"{module}.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(86400)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "bowstring", "models"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])},
    )
    assert process.stdout.readline() == "importing\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=LIMIT)
    assert process.returncode == 130
    assert err == ("stopped\n" if module == "typer" else "")


@pytest.mark.slow
def test_the_demo_runs(tmp_path):
    ran = bowstring_process("demo", "--out", tmp_path / "runs")
    assert ran.code == 0, ran.err
    assert "HiCUPID, small." in ran.out
    assert "\nCUPID, small." in ran.out
    assert len(list((tmp_path / "runs").glob("*/run.json"))) >= 2
