"""CUPID as published: what the authors' code makes of the texts that models wrote, rule by rule.

>>> read_rating("Fine.\\n### Evaluation Score\\n8.5")
8.0
>>> read_rating("Fine.\\n### Evaluation Score\\nScore: 8")
0.0

Nothing is repaired and nothing is forgiven here, so that a number can be compared with the paper's. What the authors'
code does not survive is named: an instance on which it ends has no place in its numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

HEADING = "### Most Likely Preference"
_SCORE_HEADINGS = ("### **Evaluation Score**", "### Evaluation Score")
LABELS, SCORE = "labels", "score"  # of `Outcome.unread`
UNREAD = object()  # results that cannot be read
_TOO_LONG = "context_length_exceeded"  # in an error of OpenAI; the authors' code knows a long context by it alone
_LARGEST = 1e9  # a score beyond it is nothing but a slip, and would be all there is to a mean
_COVERED = {"Not Covered": 0.0, "Partially Covered": 0.5, "Fully Covered": 1.0}


class Dropped(Exception):
    """The instance is in no number: it has no result."""


class Ends(Exception):
    """The authors' program ends: there are no numbers at all."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an instance adds to the authors' sums. A part that is None adds nothing."""

    predicted: Sequence[float] | None = None  # of each inferred item
    true: Sequence[float] | None = None  # of each gold item
    score: float | None = None
    unread: Sequence[str] = ()  # labels, score: what counts as 0 because its text cannot be read
    dropped: str = ""
    ends: str = ""

    def as_json(self) -> dict[str, Any]:
        parts = {
            "predicted": None if self.predicted is None else list(self.predicted),
            "true": None if self.true is None else list(self.true),
            "score": self.score,
            "unread": list(self.unread) or None,
        }
        reasons = {"dropped": self.dropped, "ends": self.ends}
        return {k: v for k, v in parts.items() if v is not None} | {k: v for k, v in reasons.items() if v}


def read_preference(text: str) -> str:
    """Return the first line after the first heading; raise Dropped if there is none."""
    _, heading, rest = text.strip().partition(HEADING)
    if not heading:
        raise Dropped("no heading of the preference")
    # What follows a second heading is not looked at.
    return rest.split(HEADING)[0].strip().split("\n")[0].strip()


def read_json(text: str) -> Any:
    """Return the JSON of an answer: after its first opening fence up to its last closing one, or all of it."""
    text = text.strip()
    if "```json" in text:
        text = text.split("```json")[1].rsplit("```", 1)[0].strip()
    return json.loads(text)


def read_checklist(text: str) -> list[Any]:
    """Return the items of a checklist, however many and whatever they are; raise Dropped or Ends.

    What has a length is taken for a list: the items of a text are its characters.
    """
    try:
        value = read_json(text)["checklist"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise Dropped("the checklist cannot be read") from error
    if not isinstance(value, list | str | dict):
        raise Dropped("the checklist is not a list")
    if not value:
        raise Ends("the checklist is empty")
    return list(value)


def read_results(text: str, *, tuned: bool) -> Any:
    """Return the results of a matcher, whatever they are; UNREAD if there are none."""
    try:
        value = read_json(text)
        return value if tuned else value["results"]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError):
        return UNREAD


def scores_of(results: Any, items: int) -> list[float]:
    """Return the score of each item, so that their sum is that of all results; raise Ends.

    Results are added up whatever items they are for. What is missing adds 0, and what is too much adds to the last.
    """
    if not isinstance(results, list | dict | str):
        raise Ends("the results of the matcher are not a list")
    if not all(isinstance(one, dict) and "label" in one for one in results):
        raise Ends("a result of the matcher has no label")
    found = [_score(one["label"]) for one in results if isinstance(one, dict)]
    kept = (found + [0.0] * items)[:items]
    kept[-1] += sum(found[items:])
    return kept


def _score(label: Any) -> float:
    return _COVERED.get(label, 0.0) if isinstance(label, str) else 0.0


def read_rating(text: str) -> float:
    """Return the score of a judge's text, 0 if it cannot be read; there is no upper limit."""
    return rating_of(text) or 0.0


def has_score_heading(text: str) -> bool:
    return any(heading in text for heading in _SCORE_HEADINGS)


def rating_of(text: str) -> float | None:
    """Return the score of a judge's text; None if it cannot be read."""
    text = text.strip()
    heading = next((one for one in _SCORE_HEADINGS if one in text), None)
    if heading is None:
        return None
    said = text.split(heading)[1].strip().split("/")[0].split(".")[0].split("\n\n")[0].replace("**", "")
    try:
        return float(said)
    except ValueError:
        return None


def can_be_sent(text: str) -> bool:
    """Whether a text can stand in a request: half of a surrogate pair, from an escape in JSON, cannot."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def is_too_long(reason: str) -> bool:
    """Whether the authors' code takes the reason of a failed request for a context that is too long."""
    return _TOO_LONG in reason


def outcome(record: Mapping[str, Any], tasks: Sequence[str], *, tuned: bool = False) -> Outcome:
    """Return what an instance adds to the authors' sums, from the texts in its record."""
    predicted: list[float] | None = None
    true: list[float] | None = None
    score: float | None = None
    unread = []
    try:
        if "inference" in tasks:
            predicted, true, read = _inference(record["inference"], len(record["checklist"]), tuned=tuned)
            unread += [] if read else [LABELS]
        if "generation" in tasks:
            said = _generation(record["generation"], alone="inference" not in tasks)
            unread += [SCORE] if said is None else []
            score = said or 0.0
    except Dropped as why:
        return Outcome(dropped=str(why))
    except Ends as why:
        return Outcome(ends=str(why))
    return Outcome(predicted, true, score, unread)


def _inference(found: Mapping[str, Any], gold: int, *, tuned: bool) -> tuple[list[float], list[float], bool]:
    """Return the scores of the inferred and of the gold items, and whether they were read."""
    texts = {"decomposition": found.get("decomposition"), **found.get("transcripts", {})} | found.get("first", {})
    too_long = is_too_long(found.get("failure", {}).get("reason", ""))
    if "response" not in found:
        raise (
            Ends("the context was too long for inference")
            if too_long
            else Dropped("the request for an inference failed")
        )
    read_preference(found["response"])
    if texts["decomposition"] is None:
        raise (
            Ends("the context was too long for a checklist")
            if too_long
            else Dropped("the request for a checklist failed")
        )
    items = read_checklist(texts["decomposition"])
    results = {}
    for side in ("precision", "recall"):
        said = texts.get(side)
        results[side] = UNREAD if said is None else read_results(said, tuned=tuned)
    if any(one is UNREAD for one in results.values()) or not all(can_be_sent(str(item)) for item in items):
        return [0.0] * len(items), [0.0] * gold, False
    return scores_of(results["precision"], len(items)), scores_of(results["recall"], gold), True


def _generation(found: Mapping[str, Any], *, alone: bool) -> float | None:
    """Return the score; None if it cannot be read.

    `alone`: without the other task, an instance without a response has no file, and no part in the sums; with it, its
    file lacks the response.
    """
    lacks = Dropped if alone else Ends
    if "response" not in found:
        if is_too_long(found.get("failure", {}).get("reason", "")):
            raise Ends("the context was too long for a response")
        raise lacks("the request for a response failed")
    if found.get("finish") == "refusal":
        raise lacks("the model refused")
    said = found.get("judgement")
    score = None if said is None else rating_of(said)
    if score is not None and not abs(score) <= _LARGEST:  # nan is not
        raise Ends(f"the judge's score is {score:g}, and so would be the mean")
    return score
