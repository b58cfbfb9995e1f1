"""Writing a data set, or a part of it, in the published layout."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from bowstring.benchmarks.cupid import data as cupid
from bowstring.benchmarks.hicupid import data as hicupid
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.datasets.layout import find_parts
from bowstring.datasets.loading import DataSet
from bowstring.errors import UsageError


def export(
    data: DataSet,
    folder: Path,
    *,
    splits: Sequence[str] = (),
    users: int | None = None,
    as_json: bool = False,
    overwrite: bool = False,
) -> list[Path]:
    """Write into `folder`, and return the paths. `users` keeps the first so many users or personas."""
    if folder.exists() and not folder.is_dir():
        raise UsageError(f"{folder} is a file; expected a folder to write into")
    if folder.is_dir() and any(folder.iterdir()) and not overwrite:
        raise UsageError(f"{folder} is not empty; choose another folder, or --overwrite")
    if isinstance(data, HicupidSet) and as_json:
        raise UsageError("HiCUPID's layout is parquet; --format json is for CUPID")
    _clear(folder)
    if isinstance(data, HicupidSet):
        return hicupid.write(data, folder, splits=splits, users=users)
    kept = set(data.persona_ids[:users])
    instances = [i for i in data.instances if i.persona_id in kept]
    return cupid.write_json(instances, folder) if as_json else cupid.write_parquet(instances, folder)


def _clear(folder: Path) -> None:
    """Remove the data files of a set that is being overwritten: what is new must not mix with what was there."""
    paths = [p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()]
    while (found := find_parts(paths)) is not None:
        for path in [p for part in found[1].values() for files in part.values() for p in files]:
            (folder / path).unlink()
            paths.remove(path)
