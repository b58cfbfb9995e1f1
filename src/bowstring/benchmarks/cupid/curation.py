"""Curation of a CUPID set by people: the request, preference and checklist of an instance, and its sessions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from bowstring.benchmarks.cupid.data import CupidSet, write_parquet
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.people import Unit, legible, turns_of
from bowstring.datasets.dataset import DataSet


class CupidCuration:
    def units(self, data: DataSet) -> Iterator[Unit]:
        assert isinstance(data, CupidSet)
        return map(_unit, data.instances)

    def write(self, data: DataSet, edits: Mapping[str, Mapping[str, str]], folder: Path) -> None:
        assert isinstance(data, CupidSet)
        write_parquet([_edited(i, edits[i.key]) for i in data.instances if i.key in edits], folder)


def _unit(instance: Instance) -> Unit:
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


def _edited(instance: Instance, texts: Mapping[str, str]) -> Instance:
    """The edited instance. Sessions with the same preference get its new text, too."""
    preference = texts.get("preference", instance.preference)
    sessions = tuple(
        replace(s, preference=preference)
        if (s.context_factor, s.preference) == (instance.context_factor, instance.preference)
        else s
        for s in instance.sessions
    )
    checklist = instance.checklist
    if "checklist" in texts:
        checklist = tuple(line.strip() for line in texts["checklist"].split("\n") if line.strip())
    request = texts.get("request", instance.request)
    return replace(instance, request=request, preference=preference, checklist=checklist, sessions=sessions)
