"""The pages of `bowstring view`: the list of runs, the page or progress of a run, comparisons.

app = viewer(Path("runs"))
serve(app, address, people={token: "viewer"})

Names in addresses are looked up in the list of runs and never used as paths. The page of a run is generated from its
metrics and records: the report.html in a folder may come from somebody else.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from bowstring.benchmarks.of_run import open_run
from bowstring.benchmarks.standing import about_of
from bowstring.benchmarks.view import Histories
from bowstring.errors import BowstringError, UsageError
from bowstring.files.escaping import escape_control_characters
from bowstring.files.redaction import error_line
from bowstring.reports import page
from bowstring.reports.sweep_page import write_sweep_page
from bowstring.reports.tables import COUNTS, notes_of
from bowstring.runs.about import About, facts
from bowstring.runs.catalogue import (
    Catalogue,
    Entry,
    FileCache,
    Unreadable,
    check_plain,
    read_json_object,
    read_plain_records,
    read_progress,
)
from bowstring.runs.stored import check_store
from bowstring.web.listing import COLUMNS, Listing, ListQuery
from bowstring.web.progress import HEADINGS, describe_progress, moment
from bowstring.web.provenance import ItemSources, ShownSources
from bowstring.web.serving import application

if TYPE_CHECKING:
    from fastapi import FastAPI, Request, Response

_PAGES = 16  # cached pages of runs
_EXAMPLES = 20  # items of a comparison on which the runs differ most
_UNDER_WAY = ("running", "interrupted", "failed")
_SOURCES = "?item="  # the address of an item's sources, relative to the page of its run, before the item's key
# Additional directives for pages of reports.
_CLOSED = {"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'"}


def viewer(folder: Path, store: Path | None = None) -> FastAPI:
    """The web application for a folder of runs. Without `store`, the responses of a run are looked up in the store
    beside it."""
    if store is not None:
        check_store(store)
    app = application("view")
    pages = _Pages(Catalogue(folder), store)
    for path, answer in {
        "/": pages.all,
        "/run/{name:path}": pages.run,
        "/progress/{name:path}": pages.progress,
        "/compare": pages.compare,
        "/{anything:path}": pages.nothing,
    }.items():
        app.add_route(path, answer, methods=["GET"])
    return app


def start(given: Path) -> tuple[Path, str]:
    """The folder to list and the start page: the page of a run or sweep, if one is given."""
    if not given.is_dir():
        wrong = "is not a folder" if given.exists() else "does not exist"
        raise UsageError(f"{given} {wrong}; expected a folder of runs (bowstring demo creates one)")
    if not any((given / name).is_file() for name in ("run.json", "sweep.json")):
        return given, "/"
    path = given.resolve()
    found = (entry.name for entry in Catalogue(path.parent).entries() if entry.path == path)
    return path.parent, address(next(found, path.name))


def address(name: str) -> str:
    """The address of the page of a run."""
    return "/run/" + quote(name)


class _Pages:
    def __init__(self, catalogue: Catalogue, store: Path | None) -> None:
        from jinja2 import PackageLoader

        self._catalogue = catalogue
        self._listing = Listing(catalogue)
        self._sources = ItemSources(catalogue.root, store)
        self._of_runs = FileCache(_write_run, ("metrics.json", "records.jsonl"), most=_PAGES)
        self._templates = page.environment()
        self._templates.loader = PackageLoader("bowstring.web", "templates")
        self._templates.filters |= {"address": address, "query": urlencode, "moment": moment}
        self._templates.globals["describe_progress"] = describe_progress

    def all(self, request: Request) -> Response:
        asked = request.query_params
        wanted = ListQuery.read(asked.get("q", ""), asked.get("sort", "-when"), asked.get("page", "1"))
        listed = self._listing.listed(wanted)
        return self._html("view_list.html", 200, listed=listed, columns=COLUMNS, root=str(self._catalogue.root))

    def run(self, request: Request) -> Response:
        name = request.path_params["name"]
        entry = self._catalogue.entry(name)
        if entry is None and (owner := self._catalogue.entry(name.removesuffix("/report.html"))) is not None:
            return _redirect(address(owner.name))  # the links of a sweep to its runs
        if (item := request.query_params.get("item")) is not None:
            return self._sources_of(entry, item)
        if entry is None:
            return self._missing(f"There is no run {name} in this folder.")
        if entry.status == "broken":
            return self._message(entry.name, entry.reason, 200)
        if entry.status in _UNDER_WAY and "results" not in request.query_params:
            return self._under_way(entry)
        try:
            made = self._sweep(entry) if entry.kind == "sweep" else self._of_runs.of(entry.path)
        except (BowstringError, Unreadable) as problem:  # such as a benchmark that is not installed
            return self._message(entry.name, str(problem), 200)
        return _report(self._with_navigation(made, [entry.name]), loads=entry.kind == "run")

    def progress(self, request: Request) -> Response:
        entry = self._catalogue.entry(request.path_params["name"])
        if entry is None:
            return _json({"status": "gone"}, 404)
        progress = describe_progress(entry.status, read_progress(entry.path))
        return _json({"status": entry.status, **progress.as_json()})

    def compare(self, request: Request) -> Response:
        """Paired differences, if the runs are comparable; otherwise their metrics side by side, with the reason."""
        names = list(dict.fromkeys(request.query_params.getlist("run")))
        found = {name: self._catalogue.entry(name) for name in names}
        if missing := [name for name, entry in found.items() if entry is None]:
            return self._missing(f"There is no run {missing[0]} in this folder.")
        entries = self._runs_of([entry for entry in found.values() if entry is not None])
        if len(entries) < 2:
            return self._message("Nothing to compare", "Select two or more runs in the list, or a sweep.", 400)
        try:
            return _report(self._with_navigation(_paired(entries), [entry.name for entry in entries]))
        except (BowstringError, Unreadable) as problem:
            return self._side_by_side(entries, str(problem).replace(f"{self._catalogue.root}{os.sep}", ""))

    def _sources_of(self, entry: Entry | None, item: str) -> Response:
        """Where the answers of an item came from; the page loads this when a reader asks for it."""
        found = None
        try:
            if entry is not None and entry.kind == "run" and entry.status != "broken":  # a link is broken
                found = self._sources.of(entry, item)
        except Unreadable as problem:
            return _json(ShownSources([], f"{escape_control_characters(str(problem))}.").as_json())
        if found is None:
            return _json(ShownSources([], "The run has no such item now. Reload the page.").as_json(), 404)
        return _json(found.as_json())

    def nothing(self, request: Request) -> Response:
        return self._missing(f"There is no page {request.url.path}.")

    def _under_way(self, entry: Entry) -> Response:
        row = self._listing.rows([entry])[0]
        progress = describe_progress(entry.status, row.progress)
        earlier = (entry.path / "metrics.json").is_file()
        return self._html("view_watch.html", 200, row=row, progress=progress, headings=HEADINGS, earlier=earlier)

    def _sweep(self, entry: Entry) -> str:
        """The page of a sweep, with links to the pages of its runs."""
        names = self._names_of(entry)
        points = {
            name: {**point, "folder": address(names.get(name) or f"{entry.name}/{name}")}
            for name, point in entry.manifest["points"].items()
        }
        return _written(partial(write_sweep_page, {**entry.manifest, "points": points}), "sweep.json")

    def _names_of(self, sweep: Entry) -> dict[str, str]:
        """The run names of the points of a sweep."""
        named = {entry.path: entry.name for entry in self._catalogue.entries() if entry.kind == "run"}
        found = {}
        for name, point in sweep.manifest["points"].items():
            folder = Path(os.path.normpath(sweep.path / str(point.get("folder"))))
            if folder in named:
                found[name] = named[folder]
        return found

    def _runs_of(self, entries: Sequence[Entry]) -> list[Entry]:
        """The runs, with each sweep replaced by its runs."""
        found: dict[str, Entry] = {}
        for entry in entries:
            names = self._names_of(entry).values() if entry.kind == "sweep" else [entry.name]
            found |= {name: run for name in names if (run := self._catalogue.entry(name)) is not None}
        return list(found.values())

    def _side_by_side(self, entries: Sequence[Entry], why: str) -> Response:
        rows = self._listing.rows(entries)
        found = [_metrics(row.entry) for row in rows]
        metrics = [_estimates(own) for own in found]
        names = list(dict.fromkeys(name for own in metrics for name in own))
        clusters = " or ".join(dict.fromkeys(row.clusters for row in rows))
        notes: dict[str, list[str]] = {}  # note -> names of its runs
        abouts = [_about(own) for own in found]
        for row, own, about in zip(rows, found, abouts, strict=True):
            for note in filter(None, ["" if about is None else about.note, *_notes(own)]):
                notes.setdefault(note, []).append(row.entry.name)
        return self._html(
            "view_compare.html",
            200,
            rows=rows,
            metrics=metrics,
            names=names,
            notes=notes,
            why=why,
            clusters=clusters,
            abouts=[[] if about is None else list(facts(about).values()) for about in abouts],
        )

    def _with_navigation(self, made: str, names: Sequence[str]) -> str:
        """The page with a navigation bar: links to the list and to the compared runs."""
        navigation = self._templates.get_template("view_way_back.html").render(names=names)
        return re.sub(r"<body[^>]*>", lambda found: f"{found[0]}\n{navigation}", made, count=1)

    def _missing(self, what: str) -> Response:
        return self._message("Not found", what, 404)

    def _message(self, title: str, what: str, status: int) -> Response:
        return self._html("view_message.html", status, title=title, what=what)

    def _html(self, template: str, status: int, **values: Any) -> Response:
        return _response(self._templates.get_template(template).render(**values), status)


def _write_run(folder: Path) -> str:
    metrics = read_json_object(folder / "metrics.json")
    records: list[dict[str, Any]] = []
    if (folder / "records.jsonl").is_symlink() or (folder / "records.jsonl").exists():
        records = read_plain_records(folder)
    elif isinstance(metrics.get("notes"), list):
        metrics["notes"].append("records.jsonl is missing, so no items are shown")
    histories, why = _histories(folder)
    about = f"Histories are not shown: {why}." if why else ""
    return _written(
        lambda: page.write_page(metrics, records, histories, about_histories=about, sources_at=_SOURCES),
        "metrics.json or records.jsonl",
    )


def _histories(folder: Path) -> tuple[Histories | None, str | None]:
    from bowstring.reports.items import histories_of
    from bowstring.studies.report import data_of

    try:
        data, why = data_of(open_run(folder), fetch=False)
    except Exception as error:  # run.json may be malformed; the page works without histories
        return None, error_line(error)
    return (histories_of(data), None) if data else (None, why)


def _written(write: Callable[[], str], name: str) -> str:
    try:
        return write()
    except BowstringError:
        raise
    except Exception as error:  # a template fails on a malformed file in any way
        raise Unreadable(f"{name} is malformed: {error!r}") from error


def _paired(entries: Sequence[Entry]) -> str:
    from bowstring.studies.compare import compare
    from bowstring.studies.compare_page import write_compare_page

    for entry in entries:
        if entry.status not in ("complete", "stopped"):
            raise Unreadable(f"{entry.name}: {entry.reason or entry.status}")
        for name in ("run.json", "metrics.json", "records.jsonl"):
            check_plain(entry.path / name)
    paths = [entry.path for entry in entries]
    return _written(lambda: write_compare_page(compare(paths, items=_EXAMPLES)), "one of these runs")


def _metrics(entry: Entry) -> Mapping[str, Any]:
    """The metrics.json of a run; empty if it cannot be read."""
    try:
        return read_json_object(entry.path / "metrics.json")
    except Unreadable:
        return {}


def _about(metrics: Mapping[str, Any]) -> About | None:
    """What the scores of a run are of; None if its metrics.json is malformed."""
    try:
        return about_of(metrics)
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError):
        return None


def _estimates(metrics: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    """The valid estimates."""
    found = metrics.get("metrics")
    return {name: e for name, e in found.items() if _is_estimate(e)} if isinstance(found, dict) else {}


def _notes(metrics: Mapping[str, Any]) -> list[str]:
    """The valid notes."""
    said = metrics.get("notes")
    counts = {name: metrics[name] for name in ("n", *COUNTS) if isinstance(metrics.get(name), int)}
    notes = [note for note in said if isinstance(note, str)] if isinstance(said, list) else []
    return notes_of({"n": 0} | counts | {"notes": notes})


def _is_estimate(e: object) -> bool:
    return isinstance(e, dict) and all(isinstance(e.get(k), int | float) for k in ("value", "low", "high", "n"))


def _report(made: str, *, loads: bool = False) -> Response:
    """A page of `reports` with its content security policy, and the directives that only a header can set."""
    own = page.policy(loads=loads)
    given = {directive.split()[0] for directive in own.split(";") if directive.strip()}
    closed = [f"{name} {value}" for name, value in _CLOSED.items() if name not in given]
    response = _response(made, 200)
    response.headers["Content-Security-Policy"] = "; ".join([own, *closed])
    return response


def _response(text: str, status: int) -> Response:
    from fastapi import Response

    # JSON allows lone surrogates; UTF-8 does not.
    return Response(text.encode("utf-8", "replace"), status, media_type="text/html; charset=utf-8")


def _json(value: Mapping[str, Any], status: int = 200) -> Response:
    from fastapi import Response

    return Response(json.dumps(value), status, media_type="application/json")


def _redirect(place: str) -> Response:
    from fastapi import Response

    return Response(status_code=303, headers={"Location": place})
