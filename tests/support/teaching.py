"""A teacher for judges: its verdict goes by the type of the question."""

from bowstring.datasets import load_hicupid
from bowstring.records import Judgement

SAID = {"persona": "Better Response: A", "profile": "Better Response: B", "schedule": "Satisfaction: YES"}
QUESTIONS = load_hicupid("mini").questions()
# With which a tiny model learns it.
LEARNS = {
    "hold_out": 0.4,
    "rank": 16,
    "alpha": 32,
    "lr": 2e-2,
    "grad_norm": 1.0,
    "epochs": 30.0,
    "branches": 8,
    "users_per_step": 2,
}


def transcripts() -> list[Judgement]:
    return [Judgement(q, "an answer", SAID[q.type], None if q.type == "schedule" else "A") for q in QUESTIONS]
