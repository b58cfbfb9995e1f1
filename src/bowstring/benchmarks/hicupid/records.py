"""The format of HiCUPID records in records.jsonl."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictBool, StrictInt, StrictStr, model_validator

from bowstring.benchmarks.hicupid.choosing.options import GOLD, LETTERS, OUTCOMES
from bowstring.benchmarks.hicupid.types import QuestionType
from bowstring.labels import Compared, YesOrNo
from bowstring.runs.codec import Codec, FailureForm, Form, Id, Number, Share, ShownForm

# User and question; the number of the answer, and of its judgement, if it is not the first.
Key = Annotated[StrictStr, Field(pattern=r"^-?\d{1,19}/-?\d{1,19}(#\d{1,9}(\.\d{1,9})?)?$")]
Verdict = Literal[Compared, YesOrNo]
Letter = Annotated[StrictStr, Field(pattern=f"^[{LETTERS}]$")]
_OF_LETTER, _OF_LIKELIHOOD = ("answer", "finish"), ("log_probabilities", "tokens", "score_by_sum")


def _check_kind(kind: str) -> str:
    if kind not in OUTCOMES:
        raise ValueError(f"{kind!r} is not a kind of option")
    return kind


OptionKind = Annotated[StrictStr, AfterValidator(_check_kind)]


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


class OptionForm(_Exact):
    """An option of `--task choose`."""

    text: StrictStr
    kind: OptionKind


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
    options: list[OptionForm] = Field(default_factory=list, max_length=len(LETTERS))
    by: Literal["letter", "likelihood"] = "letter"
    gold_is: Letter = "A"
    choice: Letter | None = None
    log_probabilities: list[Number] = Field(default_factory=list)
    tokens: list[Annotated[StrictInt, Field(ge=1)]] = Field(default_factory=list)
    score_by_sum: Share | None = None

    @model_validator(mode="after")
    def _whole(self) -> HicupidForm:
        given = self.model_fields_set
        if "options" in given:
            return self._whole_choice(given)
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

    def _whole_choice(self, given: set[str]) -> HicupidForm:
        """Check that all parts of a choice are there, and fit each other."""
        needs: tuple[str, ...] = ("by", "gold_is")
        if "failure" not in given:
            needs = (*needs, "choice", "score", *(_OF_LIKELIHOOD if self.by == "likelihood" else _OF_LETTER))
        if lacking := next((need for need in needs if need not in given), None):
            raise ValueError(f"has options but no {lacking}")
        letters = LETTERS[: len(self.options)]
        golds = [letter for letter, one in zip(letters, self.options, strict=True) if one.kind == GOLD]
        if golds != [self.gold_is]:
            raise ValueError(f"gold_is is {self.gold_is}, which is not the one gold option")
        if self.choice is not None and self.choice not in letters:
            raise ValueError(f"choice is {self.choice}, which is not among its options")
        if self.score != (None if self.choice is None else float(self.choice == self.gold_is)):
            raise ValueError("score does not fit its choice")
        if "tokens" in given and not len(self.options) == len(self.log_probabilities) == len(self.tokens):
            raise ValueError("has options without a log-probability")
        return self


class SettingsForm(Form):
    """The settings of a run that affect how its records are read."""

    both_orders: StrictBool = False


CODEC = Codec(HicupidForm, schema=2)  # 2: with choices
