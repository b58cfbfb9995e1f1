"""The format of HiCUPID records in records.jsonl."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictStr, model_validator

from bowstring.benchmarks.hicupid.types import QuestionType
from bowstring.labels import Compared, YesOrNo
from bowstring.runs.codec import Codec, FailureForm, Form, Id, Number, Share, ShownForm

# User and question; the number of the answer, and of its judgement, if it is not the first.
Key = Annotated[StrictStr, Field(pattern=r"^-?\d{1,19}/-?\d{1,19}(#\d{1,9}(\.\d{1,9})?)?$")]
Verdict = Literal[Compared, YesOrNo]


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


class PublishedForm(Form):
    """What the authors' code reads in the judgement."""

    score: Share
    parsed: StrictBool


class HicupidForm(Form):
    """A line of HiCUPID's records.jsonl. Later fields are missing if the item failed or the run only retrieved."""

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
    published: PublishedForm | None = None
    retrieved: list[Id] = Field(default_factory=list)
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
                    raise ValueError(f"has {one} but no {need}")
        return self


class SettingsForm(Form):
    """The settings of a run that affect how its records are read."""

    both_orders: StrictBool = False


CODEC = Codec(HicupidForm)
