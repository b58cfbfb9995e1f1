import pytest
from playwright.sync_api import sync_playwright

from tests.support.viewer import make_runs

CHROMIUM = "/usr/bin/chromium"


@pytest.fixture(scope="module")
def browser():
    """Not for the session: as long as it is open, an event loop runs in this thread."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory):
    """Runs to look at; a test that changes them makes a copy."""
    folder = tmp_path_factory.mktemp("made") / "runs"
    make_runs(folder)
    return folder
