"""What a shell connects the command to: pipes that close, disks that are full, terminals of any encoding."""

import json
import subprocess
import sys

import pytest

from tests.support.command import PROGRAM, bowstring_process


def test_help_reads_like_a_manual_and_costs_next_to_nothing():
    ran = bowstring_process("--help")
    assert ran.code == 0
    for section in ("USAGE", "COMMANDS", "EXAMPLES", "ENVIRONMENT", "EXIT STATUS"):
        assert f"\n{section}\n" in ran.out
    code = "import sys\ntry:\n  import bowstring.cli as c; c.main(['--help'])\nexcept SystemExit: pass\n"
    code += "print(len([m for m in ('typer', 'rich', 'numpy', 'pyarrow', 'pydantic', 'torch') if m in sys.modules]))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert loaded.endswith("\n0\n")


@pytest.mark.parametrize(
    "arguments", ["--help", "data show mini 3", "data validate mini", "data card mini/cupid", "data info mini --json"]
)
@pytest.mark.parametrize("buffering", ["0", "1"])
def test_a_reader_that_stops_early_is_no_error(arguments, buffering):
    prefix = "PYTHONUNBUFFERED=1 " if buffering == "1" else ""
    command = f"{prefix}{PROGRAM} {arguments} | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0"
    assert done.stderr == ""


def test_a_disk_that_is_full_is_one_line():
    command = f"{PROGRAM} data info mini --json > /dev/full"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "bowstring: No space left on device\n"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_of_any_encoding_shows_what_it_can(encoding, hicupid_folder):
    odd = hicupid_folder.rename(hicupid_folder.with_name("söt \x1b[31m"))
    env = {"PYTHONIOENCODING": encoding}
    shown = bowstring_process("data", "show", odd, "2", env=env)
    assert shown.code == 0, shown.err
    about = bowstring_process("data", "info", odd, "--json", env=env)
    assert json.loads(about.out)["name"] == str(odd)
    table = bowstring_process("data", "info", odd, env=env)
    assert table.code == 0
    assert "\x1b" not in table.out
