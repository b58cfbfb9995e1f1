"""The bundled CUPID set: four personas, written to be read.

The files name sessions instead of numbering them. The result is the same records, after the same checks, as from the
published files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from bowstring.benchmarks.cupid.data import CupidSet, InstanceRow, to_record
from bowstring.benchmarks.cupid.types import Instance
from bowstring.datasets.bundled import check_splits, read_documents

NAME = "mini/cupid"


def load(splits: Collection[str] = ()) -> CupidSet:
    check_splits(NAME, ["test"], splits)
    documents, fingerprint = read_documents(__package__)
    return CupidSet(NAME, (i for d in documents for i in _instances(d)), fingerprint=fingerprint)


def _instances(document: dict[str, Any]) -> Iterator[Instance]:
    sessions = {
        name: session
        | {"dialogue": [{"role": r, "content": c} for turn in session["dialogue"] for r, c in turn.items()]}
        for name, session in document["sessions"].items()
    }
    for instance_type, names in document["instances"].items():
        prior = [sessions[name] for name in names]
        row = document | {"instance_type": instance_type, "prior_interactions": prior}
        yield to_record(InstanceRow.model_validate(row))
