"""The histories of a data set, as a page shows them: by user in HiCUPID, by instance in CUPID."""

from __future__ import annotations

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.records import Dialogue
from bowstring.reports.items import Histories, Told


def histories_of(data: HicupidSet | CupidSet) -> Histories:
    if isinstance(data, HicupidSet):
        return lambda user: [_told(dialogue, dialogue.kind) for dialogue in data.history(int(user))]
    instances = {instance.key: instance for instance in data.instances}
    return lambda key: [
        _told(session.dialogue, f"context: {session.context_factor}; preference: {session.preference}")
        for session in instances[key].sessions
    ]


def _told(dialogue: Dialogue, about: str) -> Told:
    return Told(dialogue.id, about, [(message.role, message.text) for message in dialogue.messages])
