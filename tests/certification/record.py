"""Record what the authors' code asks and counts, with prompts in our own words, for the tests of `bowstring certify`.

    python -m tests.certification.record cupid CHECKOUT PYTHON

CHECKOUT is a checkout of the authors' repository, PYTHON that of an environment with its requirements.
"""

import ast
import shutil
import sys
import tempfile
from pathlib import Path

from bowstring.api.certify import certify
from tests.certification import CHECKOUTS, RECORDINGS


def overlaid(checkout: Path, benchmark: str, folder: Path) -> Path:
    """A copy of a checkout with our files in place of the authors', and our constants in place of theirs."""
    shutil.copytree(checkout, folder)
    for path in (CHECKOUTS / benchmark).rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(CHECKOUTS / benchmark)
            ours = path.read_text(encoding="utf-8")
            target.write_text(with_constants(target.read_text(), ours) if path.suffix == ".py" else ours)
    return folder


def with_constants(theirs: str, ours: str) -> str:
    """Their code, with the constants that ours assigns."""
    values = {name_of(node): ast.get_source_segment(ours, node) for node in ast.parse(ours).body}
    lines = theirs.splitlines(keepends=True)
    for node in reversed(ast.parse(theirs).body):
        if name_of(node) in values:
            lines[node.lineno - 1 : node.end_lineno] = [f"{values[name_of(node)]}\n"]
    return "".join(lines)


def name_of(node: ast.stmt) -> str | None:
    return node.targets[0].id if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) else None


def main(benchmark: str, checkout: str, python: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = overlaid(Path(checkout), benchmark, Path(name) / "checkout")
        found = certify(benchmark, folder, python=Path(python), record=RECORDINGS / f"{benchmark}.json", tell=print)
    for row in found.rows:
        if row.different:
            print(row)
    print("equal" if found.equal else "different")


if __name__ == "__main__":
    main(*sys.argv[1:])
