"""The package as a whole: its exports, the cost of importing it, and the docstrings of its subpackages."""

import importlib
import pkgutil
import subprocess
import sys

import bowstring

HEAVY = ["torch", "transformers", "matplotlib", "fastapi", "pyarrow", "huggingface_hub", "openai", "anthropic"]


def test_importing_bowstring_is_light():
    code = f"import sys, bowstring; print([m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_the_public_surface_fits_on_two_lines():
    names = ["BowstringError", "Run", "agree", "audit", "compare", "evaluate", "load", "load_cupid", "load_hicupid"]
    assert bowstring.__all__ == [*names, "race", "report", "sweep", "synthesize", "train"]
    assert set(dir(bowstring)) == {*bowstring.__all__, "__version__"}
    assert set(names) <= set(dir(bowstring))
    assert all(callable(getattr(bowstring, name)) for name in bowstring.__all__)


def test_every_module_says_what_it_is_for():
    silent = []
    for module in pkgutil.walk_packages(bowstring.__path__, "bowstring."):
        if not (importlib.import_module(module.name).__doc__ or "").strip():
            silent.append(module.name)
    assert silent == []
