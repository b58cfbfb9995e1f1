"""Small data sets, made offline."""

from pathlib import Path
from typing import Any

from bowstring.api.calls import synthesize
from bowstring.benchmarks.hicupid.synthesis import HicupidSynthesisSettings
from bowstring.benchmarks.hicupid.users import Sizes


def sizes(**given: Any) -> Sizes:
    return HicupidSynthesisSettings(**given).sizes


def write_hicupid(folder: Path, *, seed: int = 0, **given: Any) -> Path:
    return synthesize("hicupid", offline=True, seed=seed, out=folder, **given).folder


def write_cupid(folder: Path, *, personas: int, train_personas: int = 0, seed: int = 0) -> Path:
    sizes_of = {"personas": personas, "train_personas": train_personas}
    return synthesize("cupid", offline=True, seed=seed, out=folder, **sizes_of).folder
