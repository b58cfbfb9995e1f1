"""The report of a run or a sweep that has ended: its page, its figures and its tables, from what lies in its folder."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bowstring.benchmarks.histories import histories_of
from bowstring.datasets import load_cupid, load_hicupid
from bowstring.errors import BowstringError, DataError, UsageError
from bowstring.reports import plots, tables
from bowstring.reports.figures import Figure, figures_of
from bowstring.reports.items import Histories
from bowstring.reports.page import write_page
from bowstring.reports.sweep_page import columns, sweep_figures, write_sweep_page
from bowstring.reports.tables import Table
from bowstring.runs.folder import AUDIT_NAME, read_metrics, read_records, read_run


@dataclass(frozen=True, slots=True)
class Report:
    page: str
    figures: Sequence[Figure]
    numbers: Sequence[Table]

    def write(self, folder: Path, *, figures: Sequence[str], as_tables: Sequence[str]) -> list[Path]:
        """report.html, figures/NAME.pdf …, tables/NAME.csv …; what was written."""
        folder.mkdir(parents=True, exist_ok=True)
        page = folder / "report.html"
        page.write_text(self.page, encoding="utf-8", errors="replace", newline="\n")
        written = [page]
        if figures:
            (folder / "figures").mkdir(exist_ok=True)
            for figure in self.figures:
                written += plots.save(figure, folder / "figures", figures)
        if as_tables:
            (folder / "tables").mkdir(exist_ok=True)
        for table in self.numbers:
            for form in as_tables:
                path = folder / "tables" / f"{table.name}.{form}"
                path.write_text(tables.FORMATS[form](table), encoding="utf-8", errors="replace", newline="\n")
                written.append(path)
        return written


def report(folder: Path, *, data: str | None = None, tell: Callable[[str], None] = lambda line: None) -> Report:
    """Of the run or the sweep in a folder. `data` is where its data set lies now, if it was moved."""
    if (folder / "sweep.json").is_file():
        return _of_sweep(folder)
    run = read_run(folder)
    metrics, records = _with_audit(read_metrics(folder), folder), list(read_records(folder))
    histories = histories_for(run.configuration, data, tell)
    return Report(write_page(metrics, records, histories), figures_of(metrics, records), tables.tables_of(metrics))


def _with_audit(metrics: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The numbers of a run, and what its last audit found, if it had one."""
    path = folder / AUDIT_NAME
    if not path.is_file():
        return metrics
    try:
        audit = json.loads(path.read_text(encoding="utf-8"))
        if not {"findings", "skipped", "judge"} <= audit.keys():
            raise ValueError("not an audit")
    except (ValueError, AttributeError) as error:
        raise DataError(f"{path} cannot be read; audit the run again: answers are in the store") from error
    return metrics | {"validity": metrics.get("validity", {}) | {"audit": audit}}


def _of_sweep(folder: Path) -> Report:
    try:
        summary = json.loads((folder / "sweep.json").read_text(encoding="utf-8"))
        found = tables.sweep_tables(summary, columns(summary["points"]))
        return Report(write_sweep_page(summary), sweep_figures(summary), found)
    except (ValueError, KeyError, TypeError) as error:
        raise UsageError(f"{folder / 'sweep.json'} cannot be read; run the sweep again") from error


def histories_at_hand(configuration: Mapping[str, Any]) -> Histories | None:
    """As `histories_for`, from a set that is bundled or lies in a folder: nothing is fetched for a run that may be
    somebody else's."""
    name = configuration["data"]["name"]
    return histories_for(configuration) if name.split("/")[0] == "mini" or Path(name).is_dir() else None


def histories_for(
    configuration: Mapping[str, Any], data: str | None = None, tell: Callable[[str], None] = lambda line: None
) -> Histories | None:
    """From the run's data set, if it is there and still the same."""
    said, settings = configuration["data"], configuration["settings"]
    try:
        found = (
            load_cupid(data or said["name"], revision=said["revision"])
            if configuration["benchmark"] == "cupid"
            else load_hicupid(
                data or said["name"],
                revision=said["revision"],
                splits=settings.get("splits") or (),
                leave_out=("train",),
            )
        )
    except BowstringError as error:
        tell(f"Without histories: {error} (--data says where the set lies now)")
        return None
    if found.fingerprint != said["fingerprint"]:
        tell(f"Without histories: {found.name} is not what it was when the run was made (--data for the old one)")
        return None
    return histories_of(found)
