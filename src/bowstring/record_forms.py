"""What the files of a run must hold to be read: forms of a record, and of a run's configuration.

    problem_in(Record, value)      None, or "score is 'high'; expected a number"

A run's folder may be somebody else's, or of another version. What has the form can be scored, compared, shown and
exported; whatever else a file holds besides is left as it is.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, ValidationError, model_validator

from bowstring.benchmarks.cupid.types import COVERAGE_SIDES, InstanceType
from bowstring.benchmarks.hicupid.types import QuestionType
from bowstring.errors import shown

Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Id = Annotated[StrictInt, Field(ge=-(2**63), lt=2**63)]
Key = Annotated[StrictStr, Field(pattern=r"^-?\d{1,19}/-?\d{1,19}$")]
Verdict = Literal["win", "tie", "lose", "yes", "no"]
Label = Annotated[float, Field(strict=True, ge=0, le=1, multiple_of=0.5)]


class Form(BaseModel):
    model_config = ConfigDict(extra="allow", strict=True)


class KeyForm(Form):
    key: StrictStr


class _Exact(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class PersonaForm(_Exact):
    category: StrictStr
    relation: StrictStr
    entity: StrictStr
    sentiment: StrictStr


class ProfileForm(_Exact):
    age: StrictStr
    gender: StrictStr
    personality: StrictStr
    occupation: StrictStr
    income_range: StrictStr


class ScheduleForm(_Exact):
    datetime: StrictStr
    event: StrictStr


class FailureForm(Form):
    stage: StrictStr
    kind: StrictStr
    reason: StrictStr


class ShownForm(Form):
    characters: StrictInt
    turns: StrictInt = 0
    sessions: StrictInt = 0


class HicupidForm(Form):
    """A line of HiCUPID's records.jsonl; where the item failed, or was only searched for, it ends early."""

    key: Key
    user: Id
    split: StrictStr
    type: QuestionType
    question: StrictStr
    personalized_answer: StrictStr
    general_answer: StrictStr
    evidence: list[Id]
    persona: PersonaForm | None
    profile: ProfileForm | None
    schedule: ScheduleForm | None
    user_profile: ProfileForm | None = None
    shown: ShownForm | None = None
    answer: StrictStr = ""
    finish: StrictStr = ""
    bleu: Number = 0.0
    rouge_l: Number = 0.0
    answer_is: Literal["A", "B"] = "A"
    judgement: StrictStr = ""
    verdict: Verdict | None = None
    swapped_judgement: StrictStr = ""
    swapped_verdict: Verdict | None = None
    score: Share | None = None
    retrieved: list[Id] = []
    failure: FailureForm = Field(default=FailureForm(stage="", kind="", reason=""))

    @model_validator(mode="after")
    def _whole(self) -> HicupidForm:
        given = self.model_fields_set
        for one, needs in (
            ("judgement", ("answer", "answer_is", "verdict", "score", "finish", "bleu", "rouge_l")),
            ("swapped_judgement", ("judgement", "swapped_verdict")),
            ("verdict", ("judgement",)),
            ("score", ("judgement",)),
        ):
            for need in needs if one in given else ():
                if need not in given:
                    raise ValueError(f"has {one}, and no {need}")
        return self


class TranscriptsForm(Form):
    precision: StrictStr | None = None
    recall: StrictStr | None = None


class ErrorForm(Form):
    said: StrictStr = ""
    category: StrictStr | None


class InferenceForm(Form):
    response: StrictStr = ""
    finish: StrictStr = ""
    preference: StrictStr = ""
    checklist: list[StrictStr] = []
    precision: list[Label] = []
    recall: list[Label] = []
    transcripts: TranscriptsForm = TranscriptsForm()
    error: ErrorForm | None = None
    unparsed: StrictStr = ""
    why: StrictStr = ""
    failure: FailureForm = Field(default=FailureForm(stage="", kind="", reason=""))


class GenerationForm(Form):
    response: StrictStr = ""
    finish: StrictStr = ""
    judgement: StrictStr = ""
    score: Number | None = None
    unparsed: StrictStr = ""
    why: StrictStr = ""
    failure: FailureForm = Field(default=FailureForm(stage="", kind="", reason=""))


class CupidForm(Form):
    """A line of CUPID's records.jsonl."""

    key: StrictStr
    persona: StrictStr
    type: InstanceType
    request: StrictStr
    context_factor: StrictStr
    preference: StrictStr
    checklist: list[StrictStr]
    evidence: list[Id]
    category: StrictStr | None
    distance: Id | None
    shown: ShownForm | None = None
    inference: InferenceForm = InferenceForm()
    generation: GenerationForm = GenerationForm()

    @model_validator(mode="after")
    def _whole(self) -> CupidForm:
        found, given = self.inference, self.inference.model_fields_set
        lists = {"precision": found.checklist, "recall": self.checklist}
        for side in COVERAGE_SIDES:
            if side in given and len(getattr(found, side)) != len(lists[side]):
                raise ValueError(f"has {side} of {len(getattr(found, side))} of {len(lists[side])} items")
        for task, needs in (
            ("inference", {"response", "preference", "checklist", *COVERAGE_SIDES}),
            ("generation", {"response", "judgement", "score"}),
        ):
            part = getattr(self, task).model_fields_set
            lacking = needs - part
            if task in self.model_fields_set and lacking and ("score" in part or not part & {"failure", "unparsed"}):
                raise ValueError(f"has {task} without {min(lacking)}")
        return self


class DataForm(Form):
    name: StrictStr
    revision: StrictStr | None
    fingerprint: StrictStr


class SettingsForm(Form):
    history: StrictStr
    splits: list[StrictStr] = []
    types: list[StrictStr] = []
    task: StrictStr = ""
    scoring: Literal["bowstring", "upstream"] = "bowstring"
    both_orders: StrictBool = False


class ConfigurationForm(Form):
    benchmark: Literal["hicupid", "cupid"]
    model: StrictStr | None
    judge: StrictStr | None
    data: DataForm
    settings: SettingsForm
    matcher: StrictStr = ""
    retriever: StrictStr = ""
    prompts: dict[StrictStr, StrictStr]


RECORDS: dict[str, type[Form]] = {"hicupid": HicupidForm, "cupid": CupidForm}


def problem_in(form: type[Form], value: Any) -> str | None:
    """What first keeps a value from having a form, as in "evidence.0 is 'x': …"; None where it has it."""
    try:
        form.model_validate(value)
    except ValidationError as invalid:
        error = invalid.errors(include_url=False)[0]
        place = ".".join(map(str, error["loc"]))
        if error["type"] == "missing":
            return f"has no {place}, as every one of a run has"
        if error["type"] == "value_error":
            return error["msg"].removeprefix("Value error, ")
        return f"{place or 'it'} is {shown(error['input'])}: {error['msg'].lower()}"
    return None
