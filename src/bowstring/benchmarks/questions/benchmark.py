"""Base class of question benchmarks: everything except the name, the data and the two templates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from bowstring.benchmarks.interface import Benchmark, Context, Noun, Opener
from bowstring.benchmarks.people import People
from bowstring.benchmarks.questions.data import QuestionSet
from bowstring.benchmarks.questions.evaluation import UNITS, QuestionEvaluation, QuestionSettings
from bowstring.benchmarks.questions.people import LeadingMetricPeople
from bowstring.benchmarks.questions.records import CODEC
from bowstring.benchmarks.questions.scores import METRICS, summarize
from bowstring.benchmarks.stages import dense_search, own_stages
from bowstring.datasets.dataset import DataSet
from bowstring.history.stages import Readers
from bowstring.history.views import Kind, view_forms
from bowstring.metrics.measures import MetricSet
from bowstring.runs.runner import Record

if TYPE_CHECKING:
    from bowstring.benchmarks.auditing import Auditing
    from bowstring.benchmarks.data_audit.audit import DataAudit


class QuestionBenchmark(Benchmark):
    """A subclass defines `name`, `title`, `about`, `format`, `templates()` (ask.yaml, judge.yaml) and `read()`."""

    item = Noun("question", "questions")
    settings = QuestionSettings
    codec = CODEC
    without_judge = "recall"

    def opener(self, data: DataSet, settings: Sequence[Any], context: Context) -> Opener:
        assert isinstance(data, QuestionSet), f"{self.title}: read() must return a QuestionSet"
        readers, search = Readers(data, tokens=settings[0].bm25_tokens), dense_search(settings, context)
        return lambda one, prompts: QuestionEvaluation(
            self, data, one, prompts, readers=readers, search=search, own=own_stages(one.view())
        )

    def option_help(self) -> Mapping[str, str]:
        """Without a prompt for summaries, --history does not offer them."""
        if (self.templates() / "summary.yaml").is_file():
            return {}
        kinds = [kind for kind in get_args(Kind) if kind != "summary"]
        return {"history": f"What the model sees: {view_forms(kinds, UNITS)}. Repeat for a sweep."}

    def metrics(self, configuration: Mapping[str, Any]) -> MetricSet:  # noqa: ARG002
        return METRICS

    def summarize(self, records: Sequence[Record], settings: Mapping[str, Any]) -> dict[str, Any]:
        """The content of metrics.json: counts, metrics, groups."""
        return summarize(records, self.metrics({"settings": settings}), self.cluster_of, self.grouped)

    def people(self) -> People:
        return LeadingMetricPeople(self, gold="gold")

    def data_audit(self) -> DataAudit:
        from bowstring.benchmarks.questions.data_audit import QuestionDataAudit

        return QuestionDataAudit(self.cluster, self.item)

    def auditing(self) -> Auditing:
        from bowstring.benchmarks.questions.audit import QuestionAuditing

        return QuestionAuditing(self)
