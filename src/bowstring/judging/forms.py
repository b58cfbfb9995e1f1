"""The forms in which judges are asked for verdicts: as lines of text, or as JSON by a schema.

>>> PAIRWISE.as_lines('{"personalization": "B fits.", "logical_validity": "Both do.", "better_response": "B"}')
'1. Personalization: B fits.\\n2. Logical Validity: Both do.\\nBetter Response: B'

A verdict that came as JSON is kept as the lines that it stands for, so that everything else reads one form. A template
that leaves the form open has the placeholder {form}; one that does not asks for lines.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Protocol

from bowstring.judging.letters import read_letter
from bowstring.judging.sections import read_rating
from bowstring.judging.structured import LABELS, Unreadable, outside_json, read_only
from bowstring.judging.verdicts import read_correct, read_dislike, read_dragged_in, read_pairwise, read_satisfaction
from bowstring.prompts import Template
from bowstring.records import Prompt

Verdicts = Literal["json", "text"]
_NUMBERS = {2: "two", 3: "three"}
_SENTENCE = "one sentence"


class Form(Protocol):
    @property
    def schema(self) -> str:
        """The JSON schema with its name, as the protocols of servers want it."""
        ...

    def words(self, verdicts: Verdicts) -> dict[str, str]:
        """What a prompt says about the form, by placeholder; "form" is among them."""
        ...

    def as_lines(self, said: str) -> str | None:
        """What a judge said, as lines; None if it is neither the JSON asked for nor lines with a verdict."""
        ...


@dataclass(frozen=True, slots=True)
class LineForm:
    """Reasons, if there are any, one line each, and a verdict on the last line. `reasons` are labels, and what is asked
    for."""

    name: str
    reasons: tuple[tuple[str, str], ...]
    verdict: str
    choices: tuple[str, ...]
    read: Callable[[str], object | None]

    @property
    def schema(self) -> str:
        fields: dict[str, Any] = {_field(label): {"type": "string"} for label, _ in self.reasons}
        fields[_field(self.verdict)] = {"type": "string", "enum": list(self.choices)}
        return _schema(self.name, fields)

    def words(self, verdicts: Verdicts) -> dict[str, str]:
        choice = f"<{', '.join(self.choices[:-1])} or {self.choices[-1]}>"
        if verdicts == "text":
            if not self.reasons:
                return {"form": f"Write one line and nothing else:\n{self.verdict}: {choice}"}
            lines = [f"{n}. {label}: <{what}>" for n, (label, what) in enumerate(self.reasons, 1)]
            count = _NUMBERS[len(lines) + 1]
            return {
                "form": "\n".join((f"Write {count} lines and nothing after them:", *lines, f"{self.verdict}: {choice}"))
            }
        shown = {_field(label): f"<{what}>" for label, what in self.reasons} | {_field(self.verdict): choice}
        return {"form": f"Answer with one JSON object and nothing else:\n{json.dumps(shown, ensure_ascii=False)}"}

    def as_lines(self, said: str) -> str | None:
        try:
            found = read_only(said, _field(self.verdict), self._fields)
        except Unreadable:
            return None
        if found is None:
            return said if self.read(said) is not None and not _is_json(said) else None
        lines = [f"{n}. {label}: {found[_field(label)]}" for n, (label, _) in enumerate(self.reasons, 1)]
        shown = "\n".join((*lines, f"{self.verdict}: {found[_field(self.verdict)]}"))
        # Around the object there may be a line with another verdict.
        return shown if self.read(outside_json(said)) in (None, self.read(shown)) else None

    def _fields(self, value: Any) -> dict[str, str]:
        if not isinstance(value, dict):
            raise Unreadable("expected an object")
        said = value.get(_field(self.verdict))
        chosen = [one for one in self.choices if isinstance(said, str) and one.lower() == said.strip().lower()]
        if not chosen:
            raise Unreadable("expected one of the choices")
        reasons = {_field(label): " ".join(str(value.get(_field(label), "")).split()) for label, _ in self.reasons}
        return reasons | {_field(self.verdict): chosen[0]}


@dataclass(frozen=True, slots=True)
class RatingForm:
    """Notes, and a score from 1 to 10, each under its heading."""

    name: str = "rating"

    @property
    def schema(self) -> str:
        return _schema(self.name, {"evaluation": {"type": "string"}, "score": {"type": "number"}})

    def words(self, verdicts: Verdicts) -> dict[str, str]:
        if verdicts == "text":
            headings = "under the heading `### Evaluation`, and then the number alone under `### Evaluation Score`"
            again = "under `### Evaluation`, and the number alone under `### Evaluation Score`"
            return {"form": f"Write your notes {headings}.", "reminder": f"Now your notes {again}."}
        shown = '{"evaluation": "<your notes>", "score": <the number>}'
        return {"form": f"Answer with one JSON object and nothing else:\n{shown}", "reminder": "Now the JSON object."}

    def as_lines(self, said: str) -> str | None:
        try:
            found = read_only(said, "score", self._fields)
        except Unreadable:
            return None
        if found is None:
            return said if read_rating(said) is not None and not _is_json(said) else None
        notes, score = found
        if read_rating(outside_json(said)) not in (None, score):
            return None
        shown = f"{score:.3f}".rstrip("0").rstrip(".")
        return f"### Evaluation\n{notes}\n\n### Evaluation Score\n{shown}"

    @staticmethod
    def _fields(value: Any) -> tuple[str, float]:
        score = value.get("score") if isinstance(value, dict) else None
        if isinstance(score, bool) or not isinstance(score, int | float) or not 1 <= score <= 10:
            raise Unreadable("expected a score from 1 to 10")
        # A heading inside the notes would end them.
        notes = re.sub(r"^(\s*)(#{1,6}\s)", r"\1> \2", str(value.get("evaluation", "")), flags=re.MULTILINE)
        return notes.strip(), float(score)


def _is_json(said: str) -> bool:
    """Return whether a text is meant as JSON, readable or not: it is not read as lines."""
    return said.lstrip().removeprefix("```json").removeprefix("```").lstrip().startswith(("{", "["))


@dataclass(frozen=True, slots=True)
class JsonForm:
    """JSON in any case: the prompt is the same with and without the schema, and the caller reads what comes."""

    schema: str

    def words(self, verdicts: Verdicts) -> dict[str, str]:  # noqa: ARG002
        return {}

    def as_lines(self, said: str) -> str | None:
        return said


def _schema(name: str, fields: dict[str, Any]) -> str:
    """Return a schema in the subset that all servers know: all fields are required, and there are no others."""
    return json.dumps({"name": name, "strict": True, "schema": _object(fields)}, separators=(",", ":"))


def _object(fields: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


def _field(label: str) -> str:
    return label.lower().replace(" ", "_")


PAIRWISE = LineForm(
    "comparison",
    (("Personalization", _SENTENCE), ("Logical Validity", _SENTENCE)),
    "Better Response",
    ("A", "B", "Tie"),
    read_pairwise,
)
SATISFACTION = LineForm("conflict", (("Conflict", _SENTENCE),), "Satisfaction", ("YES", "NO"), read_satisfaction)
CORRECT = LineForm("correctness", (("Reason", _SENTENCE),), "Correct", ("YES", "NO"), read_correct)
DISLIKE = LineForm(
    "dislike",
    (("Reason", _SENTENCE),),
    "Dislike",
    ("RESPECTED", "MENTIONED", "OMITTED", "VIOLATED"),
    read_dislike,
)
DRAGGED_IN = LineForm(
    "dragged_in",
    (("Bearing", "one sentence: what was brought up, and whether it has a bearing on the question"),),
    "Dragged In",
    ("YES", "NO"),
    read_dragged_in,
)
RATING = RatingForm()


def choice_form(letters: str) -> LineForm:
    """Return the form of a choice among options with these letters."""
    return LineForm("choice", (), "Choice", tuple(letters), partial(read_letter, letters=letters))


_RESULT = {
    "index": {"type": "integer"},
    "entry": {"type": "string"},
    "label": {"type": "string", "enum": [label.title() for label in LABELS]},
}
CHECKLIST = JsonForm(_schema("checklist", {"checklist": {"type": "array", "items": {"type": "string"}}}))
COVERAGE = JsonForm(_schema("coverage", {"results": {"type": "array", "items": _object(_RESULT)}}))


def places(form: Form) -> frozenset[str]:
    """Return the placeholders of a template that leaves the form open."""
    return frozenset(form.words("text"))


@dataclass(frozen=True, slots=True)
class FormedTemplate:
    """A template for each form. `structured` is None if the template does not leave the form open."""

    form: Form
    text: Template
    structured: Template | None

    @classmethod
    def of(cls, template: Template, form: Form, verdicts: Verdicts) -> FormedTemplate:
        takes_form = verdicts == "json" and "form" in template.placeholders
        structured = template.given(**form.words("json")) if takes_form else None
        return cls(form, template.given(**form.words("text")), structured)

    def request(self, fill: Callable[[Template], Prompt]) -> VerdictRequest:
        structured = fill(self.structured) if self.structured is not None else None
        return VerdictRequest(fill(self.text), structured, self.form)


@dataclass(frozen=True, slots=True)
class VerdictRequest:
    """A question to a judge: as text, and by a schema if its template leaves the form open."""

    text: Prompt
    structured: Prompt | None
    form: Form

    @classmethod
    def json(cls, prompt: Prompt, form: JsonForm, *, by_schema: bool) -> VerdictRequest:
        return cls(prompt, prompt if by_schema else None, form)
