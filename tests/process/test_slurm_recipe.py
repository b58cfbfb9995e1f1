"""The Slurm scripts, run by hand: what sbatch would set is set here."""

import os
import subprocess
from pathlib import Path

import pytest

from tests.support.command import PROGRAM, bowstring
from tests.support.server import Server

RECIPE = Path(__file__).parents[2] / "recipes" / "slurm"


def script(name: str, folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    given = os.environ | {"PATH": path, "EVAL": "eval.args", "COLUMNS": "100"} | variables
    run = ["bash", RECIPE / name]
    return subprocess.run(run, cwd=folder, env=given, capture_output=True, text=True, timeout=300, check=False)


@pytest.mark.parametrize("name", ["eval.sh", "merge.sh"])
def test_the_scripts_are_valid_shell(name):
    assert subprocess.run(["bash", "-n", RECIPE / name], check=False).returncode == 0
    before_commands = (RECIPE / name).read_text().split("set -euo")[0].splitlines()
    assert all(line.startswith("#") for line in filter(None, before_commands)), "sbatch reads no option after a command"


def test_an_array_of_two_and_the_merge_after_it(tmp_path):
    with Server() as server:
        arguments = (
            f"# a comment\nhicupid\n\n--model={server.model('m')}\n--judge={server.model('judge')}\n--limit=40\n"
        )
        (tmp_path / "eval.args").write_text(arguments)
        first = script("eval.sh", tmp_path, SLURM_ARRAY_TASK_ID="1", SHARDS="2")
        assert first.returncode == 0, first.stderr
        early = script("merge.sh", tmp_path)
        assert early.returncode == 1
        assert "with --shard 2/2 in place of --no-ask" in early.stderr
        second = script("eval.sh", tmp_path, SLURM_ARRAY_TASK_ID="2", SHARDS="2")
        assert second.returncode == 0, second.stderr
        asked = len(server.requests)
        merged = script("merge.sh", tmp_path)
        assert merged.returncode == 0, merged.stderr
        assert len(server.requests) == asked == 80
        words = arguments.split("\n")[1:]
        whole = bowstring("eval", *filter(None, words), "--out", tmp_path / "whole", cwd=tmp_path)
        assert whole.code == 0, whole.err
    (run,) = [path for path in (tmp_path / "runs").glob("*/records.jsonl") if "-shard-" not in path.parent.name]
    assert run.read_bytes() == (tmp_path / "whole" / "records.jsonl").read_bytes()


@pytest.mark.parametrize("missing", ["EVAL", "SHARDS"])
def test_a_job_without_its_variables_says_which(missing, tmp_path):
    given = {"EVAL": "eval.args", "SHARDS": "2", "SLURM_ARRAY_TASK_ID": "1"} | {missing: ""}
    ran = script("eval.sh", tmp_path, **given)
    assert ran.returncode != 0
    assert missing in ran.stderr
