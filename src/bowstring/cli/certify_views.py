"""The terminal output of a comparison with the authors' code."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from bowstring.api.certify import Certificate
from bowstring.certification.comparing import ENDS, REQUESTS
from bowstring.cli.output import counted, plain


def print_certificate(found: Certificate, to: Console) -> None:
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="dim")
    for n, head in enumerate(("case", "what", "compared", "equal", "different", "cause")):
        table.add_column(head, justify="right" if n >= 2 else "left", no_wrap=True)
    before = None
    compared = [row for row in found.rows if row.what != ENDS]
    # Causes are long: the rows have their numbers.
    causes = {cause: n for n, cause in enumerate(dict.fromkeys(r.cause for r in compared if r.different), start=1)}
    for row in compared:
        shown = "" if row.case == before else plain(row.case)
        cause = str(causes[row.cause]) if row.different else ""
        table.add_row(shown, plain(row.what), *(f"{n:,}" for n in (row.compared, row.equal, row.different)), cause)
        before = row.case
    to.print(table)
    if causes:
        to.print("\nCauses, from the first difference of a row")
    for cause, n in causes.items():
        to.print(f"{n}. {plain(cause)}", style="yellow", markup=False)
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
