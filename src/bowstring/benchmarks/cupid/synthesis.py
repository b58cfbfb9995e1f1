"""Generation of CUPID data: settings, roles, output and preview of the pipeline, and the offline generator."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal, TypedDict

from bowstring.benchmarks.cupid.compatibility import EACH
from bowstring.benchmarks.cupid.data import write_parquet
from bowstring.benchmarks.cupid.offline import OfflineCupid
from bowstring.benchmarks.cupid.pipeline import CupidPipeline
from bowstring.benchmarks.cupid.pipeline_parts import FEWEST_SESSIONS
from bowstring.benchmarks.cupid.truth import FILE as TRUTH
from bowstring.benchmarks.cupid.truth import truth_of
from bowstring.benchmarks.cupid.types import Instance
from bowstring.benchmarks.interface import Noun
from bowstring.benchmarks.synthesis import Estimate, OfflineGenerator, Watch
from bowstring.datasets.display import Block, Heading, Line
from bowstring.errors import UsageError
from bowstring.files.writing import write_file
from bowstring.models.interface import Model
from bowstring.prompts import PromptFolder
from bowstring.settings import check_settings, option
from bowstring.synthesis.quality import Quality, leaks_preference
from bowstring.synthesis.settings import SEED

_SHOWN_MESSAGES = 6
_SAME_ASSISTANT = (
    "warning: --assistant is the same model as --model. A strong assistant leaves little feedback to learn from; name "
    "a weaker model with --assistant NAME (the authors: one of 8B)"
)
Protocol = Literal["published", "bowstring"]


class CupidSynthesisKeywords(TypedDict, total=False):
    """The fields of `CupidSynthesisSettings` and, except for `model`, of `CupidRoles` as keywords of
    `bowstring.synthesize`."""

    personas: int
    train_personas: int
    factors: int
    sessions: int
    turns: int
    protocol: Protocol | None
    temperature: float | None
    seed: int
    assistant: Any
    judge: Any


@dataclass(frozen=True, slots=True)
class CupidSynthesisSettings:
    """Everything that changes the set; defaults as published, except for the number of personas."""

    personas: int = field(
        default=4, metadata=option("Number of personas; each gives three instances.", min=1, max=100_000)
    )
    train_personas: int = field(
        default=0,
        metadata=option(
            "Further personas, in the split train; their preferences have no held-out rule. Only with --offline.",
            min=0,
            max=100_000,
        ),
    )
    factors: int = field(default=8, metadata=option("Context factors per persona.", min=4, max=40))
    sessions: int = field(
        default=13,
        metadata=option("Sessions per persona; the last is the request.", min=FEWEST_SESSIONS, max=60),
    )
    turns: int = field(default=16, metadata=option("Maximum turns per session.", min=1, max=64))
    protocol: Protocol | None = field(
        default=None,
        metadata=option(
            "Requests, settings and reading of answers: the authors' or ours.",
            shown_default="published if --prompts has everything that an import writes, else bowstring",
        ),
    )
    temperature: float | None = field(
        default=None,
        metadata=option(
            "Sampling temperature of all requests.",
            min=0,
            max=2,
            shown_default="1; with --protocol published, the authors' for each step",
        ),
    )
    seed: int = field(default=0, metadata=SEED)

    def __post_init__(self) -> None:
        check_settings(self)

    def configuration(self) -> dict[str, Any]:
        found = asdict(self)
        personas = found.pop("personas")
        del found["train_personas"]  # only of offline sets, which say so themselves
        return {**found, "personas": personas}


@dataclass(frozen=True, slots=True)
class CupidRoles:
    """The models: writer, assistant in the conversations, and simulated user, who also writes checklists."""

    model: Any = field(default=None, metadata=option("Model that generates the data."))
    assistant: Any = field(
        default=None,
        metadata=option(
            "Model of the assistant in the conversations; a weak one needs feedback, which is what a log shows.",
            shown_default="--model",
        ),
    )
    judge: Any = field(
        default=None, metadata=option("Model that plays the user and writes checklists.", shown_default="--model")
    )

    def by_role(self) -> dict[str, Any]:
        judge = self.judge or self.model
        return {
            "model": self.model,
            "assistant": self.assistant or self.model,
            "judge": judge,
            "judge_user": judge,
        }


class CupidOfflineSet:
    def __init__(self, settings: CupidSynthesisSettings) -> None:
        self.configuration = {"personas": settings.personas, "train_personas": settings.train_personas}
        self._settings = settings

    def write(self, folder: Path, watch: Watch) -> Quality:
        """Write the splits, and the truth about both."""
        generator, quality, settings = OfflineCupid(self._settings.seed), Quality(), self._settings
        preferences: dict[str, tuple[str, ...]] = {}
        subjects: dict[str, str] = {}
        total = settings.personas + settings.train_personas
        for split, n in (("test", settings.personas), ("train", settings.train_personas)):
            instances: list[Instance] = []
            for number in range(n):
                persona = generator.persona(number, training=split == "train")
                instances += persona.instances
                preferences |= persona.preferences
                subjects[persona.instances[0].persona_id] = persona.subject
                watch(number + 1 + (settings.personas if split == "train" else 0), total)
            for instance in instances:
                if flaw := leaks_preference(instance.request, instance.preference, instance.context_factor):
                    quality.flaws[flaw.kind] += 1
            quality.made["instances"] += len(instances)
            if instances:
                write_parquet(instances, folder, split)
        truth = truth_of(preferences, subjects).model_dump()
        write_file(folder / TRUTH, json.dumps(truth, indent=1, ensure_ascii=False) + "\n")
        return quality


class CupidOfflineGenerator:
    settings: tuple[str, ...] = ("personas", "train_personas", "seed")
    made_by = (
        "Generated by Bowstring's grammar from word banks, without a language model, in the size and form of CUPID's "
        "data. Preferences are rules that a program can check. It is made for load tests, training and controlled "
        "experiments, and is no substitute for text that people or models wrote. All people in it are invented."
    )

    def open(self, settings: CupidSynthesisSettings) -> CupidOfflineSet:
        return CupidOfflineSet(settings)


class CupidSynthesis:
    about = "CUPID: personas with preferences that depend on context, and the sessions that reveal them."
    thing = Noun("persona", "personas")
    settings = CupidSynthesisSettings
    roles = CupidRoles
    role_titles: Mapping[str, str] = {
        "model": "writer",
        "assistant": "assistant",
        "judge": "checklists",
        "judge_user": "simulated user",
    }
    offline: OfflineGenerator | None = CupidOfflineGenerator()

    def count(self, settings: CupidSynthesisSettings) -> int:
        return settings.personas

    def estimates(self, settings: CupidSynthesisSettings) -> list[Estimate]:
        """A session takes about three replies; the whole chat is sent again with every turn."""
        s = settings
        chats, turns = s.sessions - 1, min(3, s.turns)
        return [
            Estimate("model", 3, 1500 + 60 * s.factors + 40 * s.sessions, 250 + 170 * s.factors + 190 * s.sessions),
            Estimate("judge", s.factors + 1, 260 * (s.factors + 1), 70 * (s.factors + 1)),
            Estimate("judge", 2, 2 * 260, 2 * 3),  # whether the changed preference excludes the old one
            Estimate("judge", 4 * EACH, 4 * EACH * 260, 4 * EACH * 3, once=True),
            Estimate("assistant", chats * turns, chats * turns * 400, chats * turns * 160),
            Estimate("judge_user", chats * turns, chats * turns * 1300, chats * turns * 230),
        ]

    def remarks(self, models: Mapping[str, Model]) -> list[str]:
        return [_SAME_ASSISTANT] if models["assistant"].identity == models["model"].identity else []

    def pipeline(self, settings: CupidSynthesisSettings, seeds: Sequence[str], prompts: PromptFolder) -> CupidPipeline:
        if settings.train_personas:
            raise UsageError("--train-personas is only for --offline")
        return CupidPipeline(settings, seeds, prompts)

    def finish(self, made: Sequence[list[Instance]], quality: Quality) -> list[list[Instance]]:  # noqa: ARG002
        return list(made)

    def write(self, made: Sequence[list[Instance]], folder: Path) -> None:
        write_parquet([instance for of_one in made for instance in of_one], folder)

    def show(self, thing: list[Instance]) -> list[Block]:
        """The instances of one persona: request, preferences, and the beginning of the first session."""
        first = thing[0]
        preferences = [Line(i.type, f"{i.preference} ({len(i.sessions)} sessions before)") for i in thing]
        messages = first.sessions[0].dialogue.messages[:_SHOWN_MESSAGES]
        return [
            Heading(first.persona_id),
            Line("request", first.request),
            Line("context", first.context_factor),
            *preferences,
            Heading("the first session"),
            *(Line(message.role, message.text) for message in messages),
        ]
