"""The subpackages: which may import which, and which may name a benchmark."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import bowstring

ROOT = Path(bowstring.__file__).parent
# From the bottom to the top: a room imports only from those below it. Modules outside a room are at the bottom.
ROOMS = (
    "bottom",
    "files",
    "metrics",
    "tree",
    "models",
    "datasets",
    "prompts",
    "judging",
    "history",
    "runs",
    "synthesis",
    "training",
    "benchmarks",
    "reports",
    "studies",
    "api",
    "web",
    "cli",
)
# What a benchmark is called where code asks for it.
NAMED = re.compile(r"[\"'](hi)?cupid[\"']|Hicupid|Cupid")
# The package's own docstring, the demo, and where both are loaded by name.
MAY_NAME = {"__init__.py", "cli/demo.py"}


def room_of(module: str) -> str:
    parts = module.split(".")
    if module in ("bowstring", "bowstring.__main__"):
        return "top"
    return parts[1] if (ROOT / parts[1]).is_dir() else "bottom"


def imports_of(path: Path):
    """Modules that a file imports, wherever in it, also where only types need them."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inside = ROOT.joinpath(*node.module.split(".")[1:], alias.name)
                is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
                yield f"{node.module}.{alias.name}" if is_module else node.module


def edges():
    """Room -> room -> the imports that lead there."""
    found = defaultdict(lambda: defaultdict(set))
    for path in ROOT.rglob("*.py"):
        name = ".".join(("bowstring", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for imported in imports_of(path):
            if imported.split(".")[0] == "bowstring" and room_of(imported) != room_of(name):
                found[room_of(name)][room_of(imported)].add(f"{name} imports {imported}")
    return found


def test_a_room_imports_only_from_those_below_it():
    forbidden = [
        line
        for room, others in edges().items()
        for other, lines in others.items()
        for line in lines
        if room != "top" and other != "top" and ROOMS.index(other) >= ROOMS.index(room)
    ]
    assert forbidden == []


def test_every_room_is_listed():
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert rooms == set(ROOMS) - {"bottom"}


def test_only_the_demo_and_the_package_itself_name_a_benchmark():
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "benchmarks" not in path.relative_to(ROOT).parts and NAMED.search(path.read_text(encoding="utf-8"))
    }
    assert naming <= MAY_NAME
    assert len(MAY_NAME) <= 3
