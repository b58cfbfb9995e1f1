"""The audit of a data set: run it, write it beside the set, and tell runs on the set what it found.

    found = audit_data(load("path/to/set"))
    write_audit(found, Path("path/to/set/audit.json"))

The file has no path and no time in it: the same set gives the same bytes. It has a hash of every file of the set, so a
run that reads only some splits can tell whether the audit is of its set.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from bowstring import __version__
from bowstring.benchmarks import registry
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.sources import digests_of, fingerprint_of, folder_of, paths_of
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import save_file
from bowstring.runs.codec import SCHEMA, problem_with_schema
from bowstring.runs.folder import AUDIT_NAME, file_checksum

SEVERE_FIRST = ("problem", "unclear", "fine", "info")
_AGAIN = "audit the set again (bowstring data audit)"


def audit_data(data: DataSet, tell: Callable[[str], None] = lambda line: None) -> dict[str, Any]:
    """Audit a set, as `bowstring data audit` does; the most severe findings come first."""
    audit = registry.get(data.benchmark).data_audit()
    found = [one.as_json() for one in audit.findings(data, tell)]
    folder = folder_of(data.name, data.parts)
    items = data.items()
    return {
        "schema": SCHEMA,
        "version": __version__,
        "benchmark": data.benchmark,
        "fingerprint": data.fingerprint,
        "files": digests_of(folder, data.parts) if folder else {},
        "beside": {path.name: file_checksum(path) for path in audit.files_beside(data)},
        "users": len({audit.user_of(data, item) for item in items}),
        "items": len(items),
        "findings": [_rounded(one) for one in sorted(found, key=lambda one: SEVERE_FIRST.index(one["verdict"]))],
    }


def _rounded(finding: Mapping[str, Any]) -> dict[str, Any]:
    """Six decimals: the last digits of a sum may differ between machines."""
    return {name: round(value, 6) if isinstance(value, float) else value for name, value in finding.items()}


def write_audit(audit: Mapping[str, Any], path: Path) -> None:
    save_file(path, json.dumps(audit, indent=2, ensure_ascii=False) + "\n")


def leaks_of(data: DataSet) -> list[str]:
    """The leaks of a set that an audit beside it has found, for the notes of a run: one short line per check, with its
    worst finding."""
    folder = folder_of(data.name, data.parts)
    path = folder / AUDIT_NAME if folder else None
    if folder is None or path is None or not path.is_file():
        return []
    try:
        audit = parse_strict_json(path.read_bytes())
        if not {"fingerprint", "files", "beside", "findings"} <= audit.keys() or problem_with_schema(audit):
            raise ParseError("not an audit of a data set")
        if not _is_of(audit, data, folder):
            return [f"the data set has changed since its audit: {_AGAIN}"]
        by_check: dict[str, list[Mapping[str, Any]]] = {}
        for one in audit["findings"]:
            if one["verdict"] == "problem" and one["leak"]:
                by_check.setdefault(str(one["check"]), []).append(one)
        return [_in_one_line(found) for found in by_check.values()]
    except (ParseError, OSError, AttributeError, TypeError, KeyError, ValueError):
        return [f"the audit beside the data set cannot be read: {_AGAIN}"]


def _in_one_line(found: Sequence[Mapping[str, Any]]) -> str:
    worst = max(found, key=lambda one: float(one["value"]) - float(one["chance"] or 0))
    more = f"; and {len(found) - 1} more of this kind" if len(found) > 1 else ""
    return f"data audit: {str(worst['leak'])[:200]}{more}"


def _is_of(audit: Mapping[str, Any], data: DataSet, folder: Path) -> bool:
    """Whether an audit is of this set, of which some splits may be left out, and of the same files beside it."""
    files = audit["files"]
    used = {path: str(files[path]) for path in paths_of(data.parts) if path in files}
    same = audit["fingerprint"] == data.fingerprint or fingerprint_of(used) == data.fingerprint
    return same and all(
        (folder / Path(name).name).is_file() and file_checksum(folder / Path(name).name) == checksum
        for name, checksum in audit["beside"].items()
    )
