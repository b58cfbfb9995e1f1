"""Model files: a folder, what the hub has under an id, fetched into its cache, or `embedded`, unpacked into ours."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bowstring.errors import FetchError, UsageError
from bowstring.files.redaction import redact
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json

_NOT_NEEDED = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "onnx/*", "openvino/*", "original/*", "consolidated*"]
TRAINING = "training.json"  # in an adapter's folder: what it was trained on
_ADAPTER, _ADAPTER_WEIGHTS = "adapter_config.json", ("adapter_model.safetensors", "adapter_model.bin")
_SAMPLED, _SAMPLES = 1 << 20, 64  # bytes, and places in a weight file, that its fingerprint covers


@dataclass(frozen=True, slots=True)
class ModelFiles:
    folder: Path
    adapter: Path | None

    @property
    def fingerprint(self) -> str:
        return "+".join(_fingerprint(folder) for folder in (self.folder, self.adapter) if folder)

    @property
    def trained_prompts(self) -> dict[str, str]:
        """The prompts that an adapter of ours was trained on, with their hashes; none of another's adapter."""
        try:
            found = _training(self.adapter)["configuration"]["prompts"] if self.adapter else {}
            return {str(name): str(words) for name, words in found.items()}
        except (KeyError, TypeError, AttributeError):  # a file of another's that has the same name
            return {}


def model_files(kind: str, reference: str, tell: Callable[[str], None]) -> ModelFiles:
    """The files of `KIND/ID-or-folder[+ADAPTER]`."""
    weights, _, adapter = reference.partition("+")
    beside = adapter_folder(adapter, tell) if adapter else None  # first: it is the smaller one
    return ModelFiles(model_folder(weights, f"{kind}/{weights}", tell), beside)


def adapter_folder(name: str, tell: Callable[[str], None]) -> Path:
    """Where an adapter's files are, all of them: what PEFT does not find in a folder, it seeks on the hub by the
    folder's name."""
    if "/" not in name and not Path(name).expanduser().exists():
        raise UsageError(f"the adapter {name}: no such folder; expected one, or a hub id (OWNER/NAME)")
    folder = model_folder(name, f"the adapter {name}", tell)
    training = _training(folder)
    if training.get("status") == "running" and "fingerprint" in training:
        raise UsageError(f"{name} has not finished training; run its command again")
    if not (folder / _ADAPTER).is_file():
        raise UsageError(f"{name} holds no adapter ({_ADAPTER})")
    if not any((folder / weights).is_file() for weights in _ADAPTER_WEIGHTS):
        raise UsageError(f"{name} holds no weights of an adapter ({' or '.join(_ADAPTER_WEIGHTS)})")
    return folder


def _training(folder: Path) -> dict[str, Any]:
    """What is written of an adapter's training; nothing where it is not one of ours."""
    try:
        found = parse_strict_json((folder / TRAINING).read_bytes())
    except (OSError, ParseError):
        return {}
    return found if isinstance(found, dict) else {}


def model_folder(name: str, said_as: str, tell: Callable[[str], None]) -> Path:
    """Where a model's files are; `said_as` is how the user named it, for errors."""
    if name == "embedded":
        from bowstring.models.unpacked import unpacked_folder

        return unpacked_folder(tell)
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.exists():
        raise UsageError(f"{said_as} is a file; expected a folder, or a hub id")
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, HFValidationError, RepositoryNotFoundError

    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    tell(f"Fetching {name}, where it is not here yet …")
    try:
        return Path(snapshot_download(name, ignore_patterns=_NOT_NEEDED))
    except HFValidationError as error:
        raise UsageError(f"{said_as}: no such folder, and no hub id; expected one of them") from error
    except Exception as error:  # whatever the network does, it is one line here
        if isinstance(error, RepositoryNotFoundError) and not isinstance(error, GatedRepoError):
            raise UsageError(f"{said_as}: no such folder here, and nothing to be seen on the hub") from error
        reason = redact((str(error).strip() or type(error).__name__).splitlines()[0])[:200]
        raise FetchError(f"{said_as}: no such folder here, and it could not be fetched: {reason}") from error


def _fingerprint(folder: Path) -> str:
    """A hash of configuration and vocabulary, and of the sizes and samples of the weight files: gigabytes are not
    read, megabytes are."""
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
