import pytest

import bowstring
from tests.support.annotating import hostile, inferring, terse, whimsical
from tests.support.viewer import make_runs


@pytest.fixture(scope="session")
def made_runs(tmp_path_factory):
    """Runs to look at; a test that changes them makes a copy."""
    folder = tmp_path_factory.mktemp("made") / "runs"
    make_runs(folder)
    return folder


@pytest.fixture(scope="session")
def asked(tmp_path_factory):
    """Runs of models whose answers are known; tests keep their studies elsewhere."""
    folder = tmp_path_factory.mktemp("runs")
    made = {}
    for name, benchmark, model in (
        ("secret-alpha", "hicupid", whimsical),
        ("secret-beta", "hicupid", terse),
        ("secret-gamma", "hicupid", hostile),
        ("secret-delta", "cupid", inferring),
    ):
        run = bowstring.evaluate(benchmark, model=model, judge="builtin", out=folder / name)
        made[name] = run.folder
    return made
