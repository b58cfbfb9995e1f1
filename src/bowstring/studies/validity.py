"""The validity section of a run: checks that need no model, and its last audit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bowstring.errors import DataError
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.runs.codec import problem_with_schema
from bowstring.runs.folder import AUDIT_NAME, file_checksum


def with_audit(metrics: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """The metrics of a run with its last audit, if there is one; `outdated` if the run has changed since."""
    path = folder / AUDIT_NAME
    if not path.is_file():
        return dict(metrics)
    try:
        audit = parse_strict_json(path.read_bytes())
        if not {"findings", "skipped", "judge", "records", "notes", "failed", "unparsed"} <= audit.keys():
            raise ParseError("not an audit")
        if problem := problem_with_schema(audit):
            raise DataError(f"{path} {problem}")
        if not all(isinstance(one, dict) and "meaning" in one for one in audit["findings"]):
            raise ParseError("an audit by an earlier version")
    except (OSError, ParseError, AttributeError, TypeError) as error:
        raise DataError(f"{path} cannot be read; audit the run again (responses are in the store)") from error
    same = audit["records"] == file_checksum(folder / "records.jsonl")
    seen = metrics.get("validity", {}) | ({"audit": audit} if same else {"outdated": True})
    controls = audit.get("controls") if same and audit["judge"] == metrics.get("config", {}).get("judge") else None
    beside = {"controls": controls} if controls and not metrics.get("controls") else {}
    return {**metrics, **beside, "validity": seen}
