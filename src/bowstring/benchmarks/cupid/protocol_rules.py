"""Why an instance counts otherwise by the authors' rules than by ours: the rule of each difference, from its record.

A rule is derived from the texts of the instance, never from its numbers alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isclose
from typing import Any

from bowstring.benchmarks.cupid.published import LABELS, can_be_sent, has_score_heading, rating_of, read_json
from bowstring.judging.sections import read_preference
from bowstring.judging.structured import Unreadable, label_score, read_checklist

_LOWEST, _HIGHEST = 1, 10  # scores by our rules


def differences(record: Mapping[str, Any]) -> list[str]:
    """Return the rules by which an instance adds something else to the authors' numbers than to ours."""
    found = record.get("published", {})
    if found.get("ends"):
        return [f"the authors' program ends: {found['ends']}"]
    inference, generation = record.get("inference", {}), record.get("generation", {})
    if found.get("dropped"):
        # What has no result in either way is no difference.
        ours = _covered(inference) is not None or generation.get("score") is not None
        lacks = "an inference is left out of both tasks" if "inference" in record else "a response is left out"
        return [f"an instance without {lacks}: {found['dropped']}"] if ours else []
    rules = []
    if "predicted" in found:
        rules += _inference_rules(inference, found)
    if "score" in found and (rule := _score_rule(generation, found["score"])):
        rules.append(rule)
    return rules


def _covered(inference: Mapping[str, Any]) -> tuple[Sequence[float], Sequence[float]] | None:
    read = "recall" in inference and "unparsed" not in inference
    return (inference["precision"], inference["recall"]) if read else None


def _inference_rules(inference: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    ours = _covered(inference)
    if ours is None:
        return [_rule_without_ours(inference, found)]
    sums = [(sum(one), len(one)) for one in ours]
    if sums == [(sum(found[side]), len(found[side])) for side in ("predicted", "true")]:
        return []
    if inference.get("first"):
        return ["nothing is asked for again"]
    return _label_rules(inference, found)


def _rule_without_ours(inference: Mapping[str, Any], found: Mapping[str, Any]) -> str:
    """The rule by which an instance counts that has no inference by our rules."""
    if "failure" in inference:
        return "a request for labels that failed counts as not covered"
    if read_preference(inference["response"]) != inference.get("preference"):
        return "the preference is read in another way"
    text = inference.get("first", {}).get("decomposition", inference["decomposition"])
    if (checklist := _our_checklist(text)) is None or checklist != inference.get("checklist"):
        return "the checklist is read in another way"
    if not all(map(can_be_sent, checklist)):
        return "a checklist that cannot be sent counts as not covered"
    if LABELS in found.get("unread", ()):
        return "labels that cannot be read count as not covered"
    return "labels that our rules cannot read are added up"


def _our_checklist(text: str) -> list[str] | None:
    try:
        return list(read_checklist(text))
    except Unreadable:
        return None


def _label_rules(inference: Mapping[str, Any], found: Mapping[str, Any]) -> list[str]:
    """The rules for labels that our rules read, too."""
    if LABELS in found.get("unread", ()):
        return ["labels that cannot be read count as not covered"]
    rules = []
    for side, theirs in (("precision", "predicted"), ("recall", "true")):
        if not isclose(sum(inference[side]), sum(found[theirs])):
            same = isclose(sum(inference[side]), _sum_by_our_words(inference["transcripts"][side]))
            rules.append("labels in other words count as not covered" if same else "labels are read in another way")
    return list(dict.fromkeys(rules))


def _sum_by_our_words(text: str) -> float:
    """The sum of the labels that the authors' code reads, if labels in other words counted."""
    value = read_json(text)
    results = value.get("results", ()) if isinstance(value, dict) else value
    return sum(label_score(one.get("label")) or 0.0 for one in results if isinstance(one, dict))


def _score_rule(generation: Mapping[str, Any], theirs: float) -> str | None:
    ours, said = generation.get("score"), generation.get("judgement")
    if ours == theirs:
        return None
    if said is None:
        return "a request for a score that failed counts 0"
    if rating_of(said) is None:
        if ours is None:
            return "a score that cannot be read counts 0"
        return f"a score {'in other words' if has_score_heading(said) else 'under another heading'} counts 0"
    if ours is None and not _LOWEST <= theirs <= _HIGHEST:
        return "a score has no limits"
    return "a score is cut at its point" if ours and int(ours) == theirs else "a score is read in another way"
