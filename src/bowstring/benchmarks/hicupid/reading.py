"""Reading and checking of the files of a HiCUPID set, or of its judge transcripts only."""

from __future__ import annotations

from dataclasses import replace

from bowstring.benchmarks.hicupid import checks
from bowstring.benchmarks.hicupid.data import (
    DIALOGUE_COLUMNS,
    EVALUATION_COLUMNS,
    QA_COLUMNS,
    HicupidSet,
    to_judgements,
)
from bowstring.benchmarks.hicupid.layout import JUDGEMENTS_CONFIG
from bowstring.benchmarks.hicupid.types import Judgement
from bowstring.datasets.layout import Choice
from bowstring.datasets.problems import Problem, raise_if_any
from bowstring.datasets.reading import Locate, Reading, read_parts
from bowstring.datasets.sources import Source, locate_config


def read(locate: Locate, choice: Choice) -> Reading[HicupidSet]:
    reading, lacks_histories = _read(locate(choice))
    if lacks_histories and not choice.whole:
        # The dialogues are not in the split that the name of the question split suggests: read all of them.
        reading, _ = _read(locate(replace(choice, whole=True)))
    return reading


def _read(source: Source) -> tuple[Reading[HicupidSet], bool]:
    """The set or its problems, and whether a question belongs to a user without dialogues."""
    problems = [
        Problem(f"{config}/", None, None, f"is missing; expected {config}/*.parquet beside the other part")
        for config in ("dialogue", "qa")
        if config not in source.parts
    ]
    dialogues, all_dialogues = read_parts(source, "dialogue", DIALOGUE_COLUMNS, problems)
    questions, _ = read_parts(source, "qa", QA_COLUMNS, problems)
    judgements, _ = read_parts(source, JUDGEMENTS_CONFIG, EVALUATION_COLUMNS, problems)
    problems += checks.check_dialogues(dialogues)
    # Evidence can be checked only if every dialogue was read.
    readable = all_dialogues and all(rows.has("user_id", "dialogue_id") for rows in dialogues.values())
    known = dialogues if readable else {}
    for rows in questions.values():
        problems += checks.check_questions(rows, known)
    for rows in judgements.values():
        problems += checks.check_judgements(rows, known)
    problems += checks.check_across_splits(questions)
    if problems:
        lacks = any(p.column == "user_id" and "history is empty" in p.message for p in problems)
        return Reading(None, problems), lacks
    data = HicupidSet(
        source.name, dialogues, questions, judgements, parts=source.parts, fingerprint=source.fingerprint()
    )
    return Reading(data, problems), False


def load_judgements(name: str, *, revision: str | None = None) -> tuple[Judgement, ...]:
    """Judge transcripts of answers, in the order of the files; `question.split` is their split.

    The source is a file, a folder with `evaluation/*.parquet`, or such a set on the hub. Its other files are not read.
    """
    problems: list[Problem] = []
    source = locate_config(name, JUDGEMENTS_CONFIG, "hicupid", revision=revision)
    parts, _ = read_parts(source, JUDGEMENTS_CONFIG, EVALUATION_COLUMNS, problems)
    for rows in parts.values():
        problems += checks.check_judgements(rows, {})
    raise_if_any(problems)
    return tuple(judgement for split, rows in parts.items() for judgement in to_judgements(rows.table, split))
