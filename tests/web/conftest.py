import pytest

from tests.support.viewer import make_runs


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory):
    """Runs to look at; a test that changes them makes a copy."""
    folder = tmp_path_factory.mktemp("made") / "runs"
    make_runs(folder)
    return folder
