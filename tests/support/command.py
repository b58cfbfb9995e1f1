"""The installed `bowstring` command, run as a user runs it: another process, its own environment."""

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def bowstring(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    done = subprocess.run(
        [Path(sys.executable).with_name("bowstring"), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=os.environ | {"COLUMNS": "100", "PYTHONWARNINGS": "error"} | (env or {}),
        cwd=cwd,
        timeout=300,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)
