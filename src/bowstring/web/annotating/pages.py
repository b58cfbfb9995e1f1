"""The pages for annotators: plain forms; a script adds keyboard shortcuts.

A page is rendered from a `Sheet`, which has only what an annotator may see: no sources, ids or labels.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs

from fastapi import FastAPI, Request, Response
from fastapi.responses import HTMLResponse, RedirectResponse
from jinja2 import Environment, PackageLoader

from bowstring.benchmarks.people import Task
from bowstring.errors import StoreError
from bowstring.files.escaping import escape_control_characters
from bowstring.labels import TIE
from bowstring.web.annotating.study import Assignment, Gone, Study
from bowstring.web.annotating.tasks import DEGREES, Incomplete, PageResponse, read_form, read_seconds

# A form contains comments and edited texts; percent encoding makes three characters of a byte.
MOST_BYTES = 4 << 20
_MOST_FIELDS = 1000
_log = logging.getLogger("uvicorn.error")
# With the guard's no-referrer, browsers also hide the origin of a form, and the guard would reject its own pages.
# This policy reveals no more to other sites.
_HEADERS = {"Referrer-Policy": "same-origin"}
_KEYS = {
    "A": ("a", "1", "ArrowLeft"),
    "B": ("b", "2", "ArrowRight"),
    TIE: ("t", "0"),
    "10": ("0",),
}


@dataclass(frozen=True, slots=True)
class Sheet:
    """The content of one page. The answers are in the order of this page."""

    page: str
    number: int
    total: int
    done: int
    before: str | None
    following: str | None
    facts: tuple[tuple[str, str], ...]
    asked: str
    answers: tuple[str, ...]
    entries: tuple[str, ...]
    dialogues: tuple[tuple[tuple[str, str], ...], ...]
    fields: tuple[tuple[str, str], ...]
    response: PageResponse | None
    saved: bool


def sheet_of(study: Study, given: Assignment, response: PageResponse | None = None) -> Sheet:
    """`response` is the content of a form that could not be saved."""
    progress = study.progress(given.annotator)
    before, following = study.neighbours(given)
    unit = given.unit
    annotation = given.annotation
    shown = response or (annotation.response if annotation else None)
    return Sheet(
        page=given.page,
        number=given.place + 1,
        total=progress.total,
        done=progress.done,
        before=before,
        following=following if annotation else None,
        facts=unit.facts,
        asked=unit.asked,
        answers=unit.answers[::-1] if given.swapped and len(unit.answers) == 2 else unit.answers,
        entries=unit.entries,
        dialogues=unit.dialogues,
        fields=tuple((name, shown.edits.get(name, text) if shown else text) for name, text in unit.fields),
        response=shown,
        saved=annotation is not None,
    )


def add_pages(app: FastAPI, study: Study) -> None:
    """Behind the guard, `scope["who"]` is the annotator."""
    task = study.task
    common = {"task": task, "criteria": study.criteria, "degrees": DEGREES}

    def page(name: str, status: int = 200, **shown: Any) -> HTMLResponse:
        text = _environment().get_template(f"annotate_{name}.html").render(common | shown)
        return HTMLResponse(text.encode("utf-8", "replace"), status, headers=_HEADERS)

    def missing() -> HTMLResponse:
        return page("message", 404, heading="This page is not assigned to you", text="Continue from the start page.")

    def see(place: str) -> Response:
        return RedirectResponse(place, 303)

    @app.exception_handler(StoreError)
    def failed(request: Request, error: StoreError) -> Response:  # noqa: ARG001
        _log.error("%s", error)
        text = "The error was reported to the owner of this study. Try again later."
        heading = "The file of the study is missing" if isinstance(error, Gone) else "The study could not be read"
        return page("message", 503, heading=heading, text=text)

    @app.get("/", response_class=HTMLResponse)
    def start(request: Request) -> Response:
        who = request.scope["who"]
        return page("start", who=who, progress=study.progress(who))

    @app.get("/next")
    def go_on(request: Request) -> Response:
        first_open = study.progress(request.scope["who"]).first_open
        return see(f"/item/{first_open}" if first_open else "/done")

    @app.get("/done")
    def done(request: Request) -> Response:
        who = request.scope["who"]
        progress = study.progress(who)
        return page("done", who=who, progress=progress, last=study.last(who))

    @app.get("/item/{name}")
    def item(request: Request, name: str) -> Response:
        given = study.assignment(request.scope["who"], name)
        if given is None:
            return missing()
        study.note_sent(name)
        return page("item", who=given.annotator, sheet=sheet_of(study, given))

    @app.post("/item/{name}")
    async def save(request: Request, name: str) -> Response:
        body = await request.body()
        return await asyncio.to_thread(saved, request.scope["who"], name, body)

    def saved(who: str, name: str, body: bytes) -> Response:
        given = study.assignment(who, name)
        if given is None:
            return missing()
        unit = given.unit
        try:
            form = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=_MOST_FIELDS)
        except ValueError:  # more than any of our pages has
            return page(
                "message", 400, heading="This form does not belong to these pages", text="Continue from the start page."
            )
        try:
            response = read_form(form, task, parts=len(unit.ids), criteria=study.criteria, fields=dict(unit.fields))
        except Incomplete as incomplete:
            held = sheet_of(study, given, _partial_response(form, task, given, study.criteria))
            return page("item", 422, who=who, sheet=held, problem=str(incomplete))
        since = time.time() - given.sent_at if given.sent_at else 0.0
        try:
            study.save(name, response, read_seconds(form, max(since, 0.0)))
        except StoreError as error:  # the form is shown again with what was entered
            _log.error("%s", error)
            why = "the file of the study is missing" if isinstance(error, Gone) else "the study could not be written"
            problem = (
                f"This is not saved: {why}. Tell the owner of the study, leave this page open, and send it again later."
            )
            return page("item", 503, who=who, sheet=sheet_of(study, given, response), problem=problem)
        following = study.first_open_after(given)
        return see(f"/item/{following}" if following else "/done")


def _partial_response(
    form: Mapping[str, list[str]], task: Task, given: Assignment, criteria: tuple[str, ...]
) -> PageResponse:
    """The values of an incomplete form, which is shown again."""

    def one(name: str) -> str:
        return form.get(name, [""])[-1]

    names = [f"choice-{n}" for n in range(len(given.unit.ids))] if task.shape == "parts" else ["choice"]
    edits = {name: one(f"field-{name}") for name, _ in given.unit.fields if f"field-{name}" in form}
    rated = {name: one(f"criterion-{name}") for criterion in criteria for name in task.rated(criterion)}
    return PageResponse(tuple(map(one, names)), rated, edits, one("comment"))


def _visible(text: str) -> str:
    """Text with visible bidirectional control characters, which could disguise a word; line ends are kept."""
    return escape_control_characters(text.replace("\r\n", "\n").replace("\r", "\n"))


def _keys(choice: str, choices: Sequence[str]) -> tuple[str, ...]:
    """The keys of a choice: its first letter, or its position if another choice starts with the same letter."""
    if choice in _KEYS or choice.isdecimal():
        return _KEYS.get(choice, (choice,))
    letters = [other[:1].lower() for other in choices]
    letter = choice[:1].lower()
    return (letter,) if letters.count(letter) == 1 else (str(choices.index(choice) + 1),)


@lru_cache(maxsize=1)
def _environment() -> Environment:
    made = Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, loader=PackageLoader("bowstring.web", "templates")
    )
    made.filters |= {"visible": _visible, "keys": _keys}
    return made
