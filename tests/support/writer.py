"""A model that writes data sets as it is asked to: the answer function of a scripted server, for both pipelines.

    with Server(Writer().answer) as server:
        bowstring("synth", "cupid", "--model", server.model("m"))

`spoil` may replace an answer: it is given what was asked for and how often that was asked before, and returns a text or
None.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import yaml

from tests.support.reader import MARKS as READER_MARKS
from tests.support.reader import PAIR_MARK, Reader, trace
from tests.support.server import text_of

ADJECTIVES = re.findall(
    r"\w+", "amber brisk calm dusty eager faint grand humble icy jolly keen lively mellow noble odd plain"
)
NOUNS = re.findall(
    r"\w+", "anchor basket candle drum easel ferry garden hammer island jacket kettle ladder mirror piano"
)


def request(messages: list[dict[str, Any]]) -> str:
    """The original request, without later repair messages."""
    return next(text_of(m) for m in messages if m["role"] == "user")


# Of entities: a question has none of these words.
THINGS = (
    re.findall(r"\w+", "azure beige coral ebony fawn hazel indigo khaki lilac maroon ochre pearl russet sepia teal"),
    re.findall(r"\w+", "agate basalt chalk dolomite flint gneiss jasper lapis marble nickel opal pumice quartz slate"),
)


def word(*what: object, n: int = 2, lists: tuple[list[str], list[str]] = (ADJECTIVES, NOUNS)) -> str:
    """Words that depend only on their purpose."""
    digest = hashlib.sha256("/".join(map(str, what)).encode()).digest()
    return " ".join(lists[k % 2][digest[k] % len(lists[k % 2])] for k in range(n))


FIELDS = ("age", "gender", "personality", "occupation", "income range")
CHANGED = "Texts must name one price and end on a question."


class Writer:
    def __init__(
        self, spoil: Callable[[str, int], str | None] = lambda what, n: None, reader: Reader | None = None
    ) -> None:
        """`reader` answers for the same model in its other role; one that reads everything by default."""
        self.spoil = spoil
        self.reader = reader or Reader()
        self.asked: Counter[str] = Counter()

    def answer(self, messages: list[dict[str, Any]], body: dict[str, Any]) -> str:
        first, last = text_of(messages[0]), text_of(messages[-1])
        whole = f"{first}\n{last}"
        if any(mark in whole for mark in READER_MARKS):
            return self.reader.answer(first)
        if PAIR_MARK in whole:
            return self.reader.compare(first)
        for what, mark in MARKS.items():
            if mark in whole:
                n = self.asked[what]
                self.asked[what] += 1
                spoilt = self.spoil(what, n)
                return spoilt if spoilt is not None else getattr(self, f"_{what}")(messages, body)
        raise AssertionError(f"nobody knows this prompt: {whole[:300]}")

    def _persona(self, messages, body) -> str:
        seed = request(messages).rsplit("1. ", 1)[1]
        sentence = f"This person, {word(seed)}, works on it every week with care. "
        return json.dumps({"personas": [{"description": sentence * 6, "occupation": f"{word(seed)} maker"}]})

    def _factors(self, messages, body) -> str:
        system, person = text_of(messages[0]), request(messages)
        n = int(re.search(r"Write (\d+) context factors", system)[1])
        factors = [
            {
                "factor_type": "person",
                "background": "They met years ago, and it left a mark on how things are written.",
                "factor": f"the {word(person, k, n=4)} group {k}",
                "task_types": ["email"],
                "preference_type": ["tone", "depth", "accuracy"][k % 3],
                "preference": f"Texts must open with {word(person, k, 'p', n=4)} and close with number {k}.",
                "related_factor": "N/A",
            }
            for k in range(n)
        ]
        factors[-1]["related_factor"], factors[-2]["related_factor"] = factors[-2]["factor"], factors[-1]["factor"]
        return "```yaml\n" + yaml.safe_dump({"context_factors": factors}, width=1000) + "```"

    def _sessions(self, messages, body) -> str:
        system, user = text_of(messages[0]), request(messages)
        order = re.findall(r"^(\d+)\. (.+), with its (listed|changed) preference$", system, re.MULTILINE)
        listed = dict(re.findall(r"^- (.+?): (Texts must .+)$", user, re.MULTILINE))
        scenarios = [
            {
                "id": int(k),
                "context_factor": factor,
                "preference": listed[factor]
                if which == "listed"
                else "Texts must name one price and end on a question.",
                "task_type": "email",
                "story": "Something came up.",
                "request_with_factor_and_preference": "…",
                "request_with_factor": f"Please write to {factor} about the {word(user, k, n=4)} run {k}. [resource]",
                "resource": f"Notes of {word(user, k, 'r', n=6)}." if int(k) % 3 == 0 else "N/A",
            }
            for k, factor, which in order
        ]
        return yaml.safe_dump({"scenarios": scenarios}, width=1000, sort_keys=False)

    def _checklist(self, messages, body) -> str:
        text = request(messages)
        return json.dumps({"checklist": [f"Is the opening {word(text)}?", f"Is the closing {word(text, 2)}?"]})

    def _simulator(self, messages, body) -> str:
        replies = sum(m["role"] == "user" and "could not be used" not in m["content"] for m in messages)
        ends = replies >= 2
        said = f"That reminds me of last time, the {word(json.dumps(messages), n=4)} affair."
        return (
            "#### Evaluation of AI Assistant's Response\nsome\n#### Evaluation Score\n"
            f"{10 if ends else 4}\n#### Continue or End?\n{'END' if ends else 'CONTINUE'}\n"
            f"#### Selected Checklist Items\n{'2' if ends else '1'}\n#### Thinking\nhm\n#### Your Message\n{said}"
        )

    def _assistant(self, messages, body) -> str:
        return f"Here is a draft about the {word(json.dumps(messages), n=6)}."

    def _table(self, messages, body) -> str:
        text = request(messages)
        n = int(re.search(r"Write (\d+) entries", text)[1])
        field = re.search(r"dimension of life: (.+)\.", text)[1]
        rows = [
            {
                "relation": "likes" if k % 2 else "avoids",
                "entity": f"{word(text, k, n=4, lists=THINGS)} {field} {k}",
                "sentiment": "POS" if k % 2 else "NEG",
            }
            for k in range(n)
        ]
        return json.dumps({"personas": rows})

    def _profile(self, messages, body) -> str:
        text = request(messages)
        return json.dumps(
            {
                "age": 20 + len(text) % 50,
                "gender": "female",
                "personality": f"{word(text)}-ish",
                "occupation": f"{word(text, 'o')} keeper",
                "income_range": "$40,000-$50,000",
            }
        )

    def _schedules(self, messages, body) -> str:
        text = request(messages)
        n = int(re.search(r"Invent (\d+) appointments", text)[1])
        days = [f"{k + 1} PM on May {k + 2}, 2025" for k in range(n)]
        rows = [{"datetime": day, "event": f"the {word(text, day)} meeting"} for day in days]
        return json.dumps({"schedules": rows})

    def _persona_dialogue(self, messages, body) -> str:
        text = request(messages)
        n = int(re.search(r"exactly (\d+) turns", text)[1])
        shown = self.dialogue_shows(re.search(r"of this user: they (.+?)\. It must", text)[1])
        turns = [
            {
                "user": f"I was at it again with the {word(text, k, n=6)} before breakfast. {shown}",
                "assistant": f"Then the {word(text, k, 'a', n=6)} might help you along.",
            }
            for k in range(n)
        ]
        return json.dumps({"turns": turns})

    def _profile_dialogues(self, messages, body) -> str:
        text = request(messages)
        facts = re.findall(r"^\d\. their (.+?), (.+)$", text, re.MULTILINE)
        fields = dict(zip(("age", "gender", "personality", "occupation", "income"), FIELDS, strict=True))
        shown = [self.profile_shows(f"{fields[name]} {value}") for name, value in facts]
        said = [f"Somebody called me {word(text, k, n=4)} today. {one}" for k, one in enumerate(shown)]
        rows = [{"user": line, "assistant": "That is good to hear, I think."} for line in said]
        return json.dumps({"dialogues": rows})

    def _schedule_dialogues(self, messages, body) -> str:
        rows = [
            {"user": f"Remember {event} at {when}, will you?", "assistant": f"Noted: {event} at {when}."}
            for event, when in _listed(request(messages))
        ]
        return json.dumps({"dialogues": rows})

    def _schedule_questions(self, messages, body) -> str:
        rows = [
            {
                "question": f"Can you book a {word(event, 'q')} haircut at {when}?",
                "personalized_answer": f"You have {event} at {when}; shall I look for another hour?",
                "general_answer": f"Done, the {word(event, 'q')} haircut is in your calendar.",
            }
            for event, when in _listed(request(messages))
        ]
        return json.dumps({"questions": rows})

    def _persona_question(self, messages, body) -> str:
        text = request(messages)
        fact = re.search(r"that its user (.+?)(?:, and besides|\. Write)", text)[1]
        shown = [fact]
        if besides := re.search(r"age (.+?), gender .+?,\s+personality .+?, occupation (.+?), income", text):
            shown += [f"age {besides[1]}", f"occupation {besides[2]}"]
        return json.dumps(
            {
                "question": f"What would you suggest for a {word(text, 'q', n=6)} evening?",
                "personalized_answer": self.gold(shown, f"the {word(text, 'p', n=8)}"),
                "general_answer": self.general(shown, f"some {word(text, 'g', n=8)}"),
            }
        )

    _profile_question = _persona_question

    # What a good author leaves in its texts; tests replace these.

    def dialogue_shows(self, fact: str) -> str:
        return f"It was the {trace(fact)} affair."

    def profile_shows(self, fact: str) -> str:
        return f"It was the {trace(fact)} affair."

    def gold(self, facts: list[str], what: str) -> str:
        return f"Since you know it well, take {what} and {' '.join(map(trace, facts))}."

    def general(self, facts: list[str], what: str) -> str:
        return f"Most people are happy with {what} on such a day."


MARKS = {
    "persona": "Invent people who use an AI assistant",
    "factors": "You plan the working life of one person",
    "sessions": "You write the occasions on which one person",
    "checklist": "Take a preference about responses apart",
    "simulator": "You play a user who works with an AI assistant",
    "assistant": "You are a helpful assistant. Do what the user asks",
    "table": "Collect things that people can have a clear attitude to",
    "profile": "Invent the profile of a person",
    "schedules": "appointments in the calendar of this person",
    "persona_dialogue": "Write a conversation of exactly",
    "profile_dialogues": "Write five separate exchanges",
    "schedule_dialogues": "Write one exchange between a user and an AI assistant for each",
    "schedule_questions": "For each of the appointments below write",
    "profile_question": "best answer needs both the attitude and something of the profile",
    "persona_question": "An assistant knows from earlier conversations that its user",
}
CUPID_PARTS = ("persona", "factors", "sessions", "checklist", "simulator")
HICUPID_PARTS = (
    "table",
    "profile",
    "schedules",
    "persona_dialogue",
    "profile_dialogues",
    "schedule_dialogues",
    "schedule_questions",
    "profile_question",
    "persona_question",
)


def _listed(text: str) -> list[tuple[str, str]]:
    return re.findall(r"^\d+\. (.+), (\d+ PM on .+)$", text, re.MULTILINE)
