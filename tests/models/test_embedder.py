"""Embedding models: pooled as their authors do, with embeddings that do not depend on the batch."""

import json
import sys

import numpy as np
import pytest

from bowstring.errors import DataError, UsageError
from bowstring.models.embedder import Embedder
from tests.support.embedding import write_contriever


@pytest.fixture(scope="module")
def contriever(tmp_path_factory):
    return write_contriever(tmp_path_factory.mktemp("contriever"))


def test_a_plain_folder_is_pooled_by_the_mean_of_its_tokens(contriever):
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(contriever), AutoModel.from_pretrained(contriever)
    with torch.no_grad():
        hidden = model(**tokenizer("we ate plums", return_tensors="pt")).last_hidden_state
    expected = hidden[0].mean(dim=0).numpy()
    (found,) = Embedder(str(contriever)).embed(["we ate plums"], queries=False)
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_an_embedding_does_not_depend_on_its_batch(contriever):
    embedder = Embedder(str(contriever))
    texts = ["tea", "we ate plums and drive the old bus and the boat and the hill", "rain rain"]
    together = embedder.embed(texts, queries=True)
    alone = np.concatenate([embedder.embed([text], queries=True) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)


def test_the_identity_covers_the_weights(contriever, tmp_path):
    import shutil

    copy = tmp_path / "m"
    shutil.copytree(contriever, copy)
    same = Embedder(str(copy)).identity.split("#")[1]
    assert same == Embedder(str(contriever)).identity.split("#")[1]
    weights = copy / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    assert Embedder(str(copy)).identity.split("#")[1] != same


def test_a_model_that_wants_cosine_gets_it(contriever, tmp_path):
    from sentence_transformers import SentenceTransformer

    folder = tmp_path / "st"
    SentenceTransformer(str(contriever), similarity_fn_name="cosine").save(str(folder))
    config = json.loads((folder / "config_sentence_transformers.json").read_text())
    assert config["similarity_fn_name"] == "cosine"
    found = Embedder(str(folder)).embed(["tea", "we ate plums"], queries=False)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1.0, atol=1e-5)


def test_a_folder_that_is_no_model_is_named(tmp_path):
    with pytest.raises(DataError, match="expected an embedding model"):
        Embedder(str(tmp_path))
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(DataError, match="cannot be loaded as an embedding model"):
        Embedder(str(tmp_path)).embed(["x"], queries=False)


def test_what_is_not_installed_is_named_with_the_way_to_it(contriever, monkeypatch):
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(UsageError, match=r"pip install 'bowstring\[dense\]'"):
        Embedder(str(contriever)).embed(["x"], queries=False)
