"""The third-party benchmark in tests/plugin, installed as a user would install it; and data for it."""

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from bowstring.benchmarks import registry

PACKAGE = Path(__file__).parents[1] / "plugin"
PEOPLE = {
    "anna": ("peanuts", "Lisbon"),
    "ben": ("bees", "Cardiff"),
    "cleo": ("chess", "Oslo"),
    "dan": ("kites", "Quito"),
    "eve": ("opera", "Turin"),
    "finn": ("rowing", "Bergen"),
}


def install(folder: Path) -> Path:
    """Install the package into a folder, with pip and without a network."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    done = subprocess.run([*command, "--target", folder, PACKAGE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


@contextmanager
def installed(folder: Path):
    """With the package on the path of this process, as it is on that of an environment it is installed in."""
    sys.path.insert(0, str(folder))
    _forget()
    try:
        yield {"PYTHONPATH": os.pathsep.join(filter(None, (str(folder), os.environ.get("PYTHONPATH"))))}
    finally:
        sys.path.remove(str(folder))
        sys.modules.pop("diary", None)
        _forget()


def _forget() -> None:
    registry.get.cache_clear()
    registry._others.cache_clear()


def write_diaries(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    users = []
    for name, (topic, town) in PEOPLE.items():
        said = (f"I spent the day with {topic}.", f"I moved to {town} this week.", "It rained.", "My sister came.")
        sessions = [
            {"id": n, "date": f"2025-0{n}-14", "turns": [_turn("user", text), _turn("assistant", "I see.")]}
            for n, text in enumerate(said, 1)
        ]
        questions = [
            _question(f"{name}-1", "What did I spend a day with?", f"With {topic}.", "fact", [1]),
            _question(f"{name}-2", "Where do I live now?", f"In {town}.", "change", [2]),
            _question(f"{name}-3", "Who came to see me?", "Your sister.", "fact", [4]),
        ]
        users.append({"name": name, "sessions": sessions, "questions": questions})
    (folder / "diary.json").write_text(json.dumps({"users": users}))
    return folder


def _turn(role: str, text: str) -> dict[str, str]:
    return {"role": role, "text": text}


def _question(key: str, question: str, answer: str, kind: str, sessions: list[int]) -> dict[str, object]:
    return {"id": key, "question": question, "answer": answer, "kind": kind, "sessions": sessions}


# Models for `python:`: one that finds what its prompt holds, one that never knows, and a judge that goes by words.
MODELS = '''
import re


def knows(messages):
    log, _, question = messages[-1]["content"].rpartition("Question:")
    for asked, pattern, form in (
        ("spend", r"the day with (\\w+)", "With {}."),
        ("live", r"moved to (\\w+)", "In {}, since this spring."),
        ("came", r"My (sister) came", "Your {}."),
    ):
        if asked in question and (found := re.search(pattern, log)):
            return form.format(found[1])
    return "You never told me."


def forgets(messages):
    return "You never told me."


def judge(messages):
    text = messages[-1]["content"]
    gold, answer = (re.search(rf"{name}: <<<(.*?)>>>", text, re.S)[1] for name in ("Reference", "Answer"))
    wanted = set(re.findall(r"\\w+", gold.lower())) - {"in", "with", "your"}
    right = wanted <= set(re.findall(r"\\w+", answer.lower()))
    return f"By words.\\nCorrect: {'YES' if right else 'NO'}"


class Newest:
    """A memory of the newest session, and a note that a model writes on each."""

    def __init__(self, ask):
        self.ask = ask

    def open(self, user):
        self.sessions = []

    async def ingest(self, session):
        assert session.when, "sessions come with their dates"
        await self.ask(f"Note of {session.when}: {session.messages[0].text}", max_tokens=40)
        self.sessions.append(session.id)

    def retrieve(self, question):
        return self.sessions[-1:]
'''
