"""What a program asked and counted in a case, in memory and as JSON. A file has hashes instead of requests, because
the prompts in them belong to others."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from bowstring.certification.server import Answer, Exchange
from bowstring.errors import DataError
from bowstring.files.writing import save_file

SCHEMA = 1


@dataclass(frozen=True, slots=True)
class Results:
    """What a program made of the answers: per item, and for the whole set."""

    items: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what an item has no value for is not in it
    totals: Mapping[str, float] = field(default_factory=dict)
    ended: str = ""  # why the program ended without results


@dataclass(frozen=True, slots=True)
class Transcript:
    answers: Mapping[str, Answer]  # by the hash of the request
    results: Results
    requests: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # the bodies; not in a file

    @classmethod
    def of(cls, exchanges: Mapping[str, Exchange], results: Results) -> Transcript:
        bodies = {key: one.body for key, one in exchanges.items()}
        return cls({key: one.answer for key, one in exchanges.items()}, results, bodies)


def write_transcripts(path: Path, about: Mapping[str, Any], cases: Mapping[str, Transcript]) -> None:
    written = {
        name: {
            "requests": {key: _brief(answer) for key, answer in sorted(one.answers.items())},
            "items": {key: dict(item) for key, item in sorted(one.results.items.items())},
            "totals": dict(one.results.totals),
            "ended": one.results.ended,
        }
        for name, one in cases.items()
    }
    text = json.dumps({"schema": SCHEMA, **about, "cases": written}, indent=1, ensure_ascii=False)
    save_file(path, f"{text}\n")


def _brief(answer: Answer) -> dict[str, Any]:
    usual = asdict(Answer("", None))
    return {key: value for key, value in asdict(answer).items() if value != usual[key] or key == "text"}


def read_transcripts(path: Path) -> tuple[dict[str, Any], dict[str, Transcript]]:
    """Return what is said about a recording, and its cases."""
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        if raw["schema"] != SCHEMA:
            raise DataError(f"{path}: has the schema {raw['schema']}; this version reads {SCHEMA}")
        cases = {name: _read(one) for name, one in raw.pop("cases").items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise DataError(f"{path}: not a recording of bowstring certify: {error}") from error
    return raw, cases


def _read(raw: Mapping[str, Any]) -> Transcript:
    answers = {key: Answer(**one) for key, one in raw["requests"].items()}
    return Transcript(answers, Results(raw["items"], raw["totals"], raw["ended"]))


def replaying(transcript: Transcript, stages: Sequence[str] = ()) -> Mapping[str, Answer]:
    """Return the answers of a transcript by request, all of them or those of some stages."""
    return {key: one for key, one in transcript.answers.items() if not stages or one.stage in stages}
