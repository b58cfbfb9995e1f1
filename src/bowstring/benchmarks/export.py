"""Writing a data set, or a part of it, into a folder, with a dataset card that names its configs and splits."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bowstring.benchmarks import registry
from bowstring.benchmarks.cards import card_of, known_origin
from bowstring.benchmarks.loading import load
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.errors import UsageError
from bowstring.files.writing import write_file
from bowstring.synthesis.finishing import CARD


def export(
    data: DataSet,
    folder: Path,
    *,
    splits: Sequence[str] = (),
    users: int | None = None,
    as_json: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Write in the published layout, with a card, and return the paths. `users` keeps that many users."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; expected a folder to write into")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise UsageError(f"{folder} is not empty; choose another folder, or --overwrite")
    if as_json and not data.has_json_layout:
        raise UsageError(f"--format json: {data.benchmark} data sets are written as parquet")
    _clear(folder)
    paths = data.write(folder, splits=splits, first=users, as_json=as_json)
    return [*paths, _write_card(data, folder)]


def _write_card(data: DataSet, folder: Path) -> Path:
    """Write the card of what was written: without it, `datasets` does not know the configs of a folder."""
    written = load(str(folder), data.benchmark, configs="every")
    card = folder / CARD
    write_file(card, card_of(written, _origin(data.name), None, None, title=folder.resolve().name))
    return card


def _origin(name: str) -> Origin:
    try:
        return known_origin(name)
    except UsageError:
        # The name may be a path on this disk, which does not belong into a card.
        return Origin("unknown", "Exported with Bowstring from a set whose origin was not given.")


def _clear(folder: Path) -> None:
    """Remove the data files of a set that is being overwritten: what is new must not mix with what was there."""
    formats = [b.format for b in registry.by_layout()]
    paths = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
    while (parts := next((p for form in formats if (p := form.find_parts(paths)) is not None), None)) is not None:
        for path in [p for part in parts.values() for files in part.values() for p in files]:
            (folder / path).unlink()
            paths.remove(path)
