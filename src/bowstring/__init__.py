"""Bowstring builds, runs and trains on benchmarks of LLM personalization and memory: HiCUPID, CUPID, or custom ones.

    import bowstring

    run = bowstring.evaluate("hicupid", model="openai/gpt-4o-mini", judge="openai/gpt-4o-2024-11-20")
    run.metrics["metrics"]["score.total"]

Importing the package is cheap: heavy modules are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from bowstring.api.calls import evaluate, sweep, synthesize
    from bowstring.api.race import race
    from bowstring.api.train import train
    from bowstring.benchmarks.loading import load, load_cupid, load_hicupid
    from bowstring.errors import BowstringError
    from bowstring.runs.running import Run
    from bowstring.studies.agree import agree
    from bowstring.studies.audit import audit
    from bowstring.studies.compare import compare
    from bowstring.studies.report import report

_HOMES = {
    "BowstringError": "bowstring.errors",
    "Run": "bowstring.runs.running",
    "agree": "bowstring.studies.agree",
    "audit": "bowstring.studies.audit",
    "compare": "bowstring.studies.compare",
    "evaluate": "bowstring.api.calls",
    "load": "bowstring.benchmarks.loading",
    "load_cupid": "bowstring.benchmarks.loading",
    "load_hicupid": "bowstring.benchmarks.loading",
    "race": "bowstring.api.race",
    "report": "bowstring.studies.report",
    "sweep": "bowstring.api.calls",
    "synthesize": "bowstring.api.calls",
    "train": "bowstring.api.train",
}

__all__ = [
    "BowstringError",
    "Run",
    "agree",
    "audit",
    "compare",
    "evaluate",
    "load",
    "load_cupid",
    "load_hicupid",
    "race",
    "report",
    "sweep",
    "synthesize",
    "train",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'bowstring' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
