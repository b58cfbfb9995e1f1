"""Token counts, with the name of the tokenizer used.

counter = embedded_counter()
counter.count(["How do you do?"])    # [5]
counter.name                         # 'SmolLM2-135M (embedded)'
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from bowstring.errors import DataError, FetchError
from bowstring.files.redaction import error_line
from bowstring.models import gguf, weights

_BATCH = 4096  # texts encoded at once: keeps all cores busy with little memory


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A tokenizer with the name reported next to its counts."""

    name: str
    _tokenizer: Any

    def count(self, texts: Iterable[str]) -> list[int]:
        """Return the tokens per text, without special tokens."""
        counts: list[int] = []
        remaining = iter(texts)
        while batch := list(islice(remaining, _BATCH)):
            encoded = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts += [len(e) for e in encoded]
        return counts


def embedded_counter(tell: Callable[[str], None] = lambda line: None) -> TokenCounter:
    """Return a counter with the embedded model's tokenizer, used when a model's own is not available."""
    return TokenCounter("SmolLM2-135M (embedded)", gguf_tokenizer(weights.fetch(tell)))


def named_counter(name: str, tell: Callable[[str], None] = lambda line: None) -> TokenCounter:
    """Return a counter for `embedded`, a tokenizer.json or its folder, or a model's hub id."""
    from tokenizers import Tokenizer

    if name == "embedded":
        return embedded_counter(tell)
    path = Path(name).expanduser()
    if path.is_dir():
        path = path / "tokenizer.json"
    if not path.is_file():
        path = _from_hub(name)
    try:
        return TokenCounter(name, Tokenizer.from_file(str(path)))
    except Exception as error:  # the library raises bare Exception
        raise DataError(f"{path}: cannot be read as a tokenizer.json: {error}") from error


def counter_or_none(name: str, tell: Callable[[str], None]) -> TokenCounter | None:
    """Return None for the name `none`, or, with a log line, if the embedded tokenizer cannot be downloaded."""
    if name == "none":
        return None
    try:
        return named_counter(name, tell)
    except FetchError as error:
        if name != "embedded":
            raise
        tell(f"Tokens are not counted: {error}")
        return None


def _from_hub(name: str) -> Path:
    import logging

    from huggingface_hub import hf_hub_download
    from huggingface_hub.errors import EntryNotFoundError, HfHubHTTPError, HFValidationError

    logging.getLogger("huggingface_hub").setLevel(logging.CRITICAL)
    try:
        return Path(hf_hub_download(name, "tokenizer.json"))
    except HFValidationError as error:
        raise DataError(f"{name}: tokenizer not found; expected embedded, a tokenizer.json or a hub id") from error
    except (EntryNotFoundError, HfHubHTTPError, OSError) as error:  # OSError: offline and not in the cache
        reason = error_line(error)
        raise FetchError(f"the tokenizer of {name} could not be downloaded: {reason}") from error


def gguf_tokenizer(path: Path) -> Any:
    """Build the tokenizer of a SmolLM GGUF file."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    header = gguf.read_header(path)
    tokens, kinds = header["tokenizer.ggml.tokens"], header["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in header["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    # llama.cpp's 'smollm' pre-tokenizer: single digits, then GPT-2's word pattern.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = 3
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == control]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return tokenizer
