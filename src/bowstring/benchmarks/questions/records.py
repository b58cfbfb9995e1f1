"""The records of question benchmarks, as records.jsonl has them."""

from __future__ import annotations

from pydantic import Field, StrictStr, model_validator

from bowstring.labels import YesOrNo
from bowstring.runs.codec import Codec, FailureForm, Form, Id, Share, ShownForm


class QuestionForm(Form):
    """The record of an item; a failed item has only the first fields."""

    key: StrictStr
    user: StrictStr
    split: StrictStr
    type: StrictStr
    question: StrictStr
    gold: StrictStr
    evidence: list[Id]
    shown: ShownForm | None = None
    recall: Share | None = None
    retrieved: list[Id] = Field(default_factory=list)
    answer: StrictStr = ""
    finish: StrictStr = ""
    judgement: StrictStr = ""
    verdict: YesOrNo | None = None
    score: Share | None = None
    failure: FailureForm = Field(default=FailureForm(stage="", kind="", reason=""))

    @model_validator(mode="after")
    def _whole(self) -> QuestionForm:
        given = self.model_fields_set
        if "judgement" in given and not {"answer", "verdict", "score"} <= given:
            raise ValueError("has judgement, and not all of answer, verdict and score")
        return self


CODEC = Codec(QuestionForm)
