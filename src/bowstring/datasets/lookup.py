"""One user, question or instance of a data set, by the id a person types."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.hicupid.data import HicupidSet
from bowstring.benchmarks.hicupid.types import Question
from bowstring.datasets.loading import DataSet
from bowstring.datasets.problems import one_of, shown
from bowstring.errors import UsageError
from bowstring.records import History


@dataclass(frozen=True, slots=True)
class UserFound:
    user_id: int
    history: History
    questions: tuple[Question, ...]


def look_up(sets: Sequence[DataSet], id_: str) -> UserFound | Question | Instance:
    """Search the sets in turn; an error says what ids there are."""
    for data in sets:
        found = _in_hicupid(data, id_) if isinstance(data, HicupidSet) else _in_cupid(data, id_)
        if found is not None:
            return found
    raise UsageError(f"{shown(id_)} is not in {' or '.join(d.name for d in sets)}; {_what_there_is(sets)}")


def _in_hicupid(data: HicupidSet, id_: str) -> UserFound | Question | None:
    if id_.isdecimal() and len(id_) < 19 and int(id_) in data.user_ids:
        user = int(id_)
        return UserFound(user, data.history(user), tuple(q for q in data.questions() if q.user_id == user))
    return next((q for q in data.questions() if q.key == id_), None) if "/" in id_ else None


def _in_cupid(data: CupidSet, id_: str) -> Instance | None:
    if id_ in data.persona_ids:
        keys = [i.key for i in data.instances if i.persona_id == id_]
        raise UsageError(f"{shown(id_)} has {len(keys)} instances; say which: {one_of(keys)}")
    return next((i for i in data.instances if i.key == id_), None)


def _what_there_is(sets: Sequence[DataSet]) -> str:
    said = []
    for data in sets:
        if isinstance(data, HicupidSet):
            users = data.user_ids
            said.append(f"users go from {min(users)} to {max(users)}, questions are like {data.questions()[0].key}")
        else:
            said.append(f"instances are like {data.instances[0].key}")
    return "; ".join(said)
