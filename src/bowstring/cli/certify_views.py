"""The terminal output of a comparison with the authors' code."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from bowstring.api.certify import Certificate
from bowstring.certification.comparing import ENDS, REQUESTS
from bowstring.cli.output import counted, plain


def print_certificate(found: Certificate, to: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, head in enumerate(("case", "what", "compared", "equal", "different")):
        table.add_column(head, justify="right" if n >= 2 else "left", no_wrap=True)
    before = None
    compared = [row for row in found.rows if row.what != ENDS]
    for row in compared:
        shown = "" if row.case == before else plain(row.case)
        table.add_row(shown, plain(row.what), *(f"{n:,}" for n in (row.compared, row.equal, row.different)))
        before = row.case
    to.print(table)
    for row in compared:
        if row.different:
            to.print(f"! {plain(row.case)}, {plain(row.what)}: {plain(row.cause)}", style="yellow", markup=False)
    ends = [row for row in found.rows if row.what == ENDS]
    if ends:
        to.print("\nAnswers on which the reference ends without a number")
    for row in ends:
        mark = "! " if row.different else "  "
        to.print(f"{mark}{plain(row.case)}: {plain(row.cause)}", markup=False)
    _print_verdict(found, to)


def _print_verdict(found: Certificate, to: Console) -> None:
    differing = sum(row.different > 0 for row in found.rows)
    asked = sum(row.compared for row in found.rows if row.what.startswith(REQUESTS))
    verdict = "All rows are equal." if found.equal else f"{differing} of {len(found.rows)} rows differ."
    to.print(
        f"\n{plain(found.benchmark)} on {plain(found.data)} ({counted(found.items, 'item')}), against "
        f"{found.repository}{f' at {found.commit}' if found.commit else ''}: "
        f"{counted(asked, 'request')} compared. {verdict}",
        markup=False,
    )
    if found.replaced:
        to.print(found.replaced, style="dim", markup=False)
