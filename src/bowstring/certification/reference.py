"""The authors' program: run in a process and a Python environment of its own. Nothing of it is imported here."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from bowstring.errors import RunError, UsageError

_KEPT = ("PATH", "LD_LIBRARY_PATH", "SYSTEMROOT", "TMPDIR", "TEMP")
_SHORT = 10  # characters of a commit
_CAUSED = "The above exception was the direct cause of the following exception:"
# find_spec raises for a name with a dot if its parent is missing.
_FIND = """
import importlib.util, sys

def is_missing(name):
    try:
        return importlib.util.find_spec(name) is None
    except ModuleNotFoundError:
        return True

print(*filter(is_missing, sys.argv[1:]))
"""


def commit_of(checkout: Path) -> str:
    """Return the commit that a checkout is at, or nothing if it does not say. Changes since then are not looked for."""
    git = checkout / ".git"
    try:
        head = (git / "HEAD").read_text(encoding="utf-8").strip()
        name = head.removeprefix("ref: ")
        if name == head:
            return head[:_SHORT]
        if (git / name).is_file():
            return (git / name).read_text(encoding="utf-8").strip()[:_SHORT]
        packed = (git / "packed-refs").read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    return next((line.split()[0][:_SHORT] for line in packed if line.endswith(f" {name}")), "")


@dataclass(frozen=True, slots=True)
class Finished:
    code: int
    output: str  # of both streams

    @property
    def reason(self) -> str:
        """The last line, which is that of the exception in a traceback, and the exception that caused it."""
        lines = [line.strip() for line in self.output.splitlines() if line.strip()]
        if not lines:
            return f"exit code {self.code}"
        causes = [before for before, line in pairwise(lines) if line == _CAUSED]
        return "; caused by ".join(line[:200] for line in (lines[-1], *causes[-1:]))


@dataclass(frozen=True, slots=True)
class Reference:
    python: Path
    checkout: Path
    address: str  # of the scripted server
    folder: Path  # its working directory; it may write there
    timeout: float = 1800

    def check(self, packages: Sequence[str]) -> None:
        """Raise a UsageError unless the environment has what the program imports."""
        if not self.python.is_file():
            raise UsageError(f"--python {self.python}: no such file; expected the Python of the authors' environment")
        found = self._run(("-c", _FIND, *packages), {})
        if found.code:
            raise UsageError(f"--python {self.python} does not run: {found.reason}")
        if missing := found.output.split():
            raise UsageError(
                f"{self.python} lacks {', '.join(missing)}; install the requirements of {self.checkout} there"
            )

    def run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
        return self._run(arguments, environment or {})

    def must_run(self, *arguments: str, environment: Mapping[str, str] | None = None) -> Finished:
        """Run it; raise a RunError if it fails."""
        finished = self.run(*arguments, environment=environment)
        if finished.code:
            raise RunError(f"the reference code failed ({' '.join(arguments[:3])}): {finished.reason}")
        return finished

    def _run(self, arguments: Sequence[str], more: Mapping[str, str]) -> Finished:
        self.folder.mkdir(parents=True, exist_ok=True)
        # No key of the user reaches it, and it leaves nothing in the checkout.
        environment = {name: os.environ[name] for name in _KEPT if name in os.environ} | {
            "HOME": str(self.folder),
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": str(self.checkout),
            "PYTHONDONTWRITEBYTECODE": "1",
            "OPENAI_API_KEY": "scripted",
            "OPENAI_BASE_URL": self.address,
            "HF_TOKEN": "none",
            "HF_HOME": str(self.folder / "hf"),
            "HF_HUB_OFFLINE": "1",
            "NO_PROXY": "*",
            **more,
        }
        try:
            ended = subprocess.run(  # noqa: S603 - the program that the user named
                [str(self.python), *arguments],
                cwd=self.folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=self.timeout,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return Finished(-1, f"not finished after {self.timeout:.0f} s")
        except OSError as error:
            return Finished(-1, str(error))
        return Finished(ended.returncode, ended.stdout.decode("utf-8", "replace"))
