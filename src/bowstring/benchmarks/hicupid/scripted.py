"""Answers of a scripted server to the requests of HiCUPID's evaluation: clean ones, and malformed ones of every kind
that models write. The authors' code reads some of them in its own way, and does not survive others."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bowstring.benchmarks.certification import Case, Chooser, filled_with, text_of
from bowstring.certification.server import Answer
from bowstring.prompts import PromptFolder

ANSWER = "answer"
JUDGES = {kind: f"judge, {kind}" for kind in ("persona", "profile", "schedule")}
STAGES = (ANSWER, *JUDGES.values())
FAULTS = {
    "a verdict that is null": (JUDGES["persona"], Answer(JUDGES["persona"], None)),
    "a request for an answer that fails": (ANSWER, Answer(ANSWER, None, status=400, error="bad request")),
}


class HicupidScript:
    """Answers and verdicts, clean or malformed. Which one, and what it says, follows from the request alone."""

    def __init__(self, prompts: PromptFolder, case: Case) -> None:
        self._judges = {kind: prompts.get(f"hicupid/judge_{kind}").user or "" for kind in JUDGES}
        self._case = case

    def __call__(self, body: Mapping[str, Any]) -> Answer:
        text = text_of(body["messages"][-1])
        alone = len(body["messages"]) == 1
        kind = next((k for k, t in self._judges.items() if alone and filled_with(t, text) is not None), None)
        stage = ANSWER if kind is None else JUDGES[kind]
        if self._case.fault and FAULTS[self._case.fault][0] == stage:
            return FAULTS[self._case.fault][1]
        choose = Chooser(body, self._case)
        if kind is None:
            return _answer(stage, choose)
        return _satisfied(stage, choose) if kind == "schedule" else _compared(stage, choose)


def _answer(stage: str, choose: Chooser) -> Answer:
    clean = f"Since you asked, take number {choose.number(1, 99999)} on a {choose.one_of(('Monday', 'Tuesday'))}."
    forms: list[Callable[[str], str]] = [
        lambda t: f"\n  {t}\n\n",
        lambda t: f"{{{t}}} {{}} {{answer_a}}",
        lambda t: f"{t}\nBetter Response: A",
        lambda t: f"{t} 東京 🏹 \u00a0\u2028",
        lambda t: "",
        lambda t: "   ",
    ]
    return _malformed(stage, choose, clean, forms)


def _compared(stage: str, choose: Chooser) -> Answer:
    better = choose.one_of(("A", "B", "Tie"))
    other = choose.one_of(("A", "B", "tie"))
    clean = f"1. Personalization: {better}.\n2. Logical Validity: {other}.\nBetter Response: {better}"

    def last(text: str) -> Callable[[str], str]:
        return lambda t: t.replace(f"Better Response: {better}", text)

    forms: list[Callable[[str], str]] = [
        *map(last, (f"Better Response: {better}, because {other} is worse", f"Better Response: **{better}**")),
        *map(
            last, (f"**Better Response:** {better}", f"better response: {better.lower()}", "Better Response: Neither")
        ),
        *map(last, (f"Better Response:\n{better}", f"Better Response : {better}", f"BETTER RESPONSE:{better}", "")),
        *map(last, (f"Better Response: [{better}]", f"Better Response: Answer {better} is good", "Better Response: X")),
        lambda t: f"Better Response: {other}\n{t}",
        lambda t: f"{t}\nBetter Response: {other}",
        *map(last, (f"Better Response: [[{better}]]", "Better Response: T\u0130e", f"Better Response：{better}")),
        lambda t: f"```\n{t}\n```".replace("\n", "\r\n"),
        lambda t: f"{t}\n\nI hope that it helps both.",
        lambda t: "",
    ]
    return _malformed(stage, choose, clean, forms)


def _satisfied(stage: str, choose: Chooser) -> Answer:
    said = choose.one_of(("YES", "NO"))
    clean = f"- Personalization: it is {said.lower()}.\nSatisfaction: {said}"
    forms: list[Callable[[str], str]] = [
        lambda t: t.replace(f": {said}", f": **{said}**"),
        lambda t: t.replace(f": {said}", f": {said}, it does not notice"),
        lambda t: t.replace(f": {said}", f": {said.lower()}, yes"),
        lambda t: t.replace("Satisfaction:", "**Satisfaction**:"),
        lambda t: t.replace("Satisfaction: ", "Satisfaction:\n"),
        lambda t: t.replace(said, "Partly"),
        lambda t: f"{t}\nSatisfaction: {choose.one_of(('YES', 'NO'))}",
        lambda t: t.replace(f": {said}", f": [[{said}]]\x0bknown"),
        lambda t: t.replace(f": {said}", ": YE\u017f"),
        lambda t: f"```\n{t}\n```".replace("\n", "\r\n"),
        lambda t: "I cannot say.",
        lambda t: "",
    ]
    return _malformed(stage, choose, clean, forms)


def _malformed(stage: str, choose: Chooser, clean: str, forms: Sequence[Callable[[str], str]]) -> Answer:
    """One in eight malformed answers has no text, and one in four texts is also cut at the limit."""
    if choose.malformed and stage == ANSWER and choose.number(1, 8) == 1:
        return Answer(stage, None)
    text = choose.text(clean, forms)
    return Answer(stage, text, finish="length" if choose.malformed and choose.number(1, 4) == 1 else "stop")
