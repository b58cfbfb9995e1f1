"""A teacher for judges whose verdict depends on the answer; and a model that is large enough to learn it."""

from pathlib import Path
from typing import Any

from bowstring.benchmarks.hicupid.types import Judgement, Question
from bowstring.benchmarks.loading import load_hicupid
from tests.support.tiny import write_model

QUESTIONS = load_hicupid("mini").questions()
GOOD, BAD = " ".join(["tea"] * 12), " ".join(["gravel"] * 12)
# With which a tiny model learns it, whatever the seed.
LEARNS: dict[str, Any] = {
    "hold_out": 0.4,
    "rank": 16,
    "alpha": 32,
    "lr": 5e-3,
    "grad_norm": 1.0,
    "epochs": 12.0,
    "branches": 8,
    "users_per_step": 2,
}


def verdict(question: Question, answer: str, side: str) -> str:
    good = answer == GOOD
    if question.type == "schedule":
        return f"Satisfaction: {'YES' if good else 'NO'}"
    return f"Better Response: {side if good else 'B' if side == 'A' else 'A'}"


def transcripts() -> list[Judgement]:
    """A good answer and a bad one to every question, on either side where there are two."""
    return [
        Judgement(question, answer, verdict(question, answer, side), None if question.type == "schedule" else side)
        for question in QUESTIONS
        for answer in (GOOD, BAD)
        for side in ("A" if question.type == "schedule" else "AB")
    ]


def write_learner(folder: Path, words: str, **more: Any) -> Path:
    return write_model(folder, words=words, hidden_size=128, intermediate_size=256, initializer_range=0.05, **more)


def write_judge(folder: Path) -> Path:
    return write_learner(folder, f"{GOOD} {BAD} Better Response: A B Satisfaction: YES NO")
