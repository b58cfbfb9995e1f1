"""Writes a curated data set in the published layout, with all decisions.

curation.jsonl   one line per item: decision, curator, time, comment and changes
made.json        source of the set and how it was made, the curators, and the number of items before and after
README.md        the dataset card
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bowstring import __version__
from bowstring.benchmarks.cards import card_of, known_origin
from bowstring.benchmarks.loading import load
from bowstring.datasets.card import Origin
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.personal import search_data_set
from bowstring.errors import DataError, UsageError
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.files.strict_json import parse_strict_json
from bowstring.files.writing import replace_folder
from bowstring.models.tokens import counter_or_none
from bowstring.web.annotating.curation import curation_of
from bowstring.web.annotating.study import Assignment, Study

DECISIONS, MADE, CARD = "curation.jsonl", "made.json", "README.md"


@dataclass(frozen=True, slots=True)
class CurationResult:
    folder: Path
    counts: Mapping[str, int]  # accept, edit, reject, open, undealt


def write_curated(study: Study, out: Path, *, license: str | None = None) -> CurationResult:
    """Write the accepted items with their edits, and all decisions. Undecided items are left out."""
    about = study.about["data"]
    data = load(about["name"], splits=about["splits"])
    if data.fingerprint != about["fingerprint"]:
        raise UsageError(f"{about['name']} has changed since curation started; restore it, or start a new curation")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty; choose another --write")
    decided = {given.unit.key: given for given in study.assignments()}
    read = set(_keys(data))
    source = load(about["name"]) if about["splits"] else data
    lines = [_decision(decided[key]) if key in decided else _undealt(key, key in read) for key in _keys(source)]
    counts = Counter(line["decision"] for line in lines)
    if not counts["accept"] + counts["edit"]:
        raise UsageError(f"{study.path} has no accepted items to write")
    origin = _origin(about["name"], license, counts, len(study.about["settings"]["annotators"]))
    with replace_folder(out) as draft:
        curation_of(data).write(data, dict(_edits(decided)), draft)
        _write_beside(draft, study, lines, counts, origin)
    return CurationResult(out, {name: counts[name] for name in ("accept", "edit", "reject", "open", "undealt")})


def _keys(data: DataSet) -> list[str]:
    return [item.key for item in data.items()]


def _decision(given: Assignment) -> dict[str, Any]:
    line: dict[str, Any] = {"item": given.unit.key, "decision": "open", "curator": given.annotator}
    if given.annotation is None:
        return line
    said = given.annotation.response
    before = dict(given.unit.fields)
    return line | {
        "decision": said.choices[0],
        "at": datetime.fromtimestamp(given.annotation.at, UTC).isoformat(timespec="seconds"),
        "seconds": round(given.annotation.seconds, 2),
        "comment": said.comment,
        "changed": {name: {"from": before[name], "to": text} for name, text in said.edits.items()},
    }


def _undealt(key: str, read: bool) -> dict[str, Any]:
    return {"item": key, "decision": "undealt", "why": "beyond --limit" if read else "not in the --split that was read"}


def _edits(decided: Mapping[str, Assignment]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The accepted items, each with its edited texts."""
    for key, given in decided.items():
        if given.annotation is not None and given.annotation.response.choices[0] != "reject":
            yield key, given.annotation.response.edits


def _origin(name: str, license: str | None, counts: Mapping[str, int], curators: int) -> Origin:
    """The origin from the card of the set, extended by the curation."""
    card = Path(name) / CARD
    text = card.read_text(encoding="utf-8", errors="replace") if card.is_file() else ""
    header = re.match(r"---\n(.*?)\n---\n", text, re.DOTALL)
    try:
        found = parse_safe_yaml(header[1]) if header else {}
    except ParseError:
        found = {}
    section = re.search(r"^## How it was made\n\n(.*?)(?=\n## |\Z)", text, re.DOTALL | re.MULTILINE)
    if section and isinstance(found, dict) and (license or found.get("license")):
        origin = Origin(license or str(found["license"]), section[1].strip())
    elif license:
        origin = Origin(license, "How it was made is unknown.")
    else:
        try:
            origin = known_origin(name)
        except UsageError as error:
            raise UsageError(f"the license of {name} is unknown; give it with --license") from error
    people = f"{curators} {'person' if curators == 1 else 'people'}"
    said = (
        f"Curated by {people} with Bowstring: {counts['accept']:,} items accepted unchanged, {counts['edit']:,} "
        f"edited, {counts['reject']:,} rejected, {counts['open']:,} undecided (left out), "
        f"{counts['undealt']:,} not reviewed (left out). {DECISIONS} has all decisions."
    )
    return Origin(origin.license, f"{origin.made}\n\n{said}")


def _read_made(path: Path) -> Any:
    try:
        return parse_strict_json(path.read_bytes())
    except ParseError as error:
        raise DataError(f"{path}: {error}; fix it, or remove it from the set") from error


def _write_beside(
    folder: Path, study: Study, lines: Sequence[Mapping[str, Any]], counts: Mapping[str, int], origin: Origin
) -> None:
    """Write decisions, provenance and card. The set is loaded, so a bad set is found now."""
    data = load(str(folder))
    source, settings = study.about["data"], study.about["settings"]
    before = Path(source["name"]) / MADE
    made = {
        "bowstring": __version__,
        "source": source | ({"made": _read_made(before)} if before.is_file() else {}),
        "curators": settings["annotators"],
        "limit": settings["limit"],
        "seed": settings["seed"],
        "items": {"before": len(lines), "after": counts["accept"] + counts["edit"]},
        "curated": dict(counts),
        "decisions": hashlib.sha256("".join(map(json.dumps, lines)).encode()).hexdigest(),
    }
    counter = counter_or_none("embedded", lambda line: None)
    card = card_of(data, origin, list(search_data_set(data)), counter, title=f"{Path(source['name']).name}, curated")
    texts = {
        DECISIONS: "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines),
        MADE: json.dumps(made, indent=2, ensure_ascii=False) + "\n",
        CARD: card,
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", errors="replace")
