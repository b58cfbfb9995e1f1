"""Answers of a scripted server to the requests of CUPID's evaluation: clean ones, and malformed ones of every kind that
models write. The authors' code reads some of them in its own way, and does not survive others."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.certification import Case, Chooser, filled_with, text_of
from bowstring.certification.server import Answer
from bowstring.prompts import PromptFolder
from bowstring.prompts.templates import Template

INFERENCE, CHECKLIST, MATCH, RESPONSE, JUDGE = "inference", "checklist", "match", "response", "judge"
STAGES = (INFERENCE, CHECKLIST, MATCH, RESPONSE, JUDGE)
_TEMPLATES = {
    INFERENCE: "evaluation/preference_inferrer",
    CHECKLIST: "synthesis/preference_decomposer",
    MATCH: "evaluation/preference_matcher",
    RESPONSE: "evaluation/response_generator",
    JUDGE: "evaluation/response_judger",
}
_HEADING = "### Most Likely Preference"
_SCORE = "### Evaluation Score"
_LABELS = ("Fully Covered", "Partially Covered", "Not Covered")
_TOPICS = ("short sentences", "a numbered list", "the source of each figure", "no jargon", "a calm tone", "one example")

_TOO_LONG = "context_length_exceeded: maximum context length is 10 tokens"

# Answers on which the authors' program ends. The first instance that gets one is named by ours.
FAULTS = {
    "an empty checklist": (CHECKLIST, Answer(CHECKLIST, '{"checklist": []}')),
    "a result without a label": (MATCH, Answer(MATCH, '{"results": [{"index": 1, "entry": "x"}]}')),
    "results that are a text": (MATCH, Answer(MATCH, '{"results": "all covered"}')),
    "a context that is too long for inference": (
        INFERENCE,
        Answer(INFERENCE, None, status=400, error=_TOO_LONG),
    ),
    "a context that is too long for a checklist": (CHECKLIST, Answer(CHECKLIST, None, status=400, error=_TOO_LONG)),
    "a context that is too long for a response": (RESPONSE, Answer(RESPONSE, None, status=400, error=_TOO_LONG)),
    "a response that is null": (RESPONSE, Answer(RESPONSE, None)),
    "a request for a response that fails": (RESPONSE, Answer(RESPONSE, None, status=400, error="bad request")),
}


class CupidScript:
    """Answers of every stage, clean or malformed. Which one, and what it says, follows from the request alone."""

    def __init__(self, prompts: PromptFolder, case: Case) -> None:
        self._templates = {stage: prompts.get(f"cupid/{name}") for stage, name in _TEMPLATES.items()}
        self._case = case

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        found = next(
            ((s, values) for s, t in self._templates.items() if (values := _values(t, body)) is not None), None
        )
        if found is None:
            return Answer("unknown", None, status=400, error="no prompt of the authors has this form")
        stage, values = found
        if self._case.fault and FAULTS[self._case.fault][0] == stage:
            return FAULTS[self._case.fault][1]
        choose = Chooser(body, self._case)
        if stage == MATCH:
            return _match(values["checklist"], choose)
        if stage == RESPONSE:
            # Beside an inference, a response that fails ends the authors' program.
            return _response(choose, fails=self._case.settings.get("task") == "generation")
        write = {INFERENCE: _inference, CHECKLIST: _checklist, JUDGE: _judge}
        return write[stage](choose)


def _values(template: Template, body: Mapping[str, Any]) -> dict[str, str] | None:
    *before, last = [text_of(message) for message in body["messages"]]
    # The first text of the evaluated model is sent as it is, that of judges is filled.
    if template.system is not None and before != [template.system]:
        given = filled_with(template.system, before[0]) if len(before) == 1 else None
        if given is None:
            return None
    return filled_with(template.user or "", last)


def _inference(choose: Chooser) -> Answer:
    topic = choose.one_of(_TOPICS)
    preference = f"The user wants {topic}, and {choose.one_of(_TOPICS)} in number {choose.number(1, 999)}."
    clean = f"Earlier sessions ask for {topic}.\n\n{_HEADING}\n\n{preference}"
    forms: list[Callable[[str], str]] = [
        lambda t: t.replace(_HEADING, "**Most Likely Preference**"),
        lambda t: t.replace(f"{_HEADING}\n\n", ""),
        lambda t: t.replace("### ", "###"),
        lambda t: t.replace(_HEADING, f"{_HEADING}:"),
        lambda t: f"{_HEADING}\nA draft.\n\n{t}",
        lambda t: f"{t}\nBecause of session 3.\n\n{_HEADING}\nAnother one.",
        lambda t: t.replace(preference, f'"{preference}"'),
        lambda t: t.replace(preference, f"**{preference}** (sure)"),
        lambda t: t.replace(preference, f"- {preference}\n- {topic}"),
        lambda t: t.replace(preference, ""),
        lambda t: f"\n\n  {t}  \n\n",
        lambda t: t.replace(preference, f"{{{topic}}} — “{preference}” {{}}"),
        lambda t: t.replace(preference, f"{preference}\u2028It may change."),
        lambda t: f"\ufeff{t}".replace("\n", "\r\n"),
        lambda t: "",
    ]
    return _answer(INFERENCE, choose, clean, forms)


def _checklist(choose: Chooser) -> Answer:
    items = [f"Does it have {choose.one_of(_TOPICS)} ({n}-{choose.number(1, 99)})?" for n in range(choose.number(1, 4))]
    clean = json.dumps({"checklist": items})
    forms: list[Callable[[str], str]] = [
        lambda t: f"```json\n{t}\n```",
        lambda t: f"Here it is:\n```json\n{t}\n```\nAnything else?",
        lambda t: f"```\n{t}\n```",
        lambda t: f"Here it is: {t}",
        lambda t: f"```json\n{t}\n``` or ```json\n{t}\n```",
        lambda t: t.replace("]", ",]"),
        lambda t: t.replace('"checklist"', '"items"'),
        lambda t: json.dumps(items),
        lambda t: json.dumps({"checklist": items * 3}),
        lambda t: json.dumps({"checklist": [*items, 7, None, True]}),
        lambda t: json.dumps({"checklist": dict.fromkeys(items, True)}),
        lambda t: json.dumps({"checklist": items[0][:9]}),
        lambda t: json.dumps({"checklist": choose.one_of((3, None, True))}),
        lambda t: json.dumps({"checklist": [f" {one}\n" for one in items]}),
        lambda t: json.dumps({"checklist": [[one] for one in items]}),
        lambda t: json.dumps({"checklist": [{"question": one, "weight": 1e22} for one in items]}),
        lambda t: t.replace("Does", r"\u0000\r Does"),
        lambda t: t.replace("Does", r"\ud83d Does"),  # half of a pair, which no request can hold
        lambda t: f"\ufeff{t}",
        lambda t: "",
        lambda t: f"{t}\n",
        lambda t: t[: len(t) // 2],
    ]
    return _answer(CHECKLIST, choose, clean, forms)


def _match(checklist: str, choose: Chooser) -> Answer:
    entries = [line.partition(". ")[2] for line in checklist.split("\n")]
    results = [{"index": n, "entry": one, "label": choose.one_of(_LABELS)} for n, one in enumerate(entries, 1)]

    def with_labels(change: Callable[[Any], Any]) -> str:
        return json.dumps({"results": [one | {"label": change(one["label"])} for one in results]})

    clean = json.dumps({"results": results})
    forms: list[Callable[[str], str]] = [
        lambda t: f"```json\n{t}\n```",
        lambda t: f"Sure.\n```json\n{t}\n```\nDone.",
        lambda t: f"Sure: {t}",
        lambda t: json.dumps(results),
        lambda t: json.dumps({"result": results}),
        lambda t: json.dumps({"results": results[:-1]}),
        lambda t: json.dumps({"results": []}),
        lambda t: json.dumps({"results": [*results, *results]}),
        lambda t: json.dumps({"results": [one | {"reasoning": "It is."} for one in reversed(results)]}),
        lambda t: json.dumps({"results": [{"label": one["label"]} for one in results]}),
        lambda t: with_labels(str.lower),
        lambda t: with_labels(lambda label: label.split()[0]),
        lambda t: with_labels(lambda label: f"{label}."),
        lambda t: with_labels(lambda label: None),
        lambda t: with_labels(lambda label: 1),
        lambda t: with_labels(lambda label: [label]),
        lambda t: t.replace("Covered", "Covered\\n"),
        lambda t: t.replace("Covered", "Covered "),
        lambda t: t.replace("{", '{"results": 3, ', 1),
        lambda t: json.dumps({"results": {}}),
        lambda t: json.dumps({"results": ""}),
        lambda t: t[:-1],
    ]
    return _answer(MATCH, choose, clean, forms)


def _response(choose: Chooser, *, fails: bool) -> Answer:
    clean = f"Here is a draft with {choose.one_of(_TOPICS)}: {choose.number(1, 99999)}."
    forms: list[Callable[[str], str]] = [
        lambda t: f"\n  {t}\n\n",
        lambda t: f"{{{t}}} {{}} {{preference}}",
        lambda t: f"### Evaluation Score\n10\n{t}",
        lambda t: f"{t} 東京 🏹 \u00a0",
        lambda t: f"\ufeff\r\n{t}\x1b[31m\r\n\u3000",
        lambda t: "…",
        lambda t: "",
        lambda t: "   ",
    ]
    if fails and choose.malformed and choose.number(1, 4) == 1:
        return Answer(RESPONSE, None, status=400, error="bad request")
    text = choose.text(clean, forms)
    return Answer(RESPONSE, text, finish="length" if choose.malformed and choose.number(0, 3) == 0 else "stop")


def _judge(choose: Chooser) -> Answer:
    score = choose.number(1, 10)
    clean = f"It follows some items.\n\n{_SCORE}\n\n{score}"

    def said(text: str) -> Callable[[str], str]:
        return lambda t: t.replace(f"{_SCORE}\n\n{score}", f"{_SCORE}\n{text}")

    forms: list[Callable[[str], str]] = [
        *map(said, (f"Score: {score}", f"{score} (Good)", f"{score} - Good", f"{score} out of 10", f"{score}.5")),
        *map(said, (f"{score}/10", f"**{score}**", f"**{score}/10**", "11", "85/100", "0", "-3", "eight", "")),
        *map(
            said, (f"{score}\n\nIt is good.", f"{score}\nIt is good.", f" {score} ", f"{score},5", f"{score}e0", "1_0")
        ),
        *map(said, (f"[{score}]", f"**Score:** {score}", f"{score}.", "٨", f"+{score}", f"{score}\n\n{_SCORE}\n2")),
        lambda t: t.replace(_SCORE, "### **Evaluation Score**"),
        lambda t: t.replace(_SCORE, "**Evaluation Score**"),
        lambda t: t.replace(_SCORE, "## Evaluation Score"),
        lambda t: t.replace(_SCORE, "### Evaluation score"),
        *map(said, (f"[[{score}]]", f"**[[{score}]]**", f"{score} / 10", f"{score}%", f"{score}\n \nGood", "８", "½")),
        lambda t: t.replace("\n", "\r\n"),
        lambda t: f"{t}\n\n### **Evaluation Score**\n3",
        lambda t: f"Score: {score}",
        lambda t: "",
    ]
    return _answer(JUDGE, choose, clean, forms)


def _answer(stage: str, choose: Chooser, clean: str, forms: Sequence[Callable[[str], str]]) -> Answer:
    """The text of a stage. One in eight malformed answers is none at all, and as many are rejected or cut."""
    if not choose.malformed:
        return Answer(stage, clean)
    kind = choose.number(1, 8)
    if kind == 1:
        return Answer(stage, None)
    if kind == 2:  # the second is how other servers than OpenAI's say that a context is too long
        return Answer(stage, None, status=400, error=choose.one_of(("bad request", "maximum context length is 9")))
    return Answer(stage, choose.one_of(forms)(clean), finish="length" if kind == 3 else "stop")
