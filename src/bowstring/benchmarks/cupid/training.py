"""Training data of CUPID.

SFT      log and request → the gold preference, under its heading; or, with --task generation, the reply that satisfied
DPO      in a session, the reply that satisfied over the first one, which did not; after the earlier sessions
matcher  the matcher's prompt on a checklist → the teacher's labels, as JSON

The held-out data of a matcher are whole personas.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby

from bowstring.benchmarks.cupid.data import CupidSet
from bowstring.benchmarks.cupid.prompts import CupidPrompts
from bowstring.benchmarks.cupid.reading import load_coverage
from bowstring.benchmarks.cupid.types import COVERAGE_LABELS, INSTANCE_TYPES, Coverage, Instance
from bowstring.datasets.dataset import DataSet
from bowstring.errors import UsageError, check_choice
from bowstring.history import Reader, View, parse_view
from bowstring.judging.sections import PREFERENCE_TITLE
from bowstring.judging.structured import LABELS, Unreadable, read_labels
from bowstring.prompts import PromptFolder
from bowstring.training.evaluators import EvaluatorData, HeldOut, Labels, check_types, hold_out
from bowstring.training.examples import TRAINED_VIEWS, Example, Examples, count_tokens
from bowstring.training.settings import GENERAL, TrainSettings

_CUT_OFF = 16  # replies after which sessions end in any case
_NAMES = {value: label for label, value in zip(COVERAGE_LABELS, LABELS.values(), strict=True)}


class CupidTraining:
    evaluators: tuple[str, ...] = ("matcher",)
    method_help: Mapping[str, str] = {
        "sft": "gold preferences",
        "dpo": "replies that satisfied the user over those that did not",
        "matcher": "coverage labels of checklist items",
    }
    assistant_prompts: tuple[str, ...] = ("cupid/evaluation/preference_inferrer", "cupid/evaluation/response_generator")
    evaluator_prompts: tuple[str, ...] = ("cupid/evaluation/preference_matcher",)

    def assistant(self, data: DataSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
        assert isinstance(data, CupidSet)
        return cupid_examples(data, settings, folder)

    def evaluator(
        self, source: str, revision: str | None, settings: TrainSettings, folder: PromptFolder
    ) -> EvaluatorData:
        return matcher_examples(load_coverage(source, revision=revision), settings, folder)


def cupid_examples(data: CupidSet, settings: TrainSettings, folder: PromptFolder) -> Examples:
    for kind in settings.types:
        check_choice("type", kind, INSTANCE_TYPES)
    if settings.drop_irrelevant:
        raise UsageError("--drop-irrelevant does not apply to CUPID; try --history gold")
    if settings.instruction != "system":
        raise UsageError("--instruction does not apply to CUPID")
    if settings.rejected != (GENERAL,):
        raise UsageError("--rejected does not apply to CUPID: the rejected reply is the first one of a session")
    view = parse_view(settings.history, kinds=TRAINED_VIEWS, units=("session",))
    instances = [i for i in data.instances if not settings.types or i.type in settings.types][: settings.limit]
    if not instances:
        raise UsageError(f"{data.name} has no instances to train on")
    prompts = CupidPrompts(folder, oracle=False, matcher=None)
    if settings.method == "sft" and settings.task == "inference":
        return Examples(lambda: _preferences(instances, view, prompts))
    if view.kind not in ("full", "gold"):
        raise UsageError(
            f"--history {settings.history}: CUPID answers need all earlier sessions (full), or those of their context "
            "(gold)"
        )
    pairs = list(_pairs(instances, view, prompts, only_evident=settings.method == "sft"))
    if not pairs:
        where = "" if view.kind == "full" else " after another one with the same context and preference"
        raise UsageError(f"{data.name} has no session with both an unsatisfactory and a satisfactory reply{where}")
    if settings.method == "dpo":
        return Examples(lambda: pairs)
    answers = [[replace(example, rejected=()) for example in group] for group in pairs]
    if settings.task == "generation":
        return Examples(lambda: answers)
    return Examples(lambda: chain(_preferences(instances, view, prompts), answers))


def _preferences(instances: Sequence[Instance], view: View, prompts: CupidPrompts) -> Iterator[list[Example]]:
    for persona, group in groupby(instances, key=lambda i: i.persona_id):
        examples = []
        for instance in group:
            reader = Reader(instance.history, count_tokens)
            shown = reader.show(view, evidence=instance.evidence, query=instance.request)
            prompt = prompts.tasks(instance, [prompts.session(d) for d in shown], ["inference"])["inference"]
            answer = f"### {PREFERENCE_TITLE}\n\n{instance.preference}"
            examples.append(Example(instance.key, persona, instance.type, prompt, answer))
        yield examples


def _pairs(
    instances: Sequence[Instance], view: View, prompts: CupidPrompts, *, only_evident: bool
) -> Iterator[list[Example]]:
    """One pair per session that has one. Instances of a persona share sessions; duplicates are removed.

    With `only_evident`, or where only the sessions of its context are shown, a session gives a pair only if an earlier
    one with the same context and preference shows what is asked for.
    """
    taken = set()
    for instance in instances:
        texts = [prompts.session(s.dialogue) for s in instance.sessions]
        for n, session in enumerate(instance.sessions):
            replies = [m.text for m in session.dialogue.messages if m.role == "assistant"]
            asked = next((m.text for m in session.dialogue.messages if m.role == "user"), None)
            if asked is None or not 2 <= len(replies) < _CUT_OFF or replies[0] == replies[-1]:
                continue
            if session.dialogue.messages[-1].role != "user":  # the last reply is not known to satisfy
                continue
            same = [k for k in range(n) if instance.sessions[k].context_factor == session.context_factor]
            evident = any(instance.sessions[k].preference == session.preference for k in same)
            if not evident and (only_evident or view.kind == "gold"):
                continue
            shown = texts[:n] if view.kind == "full" else [texts[k] for k in same]
            prompt = prompts.answering(shown, asked)
            if (known := (prompt.digest, replies[0], replies[-1])) in taken:
                continue
            taken.add(known)
            key = f"{instance.key}/{n + 1}"
            yield [Example(key, instance.persona_id, instance.type, prompt, replies[-1], (replies[0],))]


def matcher_examples(coverage: Sequence[Coverage], settings: TrainSettings, folder: PromptFolder) -> EvaluatorData:
    check_types(settings, INSTANCE_TYPES)
    prompts = CupidPrompts(folder, oracle=False, matcher=None)
    made = []
    for n, row in enumerate(coverage):
        read = _coverage_reader(row.checklist)
        said = row.transcript if row.transcript is not None and read(row.transcript) == row.labels else _as_json(row)
        prompt = prompts.match(row.checklist, row.preference).text
        key = f"{row.persona_id}+{row.instance_type}/{row.side}#{n}"
        made.append(HeldOut(Example(key, row.persona_id, row.instance_type, prompt, said), row.labels, read))
    return hold_out(made, settings, [], "coverage labels")


def _coverage_reader(items: Sequence[str]) -> Callable[[str], Labels]:
    def read(text: str) -> Labels:
        try:
            return tuple(_NAMES[value] for value in read_labels(text, items))
        except Unreadable:
            return (None,) * len(items)

    return read


def _as_json(row: Coverage) -> str:
    entries = enumerate(zip(row.checklist, row.labels, strict=True), 1)
    results = [{"index": n, "entry": entry, "label": label} for n, (entry, label) in entries]
    return json.dumps({"results": results}, ensure_ascii=False)
