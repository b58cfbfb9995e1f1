from pathlib import Path

import pytest

from bowstring.datasets import load_cupid, load_hicupid
from bowstring.datasets.export import export


@pytest.fixture
def hicupid_folder(tmp_path: Path) -> Path:
    """The mini HiCUPID set in the published layout, to be damaged by a test."""
    export(load_hicupid("mini"), tmp_path / "hicupid")
    return tmp_path / "hicupid"


@pytest.fixture
def cupid_folder(tmp_path: Path) -> Path:
    """The mini CUPID set as one JSON file an instance."""
    export(load_cupid("mini"), tmp_path / "cupid", as_json=True)
    return tmp_path / "cupid"
