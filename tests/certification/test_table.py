"""The table of `bowstring certify` in the terminal: a cause is printed once, and its rows have its number."""

import io

from rich.console import Console

from bowstring.api.certify import Certificate
from bowstring.certification.comparing import Row
from bowstring.cli.certify_views import print_certificate


def printed(*rows: Row) -> list[str]:
    to = Console(file=io.StringIO(), width=100)
    print_certificate(Certificate("cupid", "mini", 12, "github.com/kixlab/CUPID", "a8560cab29", rows, ""), to)
    return to.file.getvalue().splitlines()


def test_a_cause_has_a_number_in_its_rows_and_one_line():
    lines = printed(
        Row("clean", "requests: judge", 12, 12),
        Row("clean", "items: score", 12, 10, "0+crofter: theirs 7.0, ours 8.0"),
        Row("clean", "totals, 6 digits", 9, 8, "score: theirs 7.0, ours 7.1"),
        Row("40% malformed", "items: score", 12, 11, "0+crofter: theirs 7.0, ours 8.0"),
    )
    assert lines[0].split() == ["case", "what", "compared", "equal", "different", "cause"]
    assert [line.split()[-2:] for line in lines[1:5]] == [["12", "0"], ["2", "1"], ["1", "2"], ["1", "1"]]
    assert "1. 0+crofter: theirs 7.0, ours 8.0" in lines
    assert "2. score: theirs 7.0, ours 7.1" in lines
    assert sum("0+crofter" in line for line in lines) == 1
    assert not any("Causes" in line for line in printed(Row("clean", "items: score", 12, 12)))
