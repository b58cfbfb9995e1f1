"""Model files: a folder, what the hub has under an id, fetched into its cache, or `embedded`, unpacked into ours."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from bowstring.errors import FetchError, UsageError

_NOT_NEEDED = ["*.onnx", "*.h5", "*.msgpack", "*.ot", "*.gguf", "onnx/*", "openvino/*", "original/*", "consolidated*"]


def model_folder(name: str, said_as: str, tell: Callable[[str], None]) -> Path:
    """Where a model's files are; `said_as` is how the user named it, for errors."""
    if name == "embedded":
        from bowstring.models.unpacked import unpacked_folder

        return unpacked_folder(tell)
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError

    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    tell(f"Fetching {name}, where it is not here yet …")
    try:
        return Path(snapshot_download(name, ignore_patterns=_NOT_NEEDED))
    except HFValidationError as error:
        raise UsageError(f"{said_as}: no such folder, and no hub id; expected one of them") from error
    except Exception as error:  # whatever the network does, it is one line here
        reason = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise FetchError(f"{said_as} could not be fetched: {reason}") from error
