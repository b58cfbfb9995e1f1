"""Curating a data set: people accept, mend or reject its items, each dealt to one of them.

A curation is a study whose units are the items of the set; `curated` writes the set that is left.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.types import Question
from bowstring.benchmarks.loading import load
from bowstring.datasets.dataset import DataSet
from bowstring.errors import UsageError
from bowstring.records import fields_of
from bowstring.web.annotating.dealing import chosen, deal, hands_of
from bowstring.web.annotating.opening import Settings, check_same, names_of
from bowstring.web.annotating.study import Study, create, is_made
from bowstring.web.annotating.units import Turns, Unit, facts_of, legible, turns_of

_QUESTION_FIELDS = ("question", "personalized_answer", "general_answer")


def open_curation(
    name: str,
    *,
    curators: str = "1",
    splits: Sequence[str] = (),
    limit: int | None = None,
    seed: int = 0,
    db: Path | None = None,
) -> Study:
    """The curation of this data set: made at the first call, and opened again at every other."""
    data = load(name, splits=splits)
    settings = Settings("curate", names_of(curators), overlap=0.0, limit=limit, checks=0.0, seed=seed)
    about = {
        "settings": asdict(settings),
        "data": {"name": name, "fingerprint": data.fingerprint, "splits": list(splits)},
    }
    path = db or database_of(name)
    if not is_made(path):
        units = chosen(list(_units(data)), limit, seed)
        create(path, about, units, deal(units, hands_of(units, settings.annotators, seed), seed))
    study = Study(path)
    try:
        check_same(study, about)
    except UsageError:
        study.close()
        raise
    return study


def database_of(name: str) -> Path:
    """Beside a set on disk; for any other, here."""
    path = Path(name)
    if path.exists():
        return path.resolve().parent / f"{path.resolve().name}.curation.sqlite"
    return Path(re.sub(r"[^A-Za-z0-9.]+", "-", name) + ".curation.sqlite")


def _units(data: DataSet) -> Iterator[Unit]:
    if isinstance(data, CupidSet):
        yield from map(_instance_unit, data.instances)
        return
    assert isinstance(data, HicupidSet)
    user, dialogues = None, {}
    for question in data.questions():
        if question.user_id != user:
            user, dialogues = question.user_id, {d.id: turns_of(d) for d in data.history(question.user_id)}
        yield _question_unit(question, dialogues)


def _question_unit(question: Question, dialogues: Mapping[int, Turns]) -> Unit:
    known = {n: fields_of(part) if (part := getattr(question, n)) else None for n in ("persona", "profile", "schedule")}
    return Unit(
        ids=(question.key,),
        key=question.key,
        cluster=str(question.user_id),
        type=question.type,
        facts=tuple(facts_of(known)),
        asked="",
        answers=(),
        dialogues=tuple(dialogues[n] for n in question.evidence),
        fields=tuple((name, legible(getattr(question, name))) for name in _QUESTION_FIELDS),
    )


def _instance_unit(instance: Instance) -> Unit:
    sessions = tuple(
        (("context", legible(f"{s.context_factor}: {s.preference}")), *turns_of(s.dialogue)) for s in instance.sessions
    )
    return Unit(
        ids=(instance.key,),
        key=instance.key,
        cluster=instance.persona_id,
        type=instance.type,
        facts=(
            ("persona", instance.persona_id),
            ("type", instance.type),
            ("context", legible(instance.context_factor)),
        ),
        asked="",
        answers=(),
        dialogues=sessions,
        fields=(
            ("request", legible(instance.request)),
            ("preference", legible(instance.preference)),
            ("checklist", "\n".join(" ".join(legible(entry).split()) for entry in instance.checklist)),
        ),
    )
