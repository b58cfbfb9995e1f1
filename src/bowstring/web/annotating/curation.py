"""Curation of a data set: people accept, edit or reject its items; each item goes to one person.

A curation is a study whose units are the items of the set; `curated` writes the resulting set.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

from bowstring.benchmarks import registry
from bowstring.benchmarks.interface import require_part
from bowstring.benchmarks.loading import load
from bowstring.benchmarks.people import CURATE, Curation
from bowstring.datasets.dataset import DataSet
from bowstring.errors import UsageError
from bowstring.settings import checked_call, option
from bowstring.web.annotating.dealing import chosen, deal, units_by_annotator
from bowstring.web.annotating.opening import Annotators, Limit, Seed, Settings, check_same, names_of
from bowstring.web.annotating.study import Study, create, is_created


@checked_call
def open_curation(
    name: str,
    *,
    annotators: Annotators = "1",
    splits: Annotated[
        Sequence[str], option("Use only this split; repeatable.", name="--split", shown_default="all")
    ] = (),
    limit: Limit = None,
    seed: Seed = 0,
    db: Annotated[
        Path | None,
        option("File of the decisions.", metavar="FILE", shown_default="DATA.curation.sqlite next to the set"),
    ] = None,
) -> Study:
    """The curation of this data set: created by the first call, opened by later ones."""
    data = load(name, splits=splits)
    curation = curation_of(data)
    settings = Settings(CURATE.name, names_of(annotators), 0.0, limit, checks=0.0, gold=None, criteria=(), seed=seed)
    about = {
        "settings": asdict(settings),
        "data": {"name": name, "fingerprint": data.fingerprint, "splits": list(splits)},
    }
    path = db or database_of(name)
    if not is_created(path):
        units = chosen(list(curation.units(data)), limit, seed)
        create(path, about, units, deal(units, units_by_annotator(units, settings.annotators, seed), seed))
    study = Study(path)
    try:
        check_same(study, about)
    except UsageError:
        study.close()
        raise
    return study


def database_of(name: str) -> Path:
    """Next to a set on disk; otherwise in the current folder."""
    path = Path(name)
    if path.exists():
        return path.resolve().parent / f"{path.resolve().name}.curation.sqlite"
    return Path(re.sub(r"[^A-Za-z0-9.]+", "-", name) + ".curation.sqlite")


def curation_of(data: DataSet) -> Curation:
    benchmark = registry.get(data.benchmark)
    people = benchmark.people()
    return require_part(benchmark, people.curation() if people is not None else None, "curation of its data sets")
