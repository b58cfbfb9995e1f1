"""Base of benchmarks that ask questions after a history and judge each answer separately, as many memory benchmarks do.

A benchmark of this kind defines its name, how its data is read (`read`), and two templates (ask and judge). It gets
evaluation with all histories, dry runs, sweeps, reports, comparisons, human evaluation and the generic audit checks.
See docs/adding-a-benchmark.md.
"""

from bowstring.benchmarks.questions.benchmark import QuestionBenchmark
from bowstring.benchmarks.questions.data import Question, QuestionSet
from bowstring.benchmarks.questions.evaluation import QuestionSettings

__all__ = ["Question", "QuestionBenchmark", "QuestionSet", "QuestionSettings"]
