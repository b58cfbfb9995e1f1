"""Embedding models for dense search: any sentence-transformers model, by hub id or folder.

A folder without sentence-transformers' configuration (for example contriever) is used as its authors do: mean pooling
over tokens, compared by dot product. Inputs are padded on the right: with absolute positions, left padding would make
an embedding depend on its neighbours in the batch.
"""

from __future__ import annotations

import hashlib
import logging
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from bowstring.errors import DataError, UsageError
from bowstring.files.redaction import error_line
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.models.hubfiles import model_folder

Vectors = npt.NDArray[np.float32]
_WEIGHTS = ("*.safetensors", "pytorch_model*.bin", "*.json")
_BATCH = 32


class Embedder:
    """An embedding model. `identity` covers its weights, which are loaded on first use."""

    def __init__(self, name: str, tell: Callable[[str], None] = lambda line: None) -> None:
        self.name = name
        self._folder = _folder(name, tell)
        self.identity = f"{name}#{_fingerprint(self._folder)}"
        self._plain = not (self._folder / "modules.json").is_file()
        self._normalized = not self._plain and _similarity(self._folder) == "cosine"
        self._tell = tell
        self._loading = threading.Lock()
        self._model: Any = None

    def embed(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        """Return one row per text; rows of queries and of searched texts compare by dot product."""
        model = self._loaded()
        encode = model.encode_query if queries else model.encode_document
        found: Vectors = encode(
            list(texts), batch_size=_BATCH, show_progress_bar=False, normalize_embeddings=self._normalized
        )
        return np.ascontiguousarray(found, dtype=np.float32)

    def _loaded(self) -> Any:
        with self._loading:
            if self._model is None:
                self._tell(f"Loading {self.name} …")
                self._model = self._load()
        return self._model

    def _load(self) -> Any:
        sentence_transformers = _library()
        logging.getLogger("sentence_transformers").setLevel(
            logging.ERROR
        )  # silences the expected note about mean pooling
        try:
            model = sentence_transformers.SentenceTransformer(str(self._folder), local_files_only=True)
        except Exception as error:  # the library raises many kinds of errors
            reason = error_line(error)
            raise DataError(f"--retriever {self.name}: cannot be loaded as an embedding model: {reason}") from error
        if self._plain:
            model.tokenizer.padding_side = "right"
        return model


def _library() -> Any:
    try:
        import sentence_transformers
    except ImportError as error:
        raise UsageError("dense search needs sentence-transformers: pip install 'bowstring[dense]'") from error
    return sentence_transformers


def _folder(name: str, tell: Callable[[str], None]) -> Path:
    if not Path(name).expanduser().is_dir():
        _library()  # fail before downloading gigabytes
    folder = model_folder(name, f"--retriever {name}", tell)
    if not (folder / "config.json").is_file() and not (folder / "modules.json").is_file():
        raise DataError(f"--retriever {name}: has no config.json or modules.json; expected an embedding model")
    return folder


def _fingerprint(folder: Path) -> str:
    """Return a hash of everything that determines an embedding: weights, configuration, vocabulary."""
    digest = hashlib.sha256()
    for path in sorted({p for pattern in _WEIGHTS for p in folder.rglob(pattern)} | set(folder.glob("vocab.txt"))):
        digest.update(str(path.relative_to(folder)).encode())
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    return digest.hexdigest()[:16]


def _similarity(folder: Path) -> str | None:
    path = folder / "config_sentence_transformers.json"
    try:
        found = parse_strict_json(path.read_bytes()) if path.is_file() else {}
    except ParseError:
        return None
    return found.get("similarity_fn_name") if isinstance(found, dict) else None
