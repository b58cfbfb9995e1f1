"""The data set that people left when they had curated one: in the published layout, with every decision beside it.

curation.jsonl   an item a line: the decision, whose it was, when, why, and what was changed
made.json        where the set comes from, how that was made, who curated it, and how many items it had before and after
README.md        the card
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
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
from bowstring.models.tokens import counter_or_none
from bowstring.web.annotating.curation import curation_of
from bowstring.web.annotating.study import Given, Study

DECISIONS, MADE, CARD = "curation.jsonl", "made.json", "README.md"


@dataclass(frozen=True, slots=True)
class Curated:
    folder: Path
    counts: Mapping[str, int]  # accept, edit, reject, open, undealt


def write_curated(study: Study, out: Path, *, license: str | None = None) -> Curated:
    """Write what was accepted, as it is now, with every decision. What nobody has decided on is left out."""
    about = study.about["data"]
    data = load(about["name"], splits=about["splits"])
    if data.fingerprint != about["fingerprint"]:
        raise UsageError(f"{about['name']} is not what it was when curating began; bring it back, or begin anew")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise UsageError(f"{out} is not empty; choose another --write")
    decided = {given.unit.key: given for given in study.everything()}
    read = set(_keys(data))
    source = load(about["name"]) if about["splits"] else data
    lines = [_decision(decided[key]) if key in decided else _undealt(key, key in read) for key in _keys(source)]
    counts = Counter(line["decision"] for line in lines)
    if not counts["accept"] + counts["edit"]:
        raise UsageError(f"nothing is accepted in {study.path}, so there is nothing to write")
    origin = _origin(about["name"], license, counts, len(study.about["settings"]["annotators"]))
    draft = out.with_name(f".{out.name}.draft")
    shutil.rmtree(draft, ignore_errors=True)
    curation_of(data).write(data, dict(_edits(decided)), draft)
    _write_beside(draft, study, lines, counts, origin)
    if out.exists():
        out.rmdir()
    draft.rename(out)
    return Curated(out, {name: counts[name] for name in ("accept", "edit", "reject", "open", "undealt")})


def _keys(data: DataSet) -> list[str]:
    return [item.key for item in data.items()]


def _decision(given: Given) -> dict[str, Any]:
    line: dict[str, Any] = {"item": given.unit.key, "decision": "open", "curator": given.annotator}
    if given.annotation is None:
        return line
    said = given.annotation.said
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


def _edits(decided: Mapping[str, Given]) -> Iterator[tuple[str, Mapping[str, str]]]:
    """The items that were not rejected, each with its new texts."""
    for key, given in decided.items():
        if given.annotation is not None and given.annotation.said.choices[0] != "reject":
            yield key, given.annotation.said.edits


def _origin(name: str, license: str | None, counts: Mapping[str, int], curators: int) -> Origin:
    """What the set's own card says of it, and what happened since."""
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
        origin = Origin(license, "How it was made is not known.")
    else:
        try:
            origin = known_origin(name)
        except UsageError as error:
            raise UsageError(f"the licence of {name} is not known here: say it with --license") from error
    people = f"{curators} {'person' if curators == 1 else 'people'}"
    said = (
        f"Curated by {people} with Bowstring: {counts['accept']:,} items accepted as they were, {counts['edit']:,} "
        f"mended, {counts['reject']:,} rejected, {counts['open']:,} left undecided and out, "
        f"{counts['undealt']:,} not looked at and out. {DECISIONS} has every decision."
    )
    return Origin(origin.license, f"{origin.made}\n\n{said}")


def _read_made(path: Path) -> Any:
    try:
        return parse_strict_json(path.read_bytes())
    except ParseError as error:
        raise DataError(f"{path}: {error}; mend it, or move it out of the set") from error


def _write_beside(
    folder: Path, study: Study, lines: Sequence[Mapping[str, Any]], counts: Mapping[str, int], origin: Origin
) -> None:
    """Decisions, provenance and card; the set is loaded, so that a bad one is found now."""
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
