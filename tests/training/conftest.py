from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.support.sets import write_hicupid
from tests.support.tiny import write_model


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> Iterator[None]:
    """Tiny models are faster on one, and their sums come in the same order in every process."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "1")
        yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model."""
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of six users with short histories; most of them have questions to train on."""
    path = tmp_path_factory.mktemp("sets") / "users"
    return write_hicupid(path, users=6, dimensions=2, turns=1, schedules=1, profile_questions=1, share=2)
