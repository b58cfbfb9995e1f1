"""The choices of a data set: where its options come from, what is known about them, and what evaluations share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bowstring.benchmarks.hicupid.choosing.asking import By, Choosing, OptionSource
from bowstring.benchmarks.hicupid.choosing.floors import best_control, floor_in_words, floors_of
from bowstring.benchmarks.hicupid.choosing.options import FILE, ChoicesFile, choices_file, in_random_order
from bowstring.benchmarks.hicupid.choosing.published import OtherUsersAnswers
from bowstring.benchmarks.hicupid.choosing.summary import summarize
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.interface import Context
from bowstring.errors import UsageError
from bowstring.judging.forms import Verdicts
from bowstring.models.scores import CANNOT_SCORE
from bowstring.prompts import PromptFolder
from bowstring.runs.runner import Record

if TYPE_CHECKING:
    from bowstring.benchmarks.hicupid.evaluation import HicupidSettings


class Choices:
    """Shared by the evaluations of one data set: options are found, and floors are measured, once."""

    def __init__(self, data: HicupidSet, source: OptionSource, seed: int) -> None:
        self.fingerprint = source.fingerprint
        self._data, self._source, self._seed = data, source, seed
        self._floors: dict[tuple[str, ...], dict[str, Any]] = {}

    def opened(self, seed: int, by: By, prompts: PromptFolder, verdicts: Verdicts) -> Choosing:
        return Choosing.open(self._source, seed, by, prompts, verdicts)

    def notes(self, types: Sequence[str]) -> list[str]:
        """Return what a reader of the results must know."""
        found = []
        if isinstance(self._source, OtherUsersAnswers):
            found.append(
                f"the set has no {FILE}: options are the general answer and gold answers of other users, and gold can "
                "partly be told without the history"
            )
        floors = self._floors_of(types)
        if (best := best_control(floors)) is not None:
            found.append(f"without the history, {floor_in_words(best, floors)}; chance is {floors['chance']:.1f}")
        return found

    def summarize(self, records: Sequence[Record], types: Sequence[str]) -> dict[str, Any]:
        return summarize(records, self._floors_of(types))

    def _floors_of(self, types: Sequence[str]) -> dict[str, Any]:
        """Return the floors of all questions of these types in the splits that were loaded."""
        key = tuple(sorted(types))
        if key not in self._floors:
            questions = [q for q in self._data.questions() if q.type in types]
            self._floors[key] = floors_of(
                questions, lambda question: in_random_order(self._source.of(question), question, self._seed)
            )
        return self._floors[key]


def open_choices(data: HicupidSet, settings: Sequence[HicupidSettings], context: Context) -> Choices | None:
    """Return the choices of a set, if that is the task."""
    first = settings[0]
    if first.task != "choose":
        return None
    if first.by == "likelihood" and not context.can_score:
        raise UsageError(f"--by likelihood: {context.models.get('model')} {CANNOT_SCORE}")
    return Choices(data, option_source(context.data, data.questions()), first.seed)


def option_source(source: str, questions: Sequence[Question]) -> OptionSource:
    """Return where the options of a set come from: the file beside it, or other users' answers."""
    path = choices_file(source)
    return OtherUsersAnswers(questions) if path is None else ChoicesFile(path, questions)
