"""The format of CUPID records in records.jsonl."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StrictStr, model_validator

from bowstring.benchmarks.cupid.types import COVERAGE_SIDES, InstanceType
from bowstring.runs.codec import Codec, FailureForm, Form, Id, Number, Share, ShownForm

Label = Annotated[float, Field(strict=True, ge=0, le=1, multiple_of=0.5)]


class TranscriptsForm(Form):
    precision: StrictStr | None = None
    recall: StrictStr | None = None


class FirstForm(TranscriptsForm):
    decomposition: StrictStr | None = None


class ErrorForm(Form):
    said: StrictStr = ""
    category: StrictStr | None


class InferenceForm(Form):
    response: StrictStr = ""
    finish: StrictStr = ""
    preference: StrictStr = ""
    checklist: list[StrictStr] = Field(default_factory=list)
    precision: list[Label] = Field(default_factory=list)
    recall: list[Label] = Field(default_factory=list)
    decomposition: StrictStr = ""
    transcripts: TranscriptsForm = TranscriptsForm()
    first: FirstForm = FirstForm()  # texts in place of which others were asked for
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


class PublishedForm(Form):
    """What the instance adds to the authors' sums."""

    predicted: list[Number] = Field(default_factory=list)
    true: list[Number] = Field(default_factory=list)
    score: Number | None = None
    unread: list[Literal["labels", "score"]] = Field(default_factory=list)
    dropped: StrictStr = ""
    ends: StrictStr = ""


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
    rules: Literal["seen", "held-out"] | None = None  # of the preference, in a generated set: part of training data?
    shown: ShownForm | None = None
    retrieved: list[Id] = Field(default_factory=list)
    evidence_recall: Share | None = None
    inference: InferenceForm = InferenceForm()
    generation: GenerationForm = GenerationForm()
    published: PublishedForm = PublishedForm()

    @model_validator(mode="after")
    def _whole(self) -> CupidForm:
        found, given = self.inference, self.inference.model_fields_set
        lists = {"precision": found.checklist, "recall": self.checklist}
        for side in COVERAGE_SIDES:
            if side in given and len(getattr(found, side)) != len(lists[side]):
                raise ValueError(f"has {side} for {len(getattr(found, side))} of {len(lists[side])} items")
        for task, needs in (
            ("inference", {"response", "preference", "checklist", *COVERAGE_SIDES}),
            ("generation", {"response", "judgement", "score"}),
        ):
            part = getattr(self, task).model_fields_set
            lacking = needs - part
            if task in self.model_fields_set and lacking and ("score" in part or not part & {"failure", "unparsed"}):
                raise ValueError(f"has {task} without {min(lacking)}")
        return self


class SettingsForm(Form):
    """The settings of a run that affect how its records are read."""

    task: StrictStr = ""
    protocol: Literal["bowstring", "published"] = "bowstring"


CODEC = Codec(CupidForm)
