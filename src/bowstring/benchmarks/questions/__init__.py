"""Questions behind histories, each answer judged by itself: what many benchmarks of memory have in common.

A benchmark of this kind says where its data is (`read`), how it asks and judges (two templates), and its name. It gets
evaluation with every history, dry run, sweep, report, comparison, people's ratings and the generic checks of an audit.
See docs/adding-a-benchmark.md.
"""

from bowstring.benchmarks.questions.benchmark import QuestionBenchmark
from bowstring.benchmarks.questions.data import Question, QuestionSet
from bowstring.benchmarks.questions.evaluation import QuestionSettings

__all__ = ["Question", "QuestionBenchmark", "QuestionSet", "QuestionSettings"]
