"""Model files: a local folder, a hub id (downloaded into the hub cache), or `embedded` (unpacked into our cache)."""

from __future__ import annotations

import difflib
import hashlib
import logging
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bowstring.errors import FetchError, UsageError
from bowstring.files.redaction import error_line
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json

_NOT_NEEDED = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "onnx/*", "openvino/*", "original/*", "consolidated*"]
TRAINING = "training.json"  # in an adapter's folder: its training record
_ADAPTER, _ADAPTER_WEIGHTS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")
_SAMPLED, _SAMPLES = 1 << 20, 64  # bytes per sample, and samples per weight file, in the fingerprint


@dataclass(frozen=True, slots=True)
class ModelFiles:
    folder: Path
    adapter: Path | None
    label: str = ""  # for people: the hub id, or the folder's name wherever it is

    @property
    def fingerprint(self) -> str:
        return "+".join(_fingerprint(folder) for folder in (self.folder, self.adapter) if folder)

    @property
    def trained_prompts(self) -> dict[str, str]:
        """Return the prompts that an adapter was trained on, with their hashes; empty if Bowstring did not train it."""
        try:
            found = _training(self.adapter)["configuration"]["prompts"] if self.adapter else {}
            return {str(name): str(words) for name, words in found.items()}
        except (KeyError, TypeError, AttributeError):  # an unrelated file of the same name
            return {}


def stored_precision(weights: str, stored: Collection[str]) -> str | None:
    """Return the precision in which these weights gave the stored responses, if all were given in the same one: it is
    that of the machine that was asked, not of this one. `stored` has identities of models."""
    found = {one.removeprefix(f"{weights},") for one in stored if one.startswith(f"{weights},")}
    return found.pop() if len(found) == 1 else None


def model_files(kind: str, reference: str, tell: Callable[[str], None]) -> ModelFiles:
    """Return the files of `KIND/ID-or-folder[+ADAPTER]`."""
    weights, _, adapter = reference.partition("+")
    beside = adapter_folder(adapter, tell) if adapter else None  # first: it is the smaller download
    label = "+".join(_label(part) for part in (weights, adapter) if part)
    return ModelFiles(model_folder(weights, f"{kind}/{weights}", tell), beside, label)


def _label(name: str) -> str:
    path = Path(name).expanduser()
    return path.resolve().name if path.is_dir() else name


def adapter_folder(name: str, tell: Callable[[str], None]) -> Path:
    """Return an adapter's folder after checking that it is complete: PEFT looks up missing files on the hub under the
    folder's name."""
    if "/" not in name and not Path(name).expanduser().exists():
        hint = _near_folder(Path(name).expanduser())
        raise UsageError(f"the adapter {name}: no such folder; expected a folder or a hub id (OWNER/NAME){hint}")
    folder = model_folder(name, f"the adapter {name}", tell)
    training = _training(folder)
    if training.get("status") == "running" and "fingerprint" in training:
        raise UsageError(f"{name} has not finished training; run its training command again")
    if not (folder / _ADAPTER).is_file():
        raise UsageError(f"{name} is not an adapter: it has no {_ADAPTER}")
    if not any((folder / weights).is_file() for weights in _ADAPTER_WEIGHTS):
        raise UsageError(f"{name} has no adapter weights ({' or '.join(_ADAPTER_WEIGHTS)})")
    return folder


def _training(folder: Path) -> dict[str, Any]:
    """Return an adapter's training record; empty if Bowstring did not train it."""
    try:
        found = parse_strict_json((folder / TRAINING).read_bytes())
    except (OSError, ParseError):
        return {}
    return found if isinstance(found, dict) else {}


def model_folder(name: str, label: str, tell: Callable[[str], None]) -> Path:
    """Return the folder of a model's files; `label` is the user's name for it in errors."""
    if name == "embedded":
        from bowstring.models.unpacked import unpacked_folder

        return unpacked_folder(tell)
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise UsageError(f"{label} is a file; expected a folder or a hub id")
    if _is_path(name, path):
        raise UsageError(f"{label}: no such folder{_near_folder(path)}")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    tell(f"Fetching {name} (unless cached) …")
    try:
        return Path(snapshot_download(name, ignore_patterns=_NOT_NEEDED))
    except HFValidationError as error:
        raise UsageError(f"{label}: neither an existing folder nor a valid hub id{_near_folder(path)}") from error
    except Exception as error:  # network libraries raise many kinds of errors
        if isinstance(error, RepositoryNotFoundError) and not isinstance(error, GatedRepoError):
            missing = "no such folder, and no accessible model of that id on the hub"
            raise UsageError(f"{label}: {missing}{_near_folder(path)}") from error
        reason = error_line(error)
        raise FetchError(f"{label}: no such folder, and the download failed: {reason}{_near_folder(path)}") from error


def _is_path(name: str, path: Path) -> bool:
    """Return whether a name can only be meant as a path, not as a hub id: it looks like one, or the folder before its
    last part is there."""
    looks_like_one = name.startswith((".", "/", "~", "\\")) or name.count("/") > 1
    return looks_like_one or (path.parent != Path() and path.parent.is_dir())


def _near_folder(path: Path) -> str:
    """Return the end of an error about a folder that is not there: the folder beside it with the nearest name."""
    try:
        around = [one.name for one in path.parent.iterdir() if one.is_dir()]
    except OSError:
        return ""
    close = difflib.get_close_matches(path.name, around, n=1)
    return f"; did you mean {path.parent / close[0]}?" if close else ""


def _fingerprint(folder: Path) -> str:
    """Return a hash of configuration and vocabulary, and of the sizes and samples of the weight files: reads megabytes,
    not gigabytes."""
    digest = hashlib.sha256()
    for path in sorted(
        p for p in folder.iterdir() if p.suffix in (".json", ".safetensors", ".bin", ".jinja", ".model")
    ):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            places = range(0, size, max(_SAMPLED, size // _SAMPLES))
            for place in (*places, max(0, size - _SAMPLED)):
                file.seek(place)
                digest.update(file.read(_SAMPLED))
    return digest.hexdigest()[:12]
