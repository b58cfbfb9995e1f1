from pathlib import Path

import pytest

from bowstring.synthesis.offline import write_hicupid
from bowstring.synthesis.users import Sizes
from tests.support.tiny import write_model


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model."""
    return write_model(tmp_path_factory.mktemp("models") / "tiny")


@pytest.fixture(scope="session")
def users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of six users with short histories; five of them have questions to train on, 15 in all."""
    path = tmp_path_factory.mktemp("sets") / "users"
    write_hicupid(Sizes(users=6, dimensions=2, turns=1, schedules=1, profile_questions=1, share=2), 0, path)
    return path
