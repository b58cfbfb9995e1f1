"""Ask a judge for a verdict: by a JSON schema where its server takes one, otherwise as text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from bowstring.judging.forms import VerdictRequest
from bowstring.models.interface import RequestFailed, SchemaRefused
from bowstring.records import Completion, Known, Planned, Prompt, Sampling
from bowstring.runs.asking import Asker

Protocol = Literal["bowstring", "published"]
PROTOCOL_HELP = (
    "Ours, or that of the authors, for comparison with published numbers: their prompts (--prompts), requests and "
    "scoring rules."
)
JUDGE_TOKENS_HELP = "Maximum length of an answer of a judge, with its thoughts, in tokens."
VERDICTS_HELP = "How judges are asked for verdicts: as JSON where the server takes a schema, or always as text."


def missing_prompts(name: str) -> str:
    return (
        f"--protocol published needs the authors' prompts; {name} is missing. Import them from a checkout with "
        "bowstring prompts import, and give the folder with --prompts"
    )


@dataclass(frozen=True, slots=True)
class AsPublished:
    """What a benchmark's authors' code does, for the note of a run as published."""

    fixed: Sequence[str]  # settings that it fixes
    histories: Sequence[str]  # that it has

    def notes(
        self,
        settings: Mapping[str, Any],
        usual: Mapping[str, Any],
        *,
        judge_by_rule: str | None,
        changed_prompts: Sequence[str] | None,
    ) -> list[str]:
        """Return the note of a run as published, with everything that is not so. `judge_by_rule` is a judge that is not
        a model; `changed_prompts` is None if nothing says how the prompts were imported."""
        changed = [
            f"{name.replace('_', ' ')} {value}"
            for name in self.fixed
            if (value := settings.get(name)) != usual.get(name)
        ]
        but = [f"with {', '.join(changed)}"] if changed else []
        if settings["history"] not in self.histories:
            but.append(f"with the history {settings['history']}, which the authors' code does not have")
        if judge_by_rule is not None:
            but.append(f"with the judge {judge_by_rule}, which is not a model; the authors' code has no such judge")
        if changed_prompts:
            but.append(f"with prompts that were changed since their import: {', '.join(changed_prompts)}")
        notes = ["asked and scored as published (--protocol published)" + "".join(f", but {one}" for one in but)]
        if changed_prompts is None:
            notes.append(
                "nothing says how the prompts were imported, so they may have been changed; import them again with "
                "bowstring prompts import"
            )
        return notes


async def ask_judge(judge: Asker, request: VerdictRequest, sampling: Sampling, *, purpose: str = "") -> str:
    """Return what the judge said, as text."""
    return (await ask_formed(judge, request, sampling, purpose=purpose)).text


async def ask_formed(asker: Asker, request: VerdictRequest, sampling: Sampling, *, purpose: str = "") -> Completion:
    """Return the answer in its form, as text. The model is asked for text after all if it refuses the schema or ignores
    it.

    A verdict that was given as text after all has a key of its own in the store: a later run finds it without asking
    for JSON again, and does not take it for one of a run that asks for text.
    """
    if request.structured is None or not asker.takes_schema:
        return await asker.ask(request.text, sampling, purpose=purpose)
    by_schema, as_text = _settings(request, sampling)
    if asker.has(request.structured, by_schema) or not asker.has(request.text, as_text):
        try:
            said = await asker.ask(request.structured, by_schema, purpose=purpose)
        except SchemaRefused:
            pass
        except RequestFailed as failed:
            hint = " (it was asked for JSON by a schema: if that is the cause, use --verdicts text)"
            raise RequestFailed(failed.kind, failed.reason + hint * _fails_inside(failed.reason)) from failed
        else:
            if (lines := request.form.as_lines(said.text)) is not None:
                return replace(said, text=lines)
    return await asker.ask(request.text, as_text, purpose=purpose)


def text_as_published(completion: Completion) -> str:
    """Return an answer as it stands in the authors' prompts to a judge: a message without text is None in Python."""
    return "None" if _has_no_text(completion) else completion.text


async def ask_as_published(judge: Asker, prompt: Prompt, sampling: Sampling, *, purpose: str = "") -> str:
    """Return what the judge said; raise RequestFailed if its message has no text: the authors' code ends there."""
    completion = await judge.ask(prompt, sampling, purpose=purpose)
    if _has_no_text(completion):
        raise RequestFailed("rejected", "the judge refused: its message has no text")
    return completion.text


def _has_no_text(completion: Completion) -> bool:
    """Whether the server sent a refusal in place of a text. A stop reason of that name has a text."""
    return completion.finish == "refusal" and completion.provenance.raw_finish != "refusal"


def _fails_inside(reason: str) -> bool:
    """Return whether a server said that it failed itself, as some do at a schema; an overloaded one says 503."""
    return re.search(r": 50[01]\b", reason) is not None


def plan_judge(
    role: str, request: VerdictRequest, sampling: Sampling, answer_tokens: int, *, estimated: bool = False
) -> Planned:
    if request.structured is None:
        return Planned(role, request.text, sampling, answer_tokens, estimated)
    by_schema, _ = _settings(request, sampling)
    return Planned(role, request.structured, by_schema, answer_tokens, estimated, (request.text, sampling))


def known_verdict(role: str, request: VerdictRequest, sampling: Sampling, known: Known) -> str | None:
    """Return what is stored, in whichever form it was given."""
    if request.structured is None:
        return known(role, request.text, sampling)
    by_schema, as_text = _settings(request, sampling)
    asked: list[tuple[Prompt, Sampling]] = [
        (request.structured, by_schema),
        (request.text, as_text),
        (request.text, sampling),
    ]
    return next((said for prompt, settings in asked if (said := known(role, prompt, settings)) is not None), None)


def _settings(request: VerdictRequest, sampling: Sampling) -> tuple[Sampling, Sampling]:
    """Return the settings of a request by schema, and of one as text after all."""
    return replace(sampling, schema=request.form.schema), replace(sampling, schema="")
