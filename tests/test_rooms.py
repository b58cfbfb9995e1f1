"""The subpackages: which may import which, and which may name a benchmark."""

import ast
import re
from collections import defaultdict
from pathlib import Path

import pytest

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
    "certification",
    "benchmarks",
    "reports",
    "studies",
    "api",
    "web",
    "cli",
)
# The package's own names, the demo, and the calls with keywords that type checkers know.
MAY_NAME = {"__init__.py", "api/calls.py", "cli/demo.py"}


def room_of(module: str) -> str:
    parts = module.split(".")
    if module in ("bowstring", "bowstring.__main__"):
        return "top"
    return parts[1] if (ROOT / parts[1]).is_dir() else "bottom"


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def texts_of(tree: ast.Module):
    """String constants other than docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docs = {
        id(node.body[0].value) for node in ast.walk(tree) if isinstance(node, documented) and ast.get_docstring(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            yield node.value


def names_of(tree: ast.Module):
    for node in ast.walk(tree):
        yield from (str(getattr(node, field)) for field in ("id", "attr", "name", "arg") if hasattr(node, field))


def imports_of(tree: ast.Module):
    """Modules that a file imports, wherever in it, also where only types need them, and by name at run time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.module is not None, "imports are absolute"
            assert node.level == 0, "imports are absolute"
            for alias in node.names:
                inside = ROOT.joinpath(*node.module.split(".")[1:], alias.name)
                is_module = inside.is_dir() or inside.with_suffix(".py").is_file()
                yield f"{node.module}.{alias.name}" if is_module else node.module
    for text in texts_of(tree):
        if re.fullmatch(r"bowstring(\.\w+)+(:\w+)?", text) and (ROOT / text.split(".")[1].partition(":")[0]).is_dir():
            yield text.partition(":")[0]


def edges():
    """Room -> room -> the imports that lead there."""
    found = defaultdict(lambda: defaultdict(set))
    for path in ROOT.rglob("*.py"):
        name = ".".join(("bowstring", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")
        for imported in imports_of(tree_of(path)):
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


def from_the_package(tree: ast.Module):
    """What a file takes from the package itself, where everything is exported: names that are not modules."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name == "bowstring")
        elif isinstance(node, ast.ImportFrom) and node.module == "bowstring":
            modules = {path.stem for path in ROOT.iterdir()}
            yield from (alias.name for alias in node.names if alias.name not in modules)


def test_no_room_uses_the_package_from_outside():
    taken = {name for path in ROOT.rglob("*.py") for name in from_the_package(tree_of(path))}
    assert taken == {"__version__"}


@pytest.mark.parametrize(
    "sneaked",
    [
        "from bowstring.benchmarks import registry",
        "def later():\n    from bowstring.studies.compare import compare",
        "if TYPE_CHECKING:\n    from bowstring.cli import main",
        "import_module('bowstring.benchmarks.hicupid.benchmark')",
        "__import__('bowstring.studies.compare')",
    ],
)
def test_a_forbidden_import_is_seen(sneaked):
    rooms = {room_of(name) for name in imports_of(ast.parse(sneaked)) if name.startswith("bowstring.")}
    assert any(ROOMS.index(room) > ROOMS.index("runs") for room in rooms)


def test_what_leads_round_the_rooms_is_seen():
    assert list(from_the_package(ast.parse("import bowstring"))) == ["bowstring"]
    assert list(from_the_package(ast.parse("from bowstring import evaluate, errors"))) == ["evaluate"]
    with pytest.raises(AssertionError, match="imports are absolute"):
        list(imports_of(ast.parse("from ..benchmarks import registry")))


def test_three_modules_outside_the_benchmarks_name_one():
    naming = {
        path.relative_to(ROOT).as_posix()
        for path in ROOT.rglob("*.py")
        if "benchmarks" not in path.relative_to(ROOT).parts
        and any("cupid" in text.lower() for of in (texts_of, names_of) for text in of(tree_of(path)))
    }
    assert naming == MAY_NAME
