"""The two prompts of a question benchmark: NAME/ask with {history} and {question}, NAME/judge with {question}, {gold}
and {answer}, and with {form} where it leaves the form of the verdict open; and NAME/summary with {session}, for
summaries."""

from __future__ import annotations

from collections.abc import Sequence

from bowstring.benchmarks.questions.data import Question
from bowstring.history.stages import Shown
from bowstring.judging.forms import CORRECT, FormedTemplate, VerdictRequest, Verdicts, places
from bowstring.prompts import PromptFolder, Template
from bowstring.prompts.sharing import share_trunk
from bowstring.records import Dialogue, Message, Prompt, Trunk

_NAMES = {"user": "User", "assistant": "Assistant", "system": "System"}


class QuestionPrompts:
    def __init__(self, folder: PromptFolder, name: str, *, summaries: bool, verdicts: Verdicts = "json") -> None:
        self._ask = folder.get(f"{name}/ask", needs=frozenset({"history", "question"}), may=frozenset({"user"}))
        judged = frozenset({"question", "gold", "answer"})
        judge = folder.get(f"{name}/judge", needs=judged, may=frozenset({"type"}) | places(CORRECT))
        self._judge = FormedTemplate.of(judge, CORRECT, verdicts)
        self._summary = folder.get(f"{name}/summary", needs=frozenset({"session"})) if summaries else None

    def together(self, questions: Sequence[Question], shown: Shown) -> list[Prompt]:
        """The prompts of questions with the same history, which they share."""
        history = self.history(shown)
        if len(questions) == 1:
            return [self.alone(questions[0], shown)]
        return share_trunk([self._asked(question, history) for question in questions])

    def alone(self, question: Question, shown: Shown) -> Prompt:
        return Prompt(Trunk(()), self._asked(question, self.history(shown)))

    def _asked(self, question: Question, history: str) -> tuple[Message, ...]:
        values = {"history": history, "question": question.question, "user": question.user}
        return _messages(self._ask, values)

    def history(self, shown: Shown) -> str:
        """The sessions as text, with dates if known; or their summaries."""
        if shown.notes is not None:
            return "\n".join(f"- {note}" for note in shown.notes) or "(nothing)"
        return "\n\n".join(map(self.session, shown.dialogues)) or "(no earlier sessions)"

    def session(self, dialogue: Dialogue) -> str:
        when = f" ({dialogue.when})" if dialogue.when else ""
        turns = "\n".join(f"{_NAMES[message.role]}: {message.text}" for message in dialogue.messages)
        return f"Session {dialogue.id}{when}\n{turns}"

    def judge(self, question: Question, answer: str) -> VerdictRequest:
        values = {"question": question.question, "gold": question.gold, "answer": answer, "type": question.type}
        return self._judge.request(lambda template: Prompt(Trunk(()), _messages(template, values)))

    def summary(self, dialogue: Dialogue) -> Prompt:
        if self._summary is None:
            raise LookupError("summaries were not announced")
        return Prompt(Trunk(()), _messages(self._summary, {"session": self.session(dialogue)}))


def _messages(template: Template, values: dict[str, str]) -> tuple[Message, ...]:
    system = (Message("system", (template.system_text(**values),)),) if template.system else ()
    return (*system, Message("user", template.user_pieces(**values)))
