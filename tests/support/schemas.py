"""What a server that takes JSON schemas does for a scripted judge that knows only lines of text.

The judge is shown the request for lines, and what it says goes back as the JSON that the schema asks for. So a script
says the same in both forms.
"""

import json
import re
from typing import Any

from bowstring.judging import forms
from bowstring.judging.sections import read_rating, read_section

_FORMS = (forms.PAIRWISE, forms.SATISFACTION, forms.CORRECT, forms.DISLIKE, forms.DRAGGED_IN, forms.RATING)


def asked_schema(body: dict[str, Any]) -> Any:
    """The schema of a request in OpenAI's protocol or in Anthropic's."""
    if (asked := body.get("response_format")) is not None:
        assert asked["type"] == "json_schema"
        assert asked["json_schema"]["strict"] is True
        return asked["json_schema"]["schema"]
    if (asked := body.get("output_config")) is not None:
        assert asked["format"]["type"] == "json_schema"
        return asked["format"]["schema"]
    return None


def _form(body: dict[str, Any]) -> forms.Form | None:
    schema = asked_schema(body)
    return next((form for form in _FORMS if json.loads(form.schema)["schema"] == schema), None)


def asking_for_lines(messages: list[dict[str, Any]], body: dict[str, Any]) -> list[dict[str, Any]]:
    """The messages of a request, with the words for lines in place of those for JSON."""
    form = _form(body)
    if form is None:
        return messages
    return [message | {"content": _in_lines(message["content"], form)} for message in messages]


def _in_lines(content: Any, form: forms.Form) -> Any:
    if not isinstance(content, str):
        return [part | {"text": _in_lines(part["text"], form)} for part in content]
    text = content
    for place, words in form.words("json").items():
        text = text.replace(words, form.words("text")[place])
    return text


def as_asked_for(said: str, body: dict[str, Any]) -> str:
    """What a script said in lines, as JSON if that is asked for and a verdict is in it."""
    form = _form(body)
    if isinstance(form, forms.RatingForm) and (score := read_rating(said)) is not None:
        notes = "\n".join(read_section(said, "Evaluation") or ())
        return json.dumps({"evaluation": notes.strip(), "score": score})
    if isinstance(form, forms.LineForm) and (verdict := form.read(said)) is not None:
        spoken = {True: "YES", False: "NO"}.get(verdict, str(verdict)) if isinstance(verdict, bool) else str(verdict)
        choice = next(one for one in form.choices if one.lower() == spoken.lower())
        reasons = {field: _reason(said, label) for field, label in _fields(form)}
        return json.dumps(reasons | {form.verdict.lower().replace(" ", "_"): choice})
    return said


def _fields(form: forms.LineForm) -> list[tuple[str, str]]:
    return [(label.lower().replace(" ", "_"), label) for label, _ in form.reasons]


def _reason(said: str, label: str) -> str:
    found = re.search(rf"{label}: (.*)", said)
    return found[1] if found else ""
