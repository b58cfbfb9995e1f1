"""How many tokens a text has, and by whose vocabulary.

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
from bowstring.files.redaction import redact
from bowstring.models import gguf, weights

_BATCH = 4096  # texts encoded at once: enough for every core, little memory


@dataclass(frozen=True, slots=True)
class TokenCounter:
    """A vocabulary with the name that goes beside every count made with it."""

    name: str
    _tokenizer: Any

    def count(self, texts: Iterable[str]) -> list[int]:
        """Tokens of each text, without special ones."""
        counts: list[int] = []
        remaining = iter(texts)
        while batch := list(islice(remaining, _BATCH)):
            encoded = self._tokenizer.encode_batch_fast(batch, add_special_tokens=False)
            counts += [len(e) for e in encoded]
        return counts


def embedded_counter(tell: Callable[[str], None] = lambda line: None) -> TokenCounter:
    """The embedded model's vocabulary, which counts where a model's own is not to be had."""
    return TokenCounter("SmolLM2-135M (embedded)", gguf_tokenizer(weights.fetch(tell)))


def named_counter(name: str, tell: Callable[[str], None] = lambda line: None) -> TokenCounter:
    """`embedded`, a tokenizer.json or the folder that holds one, or the hub id of a model."""
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
    except Exception as error:  # the library raises bare Exceptions
        raise DataError(f"{path}: not a tokenizer.json that can be read: {error}") from error


def counter_or_none(name: str, tell: Callable[[str], None]) -> TokenCounter | None:
    """None for the name `none`, or where the embedded vocabulary cannot be fetched: that is told, not fatal."""
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
        raise DataError(f"{name}: no such tokenizer; expected embedded, a tokenizer.json or a hub id") from error
    except (EntryNotFoundError, HfHubHTTPError, OSError) as error:  # OSError: and the cache has none
        reason = redact((str(error).strip() or type(error).__name__).splitlines()[0])[:200]
        raise FetchError(f"the tokenizer of {name} could not be fetched: {reason}") from error


def gguf_tokenizer(path: Path) -> Any:
    """The vocabulary in a GGUF file of SmolLM's make."""
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    header = gguf.read_header(path)
    tokens, kinds = header["tokenizer.ggml.tokens"], header["tokenizer.ggml.token_type"]
    merges = [tuple(merge.split(" ", 1)) for merge in header["tokenizer.ggml.merges"]]
    tokenizer = Tokenizer(models.BPE({token: i for i, token in enumerate(tokens)}, merges))
    # What llama.cpp calls 'smollm': single digits, then GPT-2's words.
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = 3
    special = [token for token, kind in zip(tokens, kinds, strict=True) if kind == control]
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in special])
    return tokenizer
