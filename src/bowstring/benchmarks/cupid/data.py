"""Conversion between CUPID files (`test.parquet`, or one JSON file per instance) and records.

Both formats have the same fields. JSON files are written as `{persona}+{type}.json`; any name can be read. Raw data can
be read too.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from bowstring.benchmarks.cupid import raw_data
from bowstring.benchmarks.cupid.preference_types import category_of
from bowstring.benchmarks.cupid.types import INSTANCE_TYPES, Instance, InstanceType, Session
from bowstring.datasets.dataset import DataSet
from bowstring.datasets.describe import Description
from bowstring.datasets.display import ItemDisplay
from bowstring.datasets.layout import Parts
from bowstring.datasets.parquet import check_size
from bowstring.datasets.problems import Problem, join_choices, quote_value
from bowstring.files.names import safe_file_name
from bowstring.files.redaction import error_line
from bowstring.files.writing import make_folder, replace_file, write_file
from bowstring.judging.structured import Unreadable
from bowstring.models.tokens import TokenCounter
from bowstring.records import Dialogue, History, Message

Text = Annotated[str, StringConstraints(pattern=r"\S")]


class _Row(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class MessageRow(_Row):
    role: Literal["user", "assistant"]
    content: Text


class SessionRow(_Row):
    context_factor: Text
    contextual_preference: Text
    dialogue: Annotated[list[MessageRow], Field(min_length=1)]


class InstanceRow(_Row):
    persona_id: Text
    instance_type: InstanceType
    current_request: Text
    current_context_factor: Text
    current_contextual_preference: Text
    current_checklist: Annotated[list[Text], Field(min_length=1)]
    prior_interactions: Annotated[list[SessionRow], Field(min_length=1)]
    preference_category: Text | None = None
    preference_type: Text | None = None


SCHEMA = pa.schema(
    [
        *((name, pa.string()) for name in list(InstanceRow.model_fields)[:5]),
        ("current_checklist", pa.list_(pa.string())),
        (
            "prior_interactions",
            pa.list_(
                pa.struct(
                    [
                        ("context_factor", pa.string()),
                        ("contextual_preference", pa.string()),
                        ("dialogue", pa.list_(pa.struct([("content", pa.string()), ("role", pa.string())]))),
                    ]
                )
            ),
        ),
    ]
)


OPTIONAL = ("preference_category", "preference_type")  # columns that a set may have; the published set has neither


class CupidSet(DataSet):
    """A CUPID data set: instances, each with its own sessions."""

    benchmark = "cupid"
    has_json_layout = True

    def __init__(
        self, name: str, instances: Iterable[Instance], parts: Parts | None = None, *, fingerprint: str = ""
    ) -> None:
        self.name = name
        self.parts = parts or {}
        self.instances = tuple(instances)
        self.fingerprint = fingerprint
        self._by_key: dict[str, Instance] = {}

    @property
    def persona_ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(i.persona_id for i in self.instances))

    @property
    def splits(self) -> tuple[str, ...]:
        return tuple(self.parts.get("instances", {"test": []}))

    def items(self) -> tuple[Instance, ...]:
        return self.instances

    def history_keys(self) -> tuple[str, ...]:
        return tuple(instance.key for instance in self.instances)

    def history_named(self, key: str) -> History:
        return self._instance(key).history

    def _instance(self, key: str) -> Instance:
        if not self._by_key:
            self._by_key = {instance.key: instance for instance in self.instances}
        return self._by_key[key]

    def history_key(self, item: Instance) -> str:
        return item.key

    def asked(self, item: Instance) -> str:
        return item.request

    def dialogue_heading(self, item_or_key: str, dialogue: Dialogue) -> str:
        session = self._instance(item_or_key).sessions[dialogue.id]
        return f"context: {session.context_factor}; preference: {session.preference}"

    def places(self) -> Iterator[tuple[str, str]]:
        """All texts with their places; a session that several instances share occurs once."""
        seen: set[tuple[str, str]] = set()
        for instance in self.instances:
            texts = [("request", instance.request)]
            texts += [
                (f"session {session.dialogue.id} {message.role}", message.text)
                for session in instance.sessions
                for message in session.dialogue.messages
            ]
            for place, text in texts:
                if (instance.persona_id, text) not in seen:
                    seen.add((instance.persona_id, text))
                    yield f"{instance.key} {place}", text

    def describe(self, counter: TokenCounter | None) -> Description:
        from bowstring.benchmarks.cupid.describe import describe

        return describe(self, counter)

    def look_up(self, id_: str) -> ItemDisplay | None:
        from bowstring.benchmarks.cupid.describe import look_up

        return look_up(self, id_)

    def ids(self) -> str:
        return f"instance ids look like {self.instances[0].key}"

    def write(self, folder: Path, *, splits: Sequence[str], first: int | None, as_json: bool) -> list[Path]:  # noqa: ARG002
        kept = set(self.persona_ids[:first])
        instances = [i for i in self.instances if i.persona_id in kept]
        return write_json(instances, folder) if as_json else write_parquet(instances, folder)


def read(
    root: Path, files: Sequence[str], problems: list[Problem], left_out: list[Problem] | None = None
) -> list[Instance]:
    """The instances of these files, in order; rows that cannot be read are added to `problems`.

    Personas of raw data whose sessions do not suffice for the three instances are added to `left_out`.
    """
    instances: list[Instance] = []
    first: dict[str, str] = {}
    for name, row, raw in _rows(root, files, problems):
        place = name if row is None else f"{name} row {row}"
        for instance in _to_instances(name, row, raw, problems, [] if left_out is None else left_out):
            if instance.key in first:
                message = f"{quote_value(instance.key)} occurs twice (first in {first[instance.key]})"
                problems.append(Problem(name, row, None, f"{message}; expected each persona and type once"))
            first.setdefault(instance.key, place)
            instances.append(instance)
    return instances


def _rows(root: Path, files: Sequence[str], problems: list[Problem]) -> Iterator[tuple[str, int | None, object]]:
    for name in files:
        try:
            if name.endswith(".json"):
                yield name, None, json.loads((root / name).read_bytes())
            else:
                yield from _parquet_rows(root, name, problems)
        except RecursionError:
            problems.append(Problem(name, None, None, "cannot be read as JSON: it is nested too deeply"))
        except (ValueError, OSError, pa.ArrowException) as error:  # ValueError: JSON and text decoding
            kind = "JSON" if name.endswith(".json") else "parquet"
            problems.append(Problem(name, None, None, f"cannot be read as {kind}: {error_line(error)}"))


def _parquet_rows(root: Path, name: str, problems: list[Problem]) -> Iterator[tuple[str, int, object]]:
    with pq.ParquetFile(root / name) as file:
        present = file.schema_arrow.names
        raw = raw_data.is_raw(present)
        needed = raw_data.COLUMNS if raw else SCHEMA.names
        missing = [column for column in needed if column not in present]
        for column in missing:
            which = " of raw data" if raw else ""
            message = f"has no column {column}; expected all of {', '.join(needed)}{which}"
            problems.append(Problem(name, None, None, message))
        twice = [column for column in needed if present.count(column) > 1]
        for column in twice:
            problems.append(Problem(name, None, None, f"has the column {column} twice; expected it once"))
        if missing or twice:
            return
        at = 0
        wanted = (*raw_data.IDS, *raw_data.COLUMNS) if raw else InstanceRow.model_fields
        columns = [name for name in wanted if name in present]
        check_size(root / name, columns)
        for batch in file.iter_batches(batch_size=64, columns=columns):
            for i in range(batch.num_rows):
                try:
                    yield name, at, batch.slice(i, 1).to_pylist()[0]
                except UnicodeDecodeError as error:
                    message = f"holds text that is not UTF-8: {error_line(error)}"
                    problems.append(Problem(name, at, None, message))
                except (ValueError, OverflowError) as error:
                    problems.append(Problem(name, at, None, f"holds a value that cannot be read: {error_line(error)}"))
                at += 1


def _to_instances(
    name: str, row: int | None, raw: object, problems: list[Problem], left_out: list[Problem]
) -> list[Instance]:
    try:
        if isinstance(raw, dict) and raw_data.is_raw(raw):
            stem = Path(name).stem
            persona = raw_data.persona_id(raw, stem if row is None else f"{row}+{stem}")
            return raw_data.to_instances(persona, raw_data.RawRow.model_validate(raw))
        return [to_record(InstanceRow.model_validate(raw))]
    except ValidationError as invalid:
        for error in invalid.errors(include_url=False):
            column = ".".join(map(str, error["loc"])) or None
            problems.append(Problem(name, row, column, _describe_error(error)))
    except Unreadable as error:
        left_out.append(Problem(name, row, None, f"is left out: {error}"))
    return []


def _describe_error(error: Any) -> str:
    """The message of a validation error: what was found, and what was expected."""
    found = quote_value(error["input"])
    match error["type"]:
        case "missing":
            return "is missing; expected it in every instance"
        case "literal_error":
            choices = INSTANCE_TYPES if error["loc"][-1] == "instance_type" else ("user", "assistant")
            return f"is {found}; expected {join_choices(choices)}"
        case "string_pattern_mismatch":
            return f"is {found}; expected some text"
        case "string_type":
            return f"is {found}; expected text"
        case "list_type":
            return f"is {found}; expected a list"
        case "too_short":
            return "is an empty list; expected at least one entry"
        case "model_type" | "dict_type" | "model_attributes_type":
            return f"is {found}; expected an object with fields"
    return f"is {found}: {error['msg']}"


def to_record(row: InstanceRow) -> Instance:
    return Instance(
        persona_id=row.persona_id,
        type=row.instance_type,
        request=row.current_request,
        context_factor=row.current_context_factor,
        preference=row.current_contextual_preference,
        checklist=tuple(row.current_checklist),
        sessions=tuple(
            Session(
                context_factor=session.context_factor,
                preference=session.contextual_preference,
                dialogue=Dialogue(
                    id=n,
                    kind="session",
                    messages=tuple(Message(m.role, (m.content,)) for m in session.dialogue),
                ),
            )
            for n, session in enumerate(row.prior_interactions)
        ),
        category=row.preference_category or category_of(row.preference_type or ""),
        preference_type=row.preference_type,
    )


def to_row(instance: Instance) -> dict[str, object]:
    row: dict[str, object] = {
        "persona_id": instance.persona_id,
        "instance_type": instance.type,
        "current_request": instance.request,
        "current_context_factor": instance.context_factor,
        "current_contextual_preference": instance.preference,
        "current_checklist": list(instance.checklist),
        "prior_interactions": [
            {
                "context_factor": session.context_factor,
                "contextual_preference": session.preference,
                "dialogue": [{"content": m.text, "role": m.role} for m in session.dialogue.messages],
            }
            for session in instance.sessions
        ],
    }
    optional = {"preference_category": instance.category, "preference_type": instance.preference_type}
    return row | {name: value for name, value in optional.items() if value}


def write_parquet(instances: Sequence[Instance], folder: Path, split: str = "test") -> list[Path]:
    path = make_folder(folder) / f"{split}.parquet"
    rows = [to_row(i) for i in instances]
    known = [name for name in OPTIONAL if any(name in row for row in rows)]
    schema = pa.schema([*SCHEMA, *((name, pa.string()) for name in known)])
    with replace_file(path) as file:
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), file)
    return [path]


def write_json(instances: Sequence[Instance], folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for instance in instances:
        path = folder / safe_file_name(instance.key, ".json")
        write_file(path, json.dumps(to_row(instance), indent=2, ensure_ascii=False) + "\n")
        written.append(path)
    return written


def check_evidence(instances: Sequence[Instance]) -> Iterator[Problem]:
    """Problems of instances without evidence: no earlier session has the context of the request, so `--history gold` is
    empty."""
    for instance in instances:
        if not instance.evidence:
            factor = quote_value(instance.context_factor)
            message = f"is {factor}, which no prior session of {instance.key} has"
            yield Problem(instance.key, None, "current_context_factor", message)
