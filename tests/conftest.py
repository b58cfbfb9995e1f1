import os
import shutil
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from bowstring.benchmarks.export import export
from bowstring.benchmarks.loading import load_cupid, load_hicupid
from tests.support.sets import write_hicupid

# A shell starts what it runs in the background with Ctrl-C ignored, and processes of tests would inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers share the cores, and threads of PyTorch that wait for each other use up what the others need.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# No test is about time: a machine may be slow, or busy.
settings.register_profile("bowstring", deadline=None)
settings.load_profile("bowstring")


@pytest.fixture
def hicupid_folder(tmp_path: Path) -> Path:
    """The mini HiCUPID set in the published layout; tests may damage it."""
    export(load_hicupid("mini"), tmp_path / "hicupid")
    return tmp_path / "hicupid"


@pytest.fixture
def cupid_folder(tmp_path: Path) -> Path:
    """The mini CUPID set as one JSON file per instance."""
    export(load_cupid("mini"), tmp_path / "cupid", as_json=True)
    return tmp_path / "cupid"


@pytest.fixture(scope="module")
def thirty_users(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A HiCUPID set of 30 users, as many as an interval needs to be trusted."""
    return write_hicupid(tmp_path_factory.mktemp("thirty") / "set", users=30)


@pytest.fixture(scope="module")
def browser():
    """Chromium, if it is installed. Not session-scoped: while it is open, an event loop runs in this thread."""
    from playwright.sync_api import sync_playwright

    installed = shutil.which("chromium") or shutil.which("google-chrome")
    if installed is None:
        pytest.skip("needs Chromium (apt install chromium)")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=installed)
        yield chromium
        chromium.close()
