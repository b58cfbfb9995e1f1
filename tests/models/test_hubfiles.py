"""Model files: which names are paths, and which may be hub ids."""

import huggingface_hub
import pytest

from bowstring.errors import UsageError
from bowstring.models.hubfiles import model_folder


@pytest.fixture
def asked(tmp_path, monkeypatch) -> list[str]:
    """The hub ids that are asked for."""
    found = []
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models" / "qwen3-8b").mkdir(parents=True)
    (tmp_path / "models" / "qwen3-9b").write_text("a file")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda name, **_: found.append(name) or str(tmp_path))
    return found


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("models/qwen3-8", "; did you mean models/qwen3-8b?"),
        ("./models/qwen3_8b", "; did you mean models/qwen3-8b?"),
        ("models/llama", ""),
        ("./modles/qwen3-8b", ""),
        ("modles/of/mine", ""),
        ("/no/such/folder", ""),
        ("~/no-such-folder", ""),
        ("../no-such-folder", ""),
    ],
)
def test_a_path_with_a_typing_error_is_not_taken_for_a_hub_id(name, hint, asked):
    with pytest.raises(UsageError) as error:
        model_folder(name, f"hf/{name}", lambda line: None)
    assert str(error.value) == f"hf/{name}: no such folder{hint}"
    assert asked == []


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "gpt2"])
def test_what_may_be_a_hub_id_is_asked_for(name, asked):
    model_folder(name, f"hf/{name}", lambda line: None)
    assert asked == [name]


def test_a_folder_is_used_and_a_file_is_refused(asked):
    assert model_folder("models/qwen3-8b", "hf/models/qwen3-8b", lambda line: None).name == "qwen3-8b"
    with pytest.raises(UsageError, match="is a file; expected a folder or a hub id"):
        model_folder("models/qwen3-9b", "hf/models/qwen3-9b", lambda line: None)
    assert asked == []
