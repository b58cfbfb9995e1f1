"""The calls of the Python API whose settings depend on the benchmark: evaluate, sweep, synthesize.

run = evaluate(NAME, model="embedded", judge="builtin", limit=10)
run.metrics["metrics"]

swept = sweep(NAME, model="embedded", history=["full", "gold", "last:4k"])
swept.points["gold"].metrics["metrics"]

made = synthesize(NAME, model="openai/gpt-4o-mini", personas=4, out="sets/mine")
made.quality.as_json()

A type checker knows the settings of the built-in benchmarks as keywords. Those of a benchmark of another package are
keywords at run time, too; for a type checker, give them as `settings`, a mapping.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Unpack, overload

from bowstring.api.evaluate import ModelLike, Tell, Watch, prepare, prepare_sweep
from bowstring.api.synthesize import SynthesisResult, prepare_synthesis, synthesize_offline
from bowstring.runs.running import Run, RunKeywords
from bowstring.runs.sweep import SweepResult
from bowstring.settings import merge_settings
from bowstring.synthesis.settings import SynthesisKeywords


class EvaluationKeywords(RunKeywords, total=False):
    """The keywords of `evaluate` and `sweep` that do not belong to a benchmark: `Subject`, `RunOptions`, and how to
    watch."""

    model: ModelLike
    judge: ModelLike
    matcher: ModelLike
    history_model: ModelLike
    served_as: Sequence[str]
    as_openai: Sequence[str]
    template_args: str | Mapping[str, Any] | None
    thinking_tokens: int | None
    data: str | None
    revision: str | None
    like: str | PathLike[str] | Run | None
    watch: Watch
    tell: Tell


class AnyKeywords(EvaluationKeywords, total=False):
    """For a benchmark whose name or settings are not known statically."""

    settings: Mapping[str, Any]
    history: str


class AnySweepKeywords(EvaluationKeywords, total=False):
    settings: Mapping[str, Any]
    history: str | Sequence[str]


class SynthesisCallKeywords(SynthesisKeywords, total=False):
    """The keywords of `synthesize` that do not belong to a benchmark."""

    model: Any
    offline: bool
    watch: Watch
    tell: Tell


class AnySynthesisKeywords(SynthesisCallKeywords, total=False):
    """For a benchmark whose name or settings are not known statically."""

    settings: Mapping[str, Any]


if TYPE_CHECKING:
    from bowstring.benchmarks.cupid.evaluation import CupidKeywords, CupidSweepKeywords
    from bowstring.benchmarks.cupid.synthesis import CupidSynthesisKeywords
    from bowstring.benchmarks.hicupid.evaluation import HicupidKeywords, HicupidSweepKeywords
    from bowstring.benchmarks.hicupid.synthesis import HicupidSynthesisKeywords

    class _Hicupid(EvaluationKeywords, HicupidKeywords): ...

    class _Cupid(EvaluationKeywords, CupidKeywords): ...

    class _HicupidSweep(EvaluationKeywords, HicupidSweepKeywords): ...

    class _CupidSweep(EvaluationKeywords, CupidSweepKeywords): ...

    class _HicupidSynthesis(SynthesisCallKeywords, HicupidSynthesisKeywords): ...

    class _CupidSynthesis(SynthesisCallKeywords, CupidSynthesisKeywords): ...


@overload
def evaluate(benchmark: Literal["hicupid"], **given: Unpack[_Hicupid]) -> Run: ...
@overload
def evaluate(benchmark: Literal["cupid"], **given: Unpack[_Cupid]) -> Run: ...
@overload
def evaluate(benchmark: str | None = None, **given: Unpack[AnyKeywords]) -> Run: ...
def evaluate(benchmark: str | None = None, *, settings: Mapping[str, Any] | None = None, **given: Any) -> Run:
    """Evaluate a model and return the run, as `bowstring eval` does.

    `model` and `judge` are names or your own objects; `data` is a hub id, a folder, a file or mini. Further
    settings are those of the benchmark (history, max_tokens, temperature, seed …) and of the run (out, limit,
    concurrency, max_cost …); `bowstring eval NAME --help` lists them. `like` is a run whose configuration
    is repeated, except for the settings given here. Settings may also be given as `settings`, a mapping: a type checker
    does not know those of a benchmark of another package as keywords.
    """
    return prepare(benchmark, **merge_settings(settings, given)).run()[0]


@overload
def sweep(benchmark: Literal["hicupid"], **given: Unpack[_HicupidSweep]) -> SweepResult: ...
@overload
def sweep(benchmark: Literal["cupid"], **given: Unpack[_CupidSweep]) -> SweepResult: ...
@overload
def sweep(benchmark: str | None = None, **given: Unpack[AnySweepKeywords]) -> SweepResult: ...
def sweep(benchmark: str | None = None, *, settings: Mapping[str, Any] | None = None, **given: Any) -> SweepResult:
    """Evaluate a model under several settings at once: `history`, `shots` or `instruction` may be lists."""
    return prepare_sweep(benchmark, **merge_settings(settings, given)).run()


@overload
def synthesize(benchmark: Literal["hicupid"], **given: Unpack[_HicupidSynthesis]) -> SynthesisResult: ...
@overload
def synthesize(benchmark: Literal["cupid"], **given: Unpack[_CupidSynthesis]) -> SynthesisResult: ...
@overload
def synthesize(benchmark: str, **given: Unpack[AnySynthesisKeywords]) -> SynthesisResult: ...
def synthesize(
    benchmark: str, *, offline: bool = False, settings: Mapping[str, Any] | None = None, **given: Any
) -> SynthesisResult:
    """Generate a data set, as `bowstring synth` does: with models, or `offline` from word banks.

    `model` is a name or your own object. Other settings are those of the benchmark (users or personas, turns,
    temperature, seed …), its additional roles (such as assistant and judge) and those of `SynthesisOptions` (seeds,
    preview, store, max_cost …). Settings may also be given as `settings`, a mapping: a type checker does not know
    those of a benchmark of another package as keywords.
    """
    whole = merge_settings(settings, given)
    if offline:
        whole.pop("watch", None)
        return synthesize_offline(benchmark, **whole)
    return prepare_synthesis(benchmark, **whole).run()
