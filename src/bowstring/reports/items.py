"""The items of a run, packed for its page: light to list, heavy to read, and a history only once.

The list needs a line an item; answers, verdicts and histories are looked at one by one. So the page has a small index,
the items in chunks, and each history that they share, all compressed; the script opens what is asked for. A page of
20,000 items with the histories of 500 users opens like one of 20.
"""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from bowstring.files.escaping import is_steering, visible

_CHUNK = 250  # items
_TITLE = 160  # characters
_MOST = 400_000_000  # characters of history on one page; beyond, it would not open
_ESCAPED = re.compile(r"\\(?:u00|[rbf])")  # what JSON writes for control characters
_QUICK = 4  # of gzip's levels

Record = Mapping[str, Any]


class Told(NamedTuple):
    """A dialogue of a history: its id, what it is about, who said what."""

    id: int
    about: str
    messages: Sequence[tuple[str, str]]


# A history by the user's or the instance's key; none where the data set is not at hand.
Histories = Callable[[str], Sequence[Told]]


@dataclass(frozen=True, slots=True)
class Item:
    key: str
    title: str
    facets: dict[str, str]  # what it can be filtered by
    numbers: dict[str, float | None]  # what it can be sorted by
    parts: list[tuple[str, str]]  # a label and a text
    history: str
    evidence: list[int]
    retrieved: list[int] = field(default_factory=list)


class Block(NamedTuple):
    """A compressed piece of the page, as text that HTML can hold."""

    id: str
    data: str


def items_of(benchmark: str, records: Iterable[Record]) -> Iterator[Item]:
    return map(_cupid_item if benchmark == "cupid" else _hicupid_item, records)


def blocks(items: Sequence[Item], histories: Histories | None) -> Iterator[Block]:
    """The chunks, the histories that they need, and the index, which says what is where."""
    if not items:
        return
    for start in range(0, len(items), _CHUNK):
        chunk = [[i.parts, i.history, i.evidence, i.retrieved] for i in items[start : start + _CHUNK]]
        yield _block(f"items-{start // _CHUNK}", chunk)
    told: dict[str, str] = {}
    room = _MOST
    for n, key in enumerate(dict.fromkeys(i.history for i in items) if histories else ()):
        history = histories(key) if histories else ()
        room -= sum(len(text) for dialogue in history for _, text in dialogue.messages)
        if room < 0:
            break
        told[key] = f"history-{n}"
        yield _block(told[key], history)
    index = {
        "facets": list(items[0].facets),
        "numbers": list(items[0].numbers),
        "chunk": _CHUNK,
        "items": [[i.key, i.title, list(i.facets.values()), list(i.numbers.values())] for i in items],
        "histories": told,
    }
    yield _block("index", index)


def _block(name: str, content: Any) -> Block:
    text = _as_json(content)
    if is_steering(text) or _ESCAPED.search(text):  # hardly ever, and looking at all of it at once is quick
        text = _as_json(_visible(content))
    return Block(name, b64encode(gzip.compress(text.encode("utf-8", "replace"), _QUICK, mtime=0)).decode("ascii"))


def _as_json(content: Any) -> str:
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def _visible(content: Any) -> Any:
    """Every text in it, with what would reorder it shown by its code."""
    if isinstance(content, str):
        return visible(content)
    if isinstance(content, dict):
        return {visible(key): _visible(value) for key, value in content.items()}
    return [_visible(part) for part in content] if isinstance(content, list | tuple) else content


def _hicupid_item(r: Record) -> Item:
    parts = [("question", r["question"]), ("answer", r.get("answer")), ("personalized", r["personalized_answer"])]
    parts += [("general", r["general_answer"]), (_judge(r), r.get("judgement"))]
    parts += [("sides swapped", r.get("swapped_judgement")), ("what is known", _known(r)), ("failure", _failure(r))]
    return Item(
        key=r["key"],
        title=r["question"][:_TITLE],
        facets={"type": r["type"], "verdict": _verdict(r), "score": _number(r.get("score")), "split": r["split"]}
        | {"ended": _ended(r)},
        numbers={
            "score": r.get("score"),
            "words": len(r["answer"].split()) if "answer" in r else None,
            "rouge_l": r.get("rouge_l"),
            "bleu": r.get("bleu"),
            "recall": r.get("recall"),
        },
        parts=_present(parts),
        history=str(r["user"]),
        evidence=r["evidence"],
        retrieved=r.get("retrieved", []),
    )


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:g}"


def _judge(r: Record) -> str:
    compared = r["type"] != "schedule" and "answer_is" in r
    return f"judge (the answer was {r['answer_is']})" if compared else "judge"


def _verdict(r: Record) -> str:
    if "failure" in r:
        return "failed"
    return r.get("verdict") or ("unparsed" if "judgement" in r else "none")


def _ended(part: Mapping[str, Any]) -> str:
    return "cut at its limit" if part.get("finish") == "length" else "by itself" if "finish" in part else "no answer"


def _known(r: Record) -> str | None:
    """What the data says of the user that the answer should use."""
    said = [
        f"{what}: " + ", ".join(f"{name} {value}" for name, value in r[what].items())
        for what in ("persona", "profile", "schedule")
        if r.get(what)
    ]
    return "\n".join(said) or None


def _failure(part: Mapping[str, Any]) -> str | None:
    found = part.get("failure")
    return f"{found['stage']}: {found['reason']}" if found else None


def _cupid_item(r: Record) -> Item:
    inference, generation = r.get("inference", {}), r.get("generation", {})
    parts = [("request", r["request"]), ("context", r["context_factor"]), ("preference", r["preference"])]
    parts += [("inferred", inference.get("preference") or inference.get("response"))]
    if "precision" in inference:
        parts += [("of what was inferred", _labelled(inference["precision"], inference["checklist"]))]
        parts += [("of the gold checklist", _labelled(inference["recall"], r["checklist"]))]
    else:
        parts += [("gold checklist", "\n".join(r["checklist"]))]
    parts += [("inference", _why(inference)), ("answer", generation.get("response"))]
    parts += [("judge", generation.get("judgement")), ("generation", _why(generation))]
    score = generation.get("score")
    return Item(
        key=r["key"],
        title=r["request"][:_TITLE],
        facets={
            "type": r["type"],
            "inference": _status(inference),
            "score": _rating(generation),
            "ended": _ended(generation),
        },
        numbers={
            "score": score,
            "precision": _mean(inference.get("precision")),
            "recall": _mean(inference.get("recall")),
            "words": len(generation["response"].split()) if "response" in generation else None,
            "distance": r.get("distance"),
        },
        parts=_present(parts),
        history=r["key"],
        evidence=r["evidence"],
    )


_COVERAGE = {1.0: "covered", 0.5: "partly", 0.0: "missing"}


def _labelled(found: Sequence[float], entries: Sequence[str]) -> str:
    return "\n".join(f"{_COVERAGE.get(f, f)}: {entry}" for f, entry in zip(found, entries, strict=True))


def _status(part: Mapping[str, Any]) -> str:
    if not part:
        return "not asked"
    return "failed" if "failure" in part else "unparsed" if "unparsed" in part else "read"


def _rating(part: Mapping[str, Any]) -> str:
    return f"{part['score']:g}" if part.get("score") is not None else _status(part)


def _why(part: Mapping[str, Any]) -> str | None:
    if "unparsed" in part:
        return f"the {part['unparsed']} could not be read{': ' + part['why'] if part.get('why') else ''}"
    return _failure(part)


def _mean(values: Sequence[float] | None) -> float | None:
    return round(sum(values) / len(values), 4) if values else None


def _present(parts: Sequence[tuple[str, str | None]]) -> list[tuple[str, str]]:
    return [(label, text) for label, text in parts if text is not None]


def commonest_failure(records: Iterable[Mapping[str, Any]]) -> tuple[str, int]:
    """The reason that most failed requests have, and how many have it."""
    reasons = Counter(
        part["failure"]["reason"]
        for record in records
        for part in (record, record.get("inference", {}), record.get("generation", {}))
        if "failure" in part
    )
    return reasons.most_common(1)[0] if reasons else ("", 0)
