"""Files beside a synthetic set: its card, the quality report, and its configuration."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from bowstring import __version__
from bowstring.errors import UsageError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import write_file
from bowstring.runs.folder import acquire_lock
from bowstring.synthesis.quality import Quality

QUALITY, MADE, CARD = "quality.json", "made.json", "README.md"


def check_out(folder: Path, configuration: Mapping[str, Any]) -> None:
    """Raise an error if the folder contains something else."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is not a folder; choose another --out")
    path = folder / MADE
    if path.is_file():
        try:
            found = parse_strict_json(path.read_bytes())["config"]
        except (ParseError, KeyError, TypeError):
            found = None
        if found != json.loads(json.dumps(configuration)):
            raise UsageError(f"{folder} contains a set with a different configuration; choose another --out")
    elif folder.is_dir() and any(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".draft"):
        raise UsageError(f"{folder} is not empty; choose another --out")


class Made(NamedTuple):
    """How a set came about, as the file beside it says."""

    kind: Literal["synthetic", "curated"]
    how: str  # "made by …"


def made_of(folders: Iterable[Path]) -> Made | None:
    """How the set in one of these folders was made; None if it was not made by Bowstring, as far as its files say."""
    for folder in folders:
        try:
            found = parse_strict_json((folder / MADE).read_bytes())
            if "curators" in found:
                return Made("curated", f"made from {found['source']['name']} by curation")
            config = found["config"]
            model = config["models"]["model"] if "models" in config else config["model"]
        except (OSError, ParseError, KeyError, TypeError):
            continue  # no such file, or one of another tool
        by = "offline, without a model" if model == "offline" else f"with {model}"
        return Made("synthetic", f"made by bowstring synth, {by}")
    return None


@contextmanager
def lock_folder(folder: Path) -> Iterator[None]:
    """Let one process at a time make a set. The lock is beside the folder, which exists only once the set does."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    in_use = f"{folder} is in use: {{by}} is making this set; wait for it, or choose another --out"
    with acquire_lock(folder.with_name(f".{folder.name}.lock"), in_use):
        yield


def mark_started(folder: Path, configuration: Mapping[str, Any]) -> None:
    """Write the configuration before anything else, so that a killed command can be resumed."""
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / MADE, json.dumps({"bowstring": __version__, "unfinished": True, "config": dict(configuration)}))


def finish(folder: Path, configuration: Mapping[str, Any], quality: Quality, card: str) -> None:
    """Write report, card and configuration, after the set itself."""
    texts = {
        QUALITY: json.dumps(quality.as_json(), indent=2, ensure_ascii=False) + "\n",
        CARD: card,
        MADE: json.dumps({"bowstring": __version__, "config": dict(configuration)}, indent=2) + "\n",
    }
    for name, text in texts.items():
        write_file(folder / name, text)
