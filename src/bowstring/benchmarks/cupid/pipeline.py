"""CUPID data written by models, in four steps: a persona, its context factors, its sessions, the conversations.

The simulated user scores each reply with a hidden checklist and hints at one item at a time. The closing message
touches all items that were not mentioned before, so that even a perfect first reply leaves evidence.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from bowstring.benchmarks.cupid.attributes import Attributes
from bowstring.benchmarks.cupid.checkout import ATTRIBUTES, STRUCTURE
from bowstring.benchmarks.cupid.compatibility import Compatibility
from bowstring.benchmarks.cupid.pipeline_parts import (
    FactorOut,
    PersonaOut,
    PreferenceKind,
    ScenarioOut,
    Series,
    build_instances,
)
from bowstring.benchmarks.cupid.published_form import PublishedForm
from bowstring.benchmarks.cupid.synthesis_form import BowstringForm, SynthesisForm
from bowstring.benchmarks.cupid.types import Instance
from bowstring.concurrency import gather_in_order
from bowstring.errors import UsageError
from bowstring.judging.structured import Unreadable
from bowstring.prompts import PromptFolder, Template
from bowstring.records import Message, Prompt, Role, Trunk
from bowstring.synthesis import quality
from bowstring.synthesis.making import Dropped, Maker
from bowstring.synthesis.quality import Flaw

if TYPE_CHECKING:
    from bowstring.benchmarks.cupid.synthesis import CupidSynthesisSettings

_TEMPLATES = (
    "persona_generator",
    "context_factors_generator",
    "sessions_generator",
    "preference_decomposer",
    "user_simulator",
    "assistant_simulator",
)
# What an import writes for a synthesis as published.
IMPORTED = (*(f"synthesis/{name}" for name in _TEMPLATES), ATTRIBUTES, STRUCTURE)


def form_of(protocol: str | None, prompts: PromptFolder) -> SynthesisForm:
    """The authors' form if the protocol says so, or if it is not given and everything was imported for it."""
    missing = [name for name in IMPORTED if not prompts.has_override(f"cupid/{name}")]
    if protocol == "published" and missing:
        raise UsageError(
            f"--protocol published needs the authors' prompts; missing: {', '.join(missing)}. Import them with "
            "bowstring prompts import cupid CHECKOUT --out FOLDER, and give --prompts FOLDER"
        )
    return BowstringForm() if missing or protocol == "bowstring" else PublishedForm(prompts)


class CupidPipeline:
    """Generates personas one by one, with three instances each."""

    def __init__(self, settings: CupidSynthesisSettings, seeds: Sequence[str], prompts: PromptFolder) -> None:
        self.form = form_of(settings.protocol, prompts)
        self.settings = replace(settings, protocol="published" if self.form.verbatim else "bowstring")
        self._seeds = seeds
        self._attributes: list[Attributes] = self.form.attributes(settings.personas, settings.seed)
        get = prompts.get
        self._persona = get("cupid/synthesis/persona_generator", needs=frozenset({"seed_descriptions"}))
        self._factors = get("cupid/synthesis/context_factors_generator", needs=frozenset({"n_factors", "user_persona"}))
        self._sessions = get(
            "cupid/synthesis/sessions_generator",
            needs=frozenset({"n_sessions", "user_persona", "context_factors"}),
            may=frozenset({"series_structure", "first_factor", "second_factor"}),
        )
        self._decomposer = get("cupid/synthesis/preference_decomposer", needs=frozenset({"preferences"}))
        self._user = get(
            "cupid/synthesis/user_simulator",
            needs=frozenset({"checklist"}),
            may=frozenset({"user_profile", "context_factor", "preference"}),
        )
        self._assistant = get("cupid/synthesis/assistant_simulator")
        self._open_compatibility = partial(Compatibility, prompts=prompts)
        self._compatibility: Compatibility | None = None

        if self.form.verbatim:
            self.checking = "with the prompts and settings of its authors; flaws were counted and not corrected"

    async def make(self, number: int, maker: Maker) -> list[Instance]:
        """The instances of one persona. Raises Dropped if a part could not be generated."""
        if self._compatibility is None and not self.form.verbatim:
            self._compatibility = self._open_compatibility(maker)
        key = f"persona {number}"
        rng = random.Random(f"{self.settings.seed}/cupid/{number}")  # noqa: S311 - repeatable on purpose
        persona = await self._make_persona(number, key, maker)
        factors = await self._make_factors(key, persona, maker)
        series = await self._make_series(key, persona, factors, rng, maker)
        checklists = await self._make_checklists(key, series, maker)
        conversations = await gather_in_order(
            *(self._converse(key, persona, s, checklists[s.preference], maker) for s in series.scenarios[:-1])
        )
        main = next((f for f in factors if f.factor == series.main), None)
        kind = main.kind if main else PreferenceKind()
        persona_id = self.form.persona_id(number, persona.occupation)
        try:
            return build_instances(persona_id, series, conversations, checklists, kind)
        except Unreadable as error:
            raise Dropped("instances", key, str(error)) from error

    async def _make_persona(self, number: int, key: str, maker: Maker) -> PersonaOut:
        """A persona. Those of a batch ask for the same text, which is requested once."""
        first = number - number % self.form.batch
        batch = range(first, min(first + self.form.batch, self.settings.personas))
        drawn = [(k, self._seeds[k % len(self._seeds)], self._attributes[k]) for k in batch]
        step = self.form.steps.persona
        found = await maker.make(
            "model",
            "persona",
            key=key,
            prompt=self._prompt(maker, "model", self._persona, seed_descriptions=self.form.seed_descriptions(drawn)),
            read=partial(self.form.read_personas, n=len(batch)),
            check=lambda found: quality.contains_personal_data([found[number - first].description]),
            max_tokens=step.max_tokens,
            temperature=step.temperature,
            verbatim=self.form.verbatim,
        )
        return found[number - first]

    async def _make_factors(self, key: str, persona: PersonaOut, maker: Maker) -> tuple[FactorOut, ...]:
        n, step = self.settings.factors, self.form.steps.factors
        return await maker.make(
            "model",
            "context factors",
            key=key,
            prompt=self._prompt(maker, "model", self._factors, n_factors=str(n), user_persona=persona.description),
            read=partial(self.form.read_factors, n=n),
            check=partial(_flaw_of_factors, persona),
            max_tokens=step.max_tokens,
            temperature=step.temperature,
            verbatim=self.form.verbatim,
        )

    async def _make_series(
        self, key: str, persona: PersonaOut, factors: Sequence[FactorOut], rng: random.Random, maker: Maker
    ) -> Series:
        n, step = self.settings.sessions, self.form.steps.sessions
        values = self.form.session_values(n, factors, rng)
        return await maker.make(
            "model",
            "sessions",
            key=key,
            prompt=self._prompt(
                maker, "model", self._sessions, n_sessions=str(n), user_persona=persona.description, **values
            ),
            read=partial(self.form.read_series, n=n, factors=factors),
            check=partial(self._flaw_of_series, key),
            max_tokens=step.max_tokens,
            temperature=step.temperature,
            verbatim=self.form.verbatim,
        )

    async def _flaw_of_series(self, key: str, series: Series) -> Flaw | None:
        flaw = _flaw_of_series(series)
        if flaw is not None or self._compatibility is None:
            return flaw
        return await self._compatibility.flaw_of_change(key, series.old, series.new)

    async def _make_checklists(self, key: str, series: Series, maker: Maker) -> dict[str, tuple[str, ...]]:
        preferences = list(dict.fromkeys(s.preference for s in series.scenarios))
        step = self.form.steps.checklist
        made = await gather_in_order(
            *(
                maker.make(
                    "judge",
                    "checklist",
                    key=f"{key}: {preference}",
                    prompt=self._prompt(maker, "judge", self._decomposer, preferences=preference),
                    read=self.form.read_checklist,
                    max_tokens=step.max_tokens,
                    temperature=step.temperature,
                    verbatim=self.form.verbatim,
                )
                for preference in preferences
            )
        )
        return dict(zip(preferences, made, strict=True))

    async def _converse(
        self, key: str, persona: PersonaOut, scenario: ScenarioOut, checklist: tuple[str, ...], maker: Maker
    ) -> list[Message]:
        """The messages of a session, from the request to the user's closing message.

        As published, a session that reaches the limit of turns ends with the assistant's last reply.
        """
        at, form = f"{key}, session {scenario.id}", self.form
        values = {
            "user_profile": persona.description,
            "context_factor": scenario.context_factor,
            "preference": form.simulated_preference(scenario.preference),
            "checklist": "\n".join(f"{n}. {item}" for n, item in enumerate(checklist, 1)),
        }
        system = Message("system", (self._user.system_text(**values),))
        helper = Message("system", (self._assistant.system_text(),))
        said = [Message("user", (scenario.request,))]
        thought = [Message("assistant", (form.opening(scenario.request),))]
        touched: set[int] = set()
        for turn in range(1, self.settings.turns + 1):
            reply = await maker.make_text(
                "assistant",
                f"{at}/{turn}",
                _chat(helper, said),
                _flaw_of_reply,
                max_tokens=form.steps.reply.max_tokens,
                temperature=form.steps.reply.temperature,
                verbatim=form.verbatim,
            )
            said.append(Message("assistant", (reply,)))
            last = turn == self.settings.turns
            if last and form.last_reply is None:
                maker.quality.flaws["the user does not close the conversation"] += 1
                break
            thought.append(Message("user", (reply + (form.last_reply or "") if last else reply,)))
            found = await maker.make(
                "judge_user",
                "user message",
                key=f"{at}/{turn}",
                prompt=_chat(system, thought),
                read=partial(form.read_simulated, items=len(checklist)),
                check=form.check_simulated(checklist, frozenset(touched), last=last),
                max_tokens=form.steps.user.max_tokens,
                temperature=form.steps.user.temperature,
                verbatim=form.verbatim,
            )
            touched |= found.selected
            said.append(Message("user", (found.message,)))
            thought.append(Message("assistant", (form.simulator_message(found),)))
            if found.ends or last:
                break
        return [Message("user", (scenario.request.strip(),)), *said[1:]]

    def _prompt(self, maker: Maker, role: str, template: Template, **values: str) -> Prompt:
        """A request that is not a chat. The authors send instructions in the role that OpenAI calls developer."""
        named: Role = maker.instruction_role(role) if self.form.verbatim else "system"
        user = Message("user", template.user_pieces(**values))
        system = (Message(named, (template.system_text(**values),)),) if template.system else ()
        return Prompt(Trunk(()), (*system, user))


def _flaw_of_reply(reply: str) -> Flaw | None:
    return quality.too_long(reply) or quality.contains_personal_data([reply])


def _flaw_of_factors(persona: PersonaOut, found: Sequence[FactorOut]) -> Flaw | None:
    """The simulated user reads the persona and the name of the factor: neither may tell what the checklist hides."""
    for f in found:
        leak = quality.leaks_preference(persona.description, f.preference, f.factor, what="persona")
        leak = leak or quality.leaks_preference(f.factor, f.preference, what="context factor")
        if leak is not None:
            return leak
    return quality.contains_personal_data(t for f in found for t in (f.factor, f.background, f.preference))


def _flaw_of_series(series: Series) -> Flaw | None:
    if quality.rewords(series.old, series.new):
        return Flaw("the changed preference is the old one", series.new[:120])
    for s in series.scenarios:
        # The last request is that of three instances, with the old preference or with the new one.
        hidden = (s.preference,) if s is not series.scenarios[-1] else (series.old, series.new)
        context = f"{s.context_factor} {s.task_type}"
        for preference in hidden:
            leak = quality.leaks_preference(s.request_with_factor, preference, context)
            leak = leak or quality.leaks_preference(s.pasted, preference, context, what="pasted resource")
            leak = leak or quality.leaks_preference(s.request, preference, context, what="request with its resource")
            if leak is not None:
                return leak
    requests = [s.request_with_factor for s in series.scenarios]
    repeated = (quality.repeats(r, requests[:n]) for n, r in enumerate(requests))
    return quality.first_flaw(*repeated) or quality.contains_personal_data(s.request for s in series.scenarios)


def _chat(system: Message, messages: Sequence[Message]) -> Prompt:
    """The prompt of a growing chat: all messages but the last are the trunk."""
    return Prompt(Trunk((system, *messages[:-1])), (messages[-1],))
