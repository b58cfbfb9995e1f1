"""Tables for papers and programs."""

import csv
import io
import re

import pytest

from bowstring.files.escaping import escape_csv
from bowstring.reports.tables import Table, Value, sweep_tables, tables_of, to_csv, to_latex, to_markdown

TABLE = Table(
    "by-income",
    ["income", "score.total", "note"],
    [["$0-$20,000 & more", Value("1,030.8", "27.6", "33.7", 12, 4, False), "a|b"], ["=1+1", None, "50%_{x}\\~^"]],
    clusters="users or personas",
)
OF = {
    "benchmark": "hicupid",
    "n": 9,
    "config": {"settings": {}, "data": {"name": "mini"}},
}


def test_markdown_keeps_its_columns():
    lines = to_markdown(TABLE).splitlines()
    assert lines[0] == "| income | score.total | note |"
    assert lines[1] == "|---|---:|---:|"
    assert lines[2] == "| $0-$20,000 & more | 1,030.8 [27.6, 33.7]* n 12 | a\\|b |"
    assert lines[-1].endswith("fewer than 30 users or personas: do not trust the interval.")


def test_csv_is_read_by_programs_and_runs_nothing_in_a_spreadsheet():
    head, first, second = csv.reader(io.StringIO(to_csv(TABLE)))
    of = ["score.total", "score.total low", "score.total high", "score.total n", "score.total clusters"]
    assert head == ["income", *of, "score.total trusted", "score.total missing", "score.total as worst", "note"]
    assert [float(cell) for cell in first[1:6]] == [1030.8, 27.6, 33.7, 12, 4]
    assert first[6] == "false"
    assert second == ["'=1+1", *[""] * 8, "50%_{x}\\~^"]


@pytest.mark.parametrize(
    "cell",
    ["=cmd|'/c calc'!A0", "+1+cmd", "-2+3", "@SUM(A1)", "\t=1", "\r=1", "-", " =1", "\n=1", "＝1+1", "＠SUM(A1)"],
)
def test_formulas_are_text(cell):
    assert escape_csv(cell).startswith("'")


@pytest.mark.parametrize("cell", ["-7.5", "+1.5", "1e-05", "-1e-05", "text", "", "1,000.5"])
def test_numbers_stay_numbers(cell):
    assert escape_csv(cell) == cell


def test_latex_says_what_was_meant():
    lines = to_latex(TABLE).splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}"
    assert lines[4] == r"\$0-\$20,000 \& more & 1,030.8 {\scriptsize [27.6, 33.7]* $n$ 12} & a\textbar{}b \\"
    assert lines[5] == r"=1+1 &  & 50\%\_\{x\}\textbackslash{}\textasciitilde{}\textasciicircum{} \\"


def test_the_legend_is_printed_in_every_paper():
    """In LaTeX, a comment would not be visible."""
    text = to_latex(TABLE)
    beneath = text.partition("\\end{tabular}\n")[2]
    assert "* fewer than 30 users or personas: do not trust the interval." in beneath
    assert beneath.startswith("\\par\\smallskip\n{\\footnotesize")
    assert beneath.count("{") == beneath.count("}")
    assert not re.search(r"(?<!\\)%", text)
    sure = Table("sure", ["metric", "value"], [["bleu", Value("0.1", "0.1", "0.2", 40, 40, True)]])
    assert to_latex(sure).endswith("\\end{tabular}\n")
    assert len(to_markdown(sure).splitlines()) == 3


def test_every_breakdown_has_its_table():
    e = {"value": 50.0, "low": 40.0, "high": 60.0, "n": 9, "clusters": 3, "trusted": False}
    metrics = {**OF, "metrics": {"score.total": e, "bleu": e}, "groups": {"split": {"a": {"bleu": e}, "b": {}}}}
    scores, by_split = tables_of(metrics)
    assert scores.rows[0] == ["score.total", Value("50.0", "40.0", "60.0", 9, 3, False, 0, "50.0")]
    assert (by_split.name, list(by_split.columns)) == ("by-split", ["split", "bleu"])
    assert by_split.rows[1] == ["b", None]


def test_what_makes_a_number_meaningless_is_under_it_wherever_it_is_pasted():
    e = {"value": 50.0, "low": 40.0, "high": 60.0, "n": 9, "clusters": 40, "trusted": True}
    metrics = {
        **OF,
        **dict.fromkeys(("truncated", "refused"), 0),
        "n": 1200,
        "failed": 1100,
        "unparsed": 3,
        "notes": ["judged by 50% <b>luck</b>."],
        "metrics": {"bleu": e},
        "groups": {"type": {"a": {"bleu": e}}},
    }
    for table in tables_of(metrics):
        *_, luck, _, lost = to_markdown(table).splitlines()
        assert luck == "Note: judged by 50% \\<b\\>luck\\</b\\>."
        assert lost == "Note: of 1,200 items: 1,100 failed, 3 unparsed."
        beneath = to_latex(table).partition("\\end{tabular}\n")[2].splitlines()
        assert r"Note: judged by 50\% \textless{}b\textgreater{}luck\textless{}/b\textgreater{}.\par" in beneath
        assert r"Note: of 1,200 items: 1,100 failed, 3 unparsed.\par" in beneath
        assert len(to_csv(table).splitlines()) == 2, "a program would take a note for a row"


def test_a_sweeps_table_says_which_points_lack_items():
    point = {"n": 9, "failed": 2, "context_tokens": None, "metrics": {}}
    summary = {**OF, "notes": ["a smoke test"], "points": {"none": point, "full": point | {"failed": 0}}}
    (table,) = sweep_tables(summary)
    assert table.notes == ["a smoke test", "none: of 9 items: 2 failed"]
