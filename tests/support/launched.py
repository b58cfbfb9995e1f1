"""Several commands on the processes of one `accelerate launch`: starting them takes longer than training tiny models.

    ran = launch("ddp.yaml", tmp_path, {"sft": ["train", "sft", …], "dpo": ["train", "dpo", …]})
    assert ran["sft"].code == 0, ran["sft"].err

What a command wrote is that of all processes together, and its code is the worst of theirs.
"""

import io
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from tests.support.command import Ran

ROOT = Path(__file__).parents[2]
PROCESSES = 2


def launch(
    recipe: str, folder: Path, commands: Mapping[str, Sequence[object]], *, sharded: bool = False
) -> dict[str, Ran]:
    """With our own configuration of accelerate; `sharded` splits models although there is only a CPU."""
    (folder / "commands.json").write_text(json.dumps({name: [*map(str, words)] for name, words in commands.items()}))
    started = ("accelerate.commands.launch", "--config_file", ROOT / "recipes" / "accelerate" / recipe)
    module = ("-m", "tests.support.launched", folder, *(["sharded"] if sharded else []))
    words = (*started, "--num_processes", PROCESSES, "--main_process_port", 0, *module)
    done = subprocess.run(
        [sys.executable, "-m", *map(str, words)], cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name: _together(folder, name) for name in commands}


def _together(folder: Path, name: str) -> Ran:
    parts = [json.loads((folder / f"{name}.{rank}.json").read_text()) for rank in range(PROCESSES)]
    return Ran(max(p["code"] for p in parts), "".join(p["out"] for p in parts), "".join(p["err"] for p in parts))


def _run_all(folder: Path) -> None:
    from accelerate.state import AcceleratorState

    from bowstring.cli import main

    for name, words in json.loads((folder / "commands.json").read_text()).items():
        out, err = io.StringIO(), io.StringIO()
        try:
            with redirect_stdout(out), redirect_stderr(err):
                main(words)
        except SystemExit as ended:
            said = {"code": ended.code, "out": out.getvalue(), "err": err.getvalue()}
            (folder / f"{name}.{os.environ['RANK']}.json").write_text(json.dumps(said))
        AcceleratorState._reset_state()  # a process of its own would have had none; the process group stays


if __name__ == "__main__":
    if "sharded" in sys.argv[2:]:
        from tests.support.sharded import split_on_cpu

        split_on_cpu()
    _run_all(Path(sys.argv[1]))
