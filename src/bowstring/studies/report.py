"""The report of a finished run or sweep: page, figures and tables, from the files in its folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Annotated, Literal

from bowstring.benchmarks.figures import Figure
from bowstring.benchmarks.loading import bundled_sets, load
from bowstring.benchmarks.of_run import installed_benchmark, open_run
from bowstring.datasets.dataset import DataSet
from bowstring.errors import BowstringError, DataError, UsageError
from bowstring.files.names import safe_file_name
from bowstring.files.redaction import error_line
from bowstring.files.writing import make_folder, write_file
from bowstring.reports import plots
from bowstring.reports.figures import figures_of
from bowstring.reports.items import histories_of
from bowstring.reports.page import write_page
from bowstring.reports.published import published_tables
from bowstring.reports.sweep_page import sweep_figures, write_sweep_page
from bowstring.reports.tables import FORMATS, Table, sweep_tables, tables_of
from bowstring.runs.folder import AUDIT_NAME, EndedRun, read_metrics
from bowstring.runs.running import Run
from bowstring.runs.sweep import read_sweep
from bowstring.settings import checked_call, option
from bowstring.studies.validity import with_audit

FigureFormat = Literal["svg", "pdf", "png", "none"]
TableFormat = Literal["md", "csv", "tex", "none"]


@dataclass(frozen=True, slots=True)
class Report:
    page: str
    figures: Sequence[Figure]
    numbers: Sequence[Table]

    def write(self, folder: Path, *, figures: Sequence[str], as_tables: Sequence[str]) -> list[Path]:
        """Write report.html, figures/NAME.pdf …, tables/NAME.csv …; return the paths."""
        page = make_folder(folder) / "report.html"
        write_file(page, self.page)
        written = [page]
        if figures:
            inside = make_folder(folder, "figures")
            for figure in self.figures:
                written += plots.save_figure(figure, inside, figures)
        if as_tables:
            inside = make_folder(folder, "tables")
        for table in self.numbers:
            for form in as_tables:
                path = inside / safe_file_name(table.name, f".{form}")
                write_file(path, FORMATS[form](table))
                written.append(path)
        return written


@checked_call
def report(
    run: str | PathLike[str] | Run,
    *,
    out: Annotated[
        str | PathLike[str] | None,
        option("Folder to write to.", metavar="FOLDER", shown_default="the folder of the run"),
    ] = None,
    figures: Annotated[
        Sequence[FigureFormat] | None,
        option("Format of figures; repeatable.", shown_default="all, if matplotlib is installed"),
    ] = None,
    tables: Annotated[
        Sequence[TableFormat] | None, option("Format of tables; repeatable.", shown_default="all")
    ] = None,
    data: Annotated[str | None, option("Current location of the run's data set, if it was moved.")] = None,
    tell: Callable[[str], None] = lambda line: None,
) -> list[Path]:
    """Write the page of a run or a sweep, its figures and its tables, as `bowstring report` does. Return the
    paths, the page first.

    `out` is the folder to write to, by default the folder of the run; `figures` (svg, pdf, png) and `tables` (md, csv,
    tex) are formats, by default all; `data` is the current location of the data set, if it was moved.
    """
    folder = run.folder if isinstance(run, Run) else Path(run)
    into = folder if out is None else Path(out)
    wanted = plots.FORMATS if figures is None else tuple(form for form in figures if form != "none")
    as_tables = tuple(FORMATS) if tables is None else tuple(form for form in tables if form != "none")
    if wanted and not plots.is_available():
        if figures is not None:
            raise UsageError(f"--figures {wanted[0]}: {plots.NEEDED}")
        tell(f"No figures: {plots.NEEDED}")
        wanted = ()
    result = make_report(folder, data=data, out=into, tell=tell)
    return result.write(into, figures=wanted, as_tables=as_tables)


def make_report(
    folder: Path, *, data: str | None = None, out: Path | None = None, tell: Callable[[str], None] = lambda line: None
) -> Report:
    """The report of the run or sweep in a folder. `data` is the current location of its data set, if it was moved;
    `out` is the folder of the report, for its links."""
    if (folder / "sweep.json").is_file():
        return _of_sweep(folder, out or folder)
    run = open_run(folder)
    metrics, records = with_audit(read_metrics(folder), folder), list(run.records())
    written = metrics.get("records", metrics["n"])
    if len(records) != written:
        raise DataError(
            f"{folder / 'records.jsonl'} has {len(records):,} of {written:,} records; run the evaluation again "
            "(responses are in the store)"
        )
    found, why = data_of(run, data)
    if data is not None and found is None:
        raise UsageError(f"--data {data}: {why}")
    if why:
        tell(f"No histories: {why} (give the location of the set with --data)")
    about = f"Histories are not shown: {why}." if why else ""
    try:
        page = write_page(metrics, records, histories_of(found) if found else None, about_histories=about)
        return Report(page, figures_of(metrics, records), [*tables_of(metrics), *published_tables(metrics)])
    except BowstringError:
        raise
    except Exception as error:  # a template fails on a malformed file in any way
        name = "metrics.json" + (f" or {AUDIT_NAME}" if (folder / AUDIT_NAME).is_file() else "")
        reason = error_line(error, with_type=True)
        raise DataError(
            f"{folder}: the report cannot be drawn ({reason}); if {name} was changed, run the evaluation again "
            "(responses are in the store)"
        ) from error


def refresh(folder: Path) -> bool:
    """Rewrite the page of a run if its data set is available; a page with histories is never replaced by one
    without."""
    run = open_run(folder)
    found, _ = data_of(run, fetch=False)
    if found is None:
        return False
    make_report(folder).write(folder, figures=(), as_tables=())
    return True


def _of_sweep(folder: Path, out: Path) -> Report:
    summary = read_sweep(folder)
    try:
        for point in summary["points"].values():
            point["folder"] = os.path.relpath(folder / point["folder"], out)
        return Report(write_sweep_page(summary), sweep_figures(summary), sweep_tables(summary))
    except BowstringError:
        raise
    except Exception as error:  # as above
        raise UsageError(
            f"{folder}: the report cannot be drawn ({error_line(error, with_type=True)}); if sweep.json was changed, "
            "run the sweep again"
        ) from error


def data_of(run: EndedRun, given: str | None = None, *, fetch: bool = True) -> tuple[DataSet | None, str | None]:
    """A run's data set if it is available and unchanged; otherwise the reason. Without `fetch`, only a bundled set or a
    folder is used: nothing is downloaded for a run that may come from somebody else."""
    data, settings = run.configuration["data"], run.configuration["settings"]
    name = given or run.data_name
    try:
        benchmark = installed_benchmark(run.configuration["benchmark"])
        if not fetch and not Path(name).exists() and bundled_sets(name, benchmark.name) is None:
            return None, f"its data set {name} is not available"
        found = load(name, benchmark.name, revision=data["revision"], choice=benchmark.choice(settings))
    except BowstringError as error:
        return None, str(error)
    if found.fingerprint != data["fingerprint"]:
        return None, f"{name} has changed since the run"
    return found, None
