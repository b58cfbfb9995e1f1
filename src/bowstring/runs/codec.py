"""Encode and decode records of records.jsonl, and validate a run's configuration.

    codec = Codec(Form)
    codec.encode(record)           the record with its schema version
    codec.decode(value)            the record, or NotARecord: "score is 'high': input should be a valid number"

A run's folder may be untrusted, or of another version. Records that match a benchmark's schema can be scored,
compared, shown and exported; additional fields are left unchanged.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StrictStr, ValidationError

from bowstring.errors import quote_value

SCHEMA = 1  # schema version of run.json, metrics.json, sweep.json and audit.json
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Id = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]


class Form(BaseModel):
    """Required fields of a part of a record; it may have more."""

    model_config = ConfigDict(extra="allow", strict=True)


class KeyForm(Form):
    key: StrictStr


class FailureForm(Form):
    stage: StrictStr
    kind: StrictStr
    reason: StrictStr


class ShownForm(Form):
    characters: StrictInt
    turns: StrictInt = 0
    sessions: StrictInt = 0


class NotARecord(ValueError):
    """The first reason why a value is not a record of a benchmark, in one line."""


@dataclass(frozen=True, slots=True)
class Codec:
    """The records of one benchmark: their form and its version."""

    form: type[Form] = KeyForm
    schema: int = 1

    def encode(self, record: dict[str, Any]) -> dict[str, Any]:
        return {"schema": self.schema, **record}

    def decode(self, value: Any) -> dict[str, Any]:
        """Validate a record; raise NotARecord."""
        if problem := problem_with_schema(value, self.schema) or problem_in(self.form, value):
            raise NotARecord(problem)
        return {name: part for name, part in value.items() if name != "schema"}


KEYS_ONLY = Codec()  # for records of unknown form, which only need a key
ANY_VERSION = Codec(schema=1 << 31)  # the same, to read records that a benchmark of any version has written


def problem_with_schema(value: Any, known: int = SCHEMA) -> str | None:
    """Return a problem if a file or line was written by a later version; None otherwise."""
    found = value.get("schema", known) if isinstance(value, dict) else known
    if isinstance(found, int) and not isinstance(found, bool) and found <= known:
        return None
    if not isinstance(found, int) or isinstance(found, bool):
        return f"has schema {quote_value(found)}; expected a number"
    return f"has schema {found}, but this version reads up to {known}; use a newer version of Bowstring"


class DataForm(Form):
    name: StrictStr
    revision: StrictStr | None
    fingerprint: StrictStr


class SettingsForm(Form):
    history: StrictStr
    splits: list[StrictStr] = []
    types: list[StrictStr] = []


class ConfigurationForm(Form):
    benchmark: StrictStr
    model: StrictStr | None
    judge: StrictStr | None
    data: DataForm
    settings: SettingsForm
    matcher: StrictStr = ""
    retriever: StrictStr = ""
    prompts: dict[StrictStr, StrictStr]


def problem_in(form: type[Form], value: Any) -> str | None:
    """Return the first reason why a value does not match a form, such as "evidence.0 is 'x': …"; None if it matches."""
    try:
        form.model_validate(value)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        place = ".".join(map(str, error["loc"]))
        if error["type"] == "missing":
            return f"has no {place}, which every run has"
        if error["type"] == "value_error":
            return error["msg"].removeprefix("Value error, ")
        return f"{place or 'it'} is {quote_value(error['input'])}: {error['msg'].lower()}"
    return None
