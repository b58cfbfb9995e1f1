"""Token counts match those of the embedded model itself."""

import json
import urllib.request

import pytest

from bowstring.benchmarks.loading import load_cupid, load_hicupid
from bowstring.errors import DataError, FetchError
from bowstring.models import gguf, weights
from bowstring.models.tokens import embedded_counter, named_counter

ODD = [
    "",
    " ",
    "1234567890 apples at 3.14",
    "naïve café — “quoted” … 日本語 한국어 नमस्ते",
    "def f(x):\n\treturn x  # two  spaces\n\n\n",
    "<|im_start|>user\nhi<|im_end|>",
    "I'm, you're, WE'LL, don't",
    "👩‍👩‍👧 \u202e",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
]


@pytest.fixture(scope="module")
def llama_count():
    """llama.cpp's own tokenizer, from the same weights."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights.fetch())
    params.n_ctx = 256
    params.warmup = False
    params.verbosity = -1
    server = xllamacpp.Server(params)

    def count(text: str) -> int:
        body = json.dumps({"content": text, "add_special": False, "parse_special": True}).encode()
        request = urllib.request.Request(f"{server.listening_address}/tokenize", body)
        with urllib.request.urlopen(request) as answer:
            return len(json.load(answer)["tokens"])

    return count


def test_counts_are_llama_cpps_own(llama_count):
    history = [m.text for d in load_hicupid("mini").history(2) for m in d.messages]
    log = [m.text for d in load_cupid("mini").instances[4].history for m in d.messages]
    texts = ODD + history + log
    assert embedded_counter().count(texts) == [llama_count(text) for text in texts]


def test_a_models_own_tokenizer_is_used_by_folder_or_file(tmp_path):
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = Tokenizer(models.WordLevel({"[UNK]": 0}, unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    for name in (str(tmp_path), str(tmp_path / "tokenizer.json")):
        counter = named_counter(name)
        assert counter.count(["one two three", ""]) == [3, 0]
        assert counter.name == name


def test_a_file_that_is_no_tokenizer_is_named(tmp_path):
    (tmp_path / "tokenizer.json").write_text(json.dumps({"a": 1}))
    with pytest.raises(DataError, match=r"tokenizer\.json: cannot be read as a tokenizer\.json"):
        named_counter(str(tmp_path))
    with pytest.raises(DataError, match="tokenizer not found"):
        named_counter("no such//thing")


def test_the_weights_header_says_what_they_are():
    header = gguf.read_header(weights.fetch())
    assert header["general.architecture"] == "llama"
    assert header["llama.context_length"] == 8192
    assert len(header["tokenizer.ggml.tokens"]) == 49152


@pytest.mark.parametrize("length", [0, 3, 24, 200, 100_000])
def test_weights_cut_short_say_so(tmp_path, length):
    path = tmp_path / "short.gguf"
    with weights.fetch().open("rb") as whole:
        path.write_bytes(whole.read(length))
    with pytest.raises(FetchError, match=r"short\.gguf"):
        gguf.read_header(path)
