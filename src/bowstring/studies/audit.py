"""Validity checks of a run's score: baselines, probes and other judges on the items of the run.

    audit("runs/NAME", sample=100)["findings"]

An audit is an evaluation: it uses the response store and the budget, can be stopped and resumed, and sends no request
twice. Its records are in the folder of the run, under audit/; the findings of the last audit are in audit.json.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Unpack

from bowstring.benchmarks import registry
from bowstring.benchmarks.auditing import NO_HISTORY, NO_JUDGE, SECOND, AuditRequest
from bowstring.benchmarks.interface import Benchmark, require_part
from bowstring.benchmarks.of_run import open_run
from bowstring.errors import DataError, UsageError, quote_value
from bowstring.files.redaction import error_line
from bowstring.judging import builtin
from bowstring.models.interface import Model, is_openai
from bowstring.models.names import check_address_of_run, name_of_identity, open_model
from bowstring.models.prices import load_prices
from bowstring.models.thinking import ThinkingSettings
from bowstring.models.transport import Patience
from bowstring.prompts import PromptFolder
from bowstring.records import is_repeated
from bowstring.runs.codec import SCHEMA
from bowstring.runs.folder import (
    AUDIT_NAME,
    EndedRun,
    RunFolder,
    file_checksum,
    fingerprint,
    names_of_run,
    read_manifest,
)
from bowstring.runs.runner import Snapshot
from bowstring.runs.running import STORE_NAME, Evaluation, RequestKeywords, Run, Running, RunOptions, check_budget
from bowstring.runs.served_as import served_names
from bowstring.runs.shards import part_of_a_run
from bowstring.runs.stored import models_in
from bowstring.settings import check_settings, did_you_mean, option, options_of, split_keywords
from bowstring.studies.correct import correct
from bowstring.studies.report import refresh

FOLDER = "audit"
_ROLES = ("model", "judge", "matcher", SECOND)
_OPTIONS = {SECOND: "--second-judge"}


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """Which checks run, on how many items, with which judges."""

    judge: Any = field(
        default=None,
        metadata=option(
            "Judge to audit; for a server, include its address.", metavar="NAME", shown_default="as in the run"
        ),
    )
    second_judge: Any = field(
        default=None, metadata=option("Second judge for the same answers, to measure agreement.", metavar="NAME")
    )
    matcher: Any = field(
        default=None,
        metadata=option("Current name of the run's matcher.", metavar="NAME", shown_default="as in the run"),
    )
    model: Any = field(
        default=None,
        metadata=option(
            "Current name of the evaluated model, for the check no-history.",
            metavar="NAME",
            shown_default="as in the run",
        ),
    )
    served_as: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Name of the model that a server has: ROLE=NAME, with a role of judge, second, matcher or model; required "
            "if you name a model with several servers; repeatable.",
            metavar="ROLE=NAME",
            shown_default="as in the run",
        ),
    )
    checks: tuple[str, ...] = field(
        default=(),
        metadata=option("Checks to run, separated by commas.", metavar="NAMES", shown_default="all of the benchmark"),
    )
    sample: int = field(
        default=200, metadata=option("Size of the random sample of items for checks that ask a model.", min=1)
    )
    labels: Path | None = field(
        default=None,
        metadata=option(
            "File of people's labels for some items, to correct the scores for errors of the judge: an annotation "
            "export, or CSV or JSONL with item, rater and label."
        ),
    )

    def __post_init__(self) -> None:
        check_settings(self)


class AuditKeywords(RequestKeywords, total=False):
    """The fields of `AuditSettings` as keywords of `bowstring.audit`."""

    judge: Any
    second_judge: Any
    matcher: Any
    model: Any
    served_as: Sequence[str]
    checks: Sequence[str]
    sample: int
    labels: str | Path | None


OPTIONS_OF_A_RUN = tuple(RequestKeywords.__annotations__)  # an audit has these of `RunOptions`


@dataclass(slots=True)
class Audit:
    """A prepared audit: all settings are checked, and no request was sent. One shard of it writes no audit.json."""

    path: Path  # of the run
    running: Running
    about: dict[str, Any]
    ended: Run | None = field(default=None)  # after go()
    on_page: bool = False  # whether the page of the run includes it

    def run(self) -> dict[str, Any]:
        """Run the audit, write audit.json to the folder of the run, and return it."""
        self.ended = self.running.run()[0]
        m = self.ended.metrics
        found = {
            "schema": SCHEMA,
            **self.about,
            **{
                name: m[name] for name in ("complete", "n", "failed", "unparsed", "findings", "skipped", "cut", "usage")
            },
            **({"controls": m["controls"]} if "controls" in m else {}),
            "notes": list(dict.fromkeys([*self.about["notes"], *m["notes"]])),
        }
        if self.running.options.part is not None:
            return found
        folder = RunFolder(self.path)
        try:
            folder.write_json(AUDIT_NAME, found)
        finally:
            folder.close()
        self.on_page = refresh(self.path)
        return found


def audit(
    run: str | PathLike[str] | Run,
    *,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    **settings: Unpack[AuditKeywords],
) -> dict[str, Any]:
    """Audit a run, as `bowstring audit` does: `judge`, `second_judge`, `checks`, `sample`, `labels` …"""
    path = run.folder if isinstance(run, Run) else Path(run)
    return prepare_audit(path, watch=watch, tell=tell, **settings).run()


def prepare_audit(
    path: Path,
    *,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    with_keys: bool = True,
    **given: Any,
) -> Audit:
    """Check all settings before any request is sent. A plan needs no keys."""
    if (path / "sweep.json").is_file():
        raise UsageError(f"{path} is a sweep; audit its runs one by one")
    settings, of_run = split_keywords((AuditSettings, RunOptions), given, where="audit()")
    if other := next((name for name in of_run if name not in OPTIONS_OF_A_RUN), None):
        known = [*(one.field for one in options_of(AuditSettings)), *OPTIONS_OF_A_RUN]
        raise UsageError(f"audit() has no setting {other!r}; {did_you_mean(other, known)}")
    chosen = AuditSettings(**settings)
    run = open_run(path)
    configuration = run.configuration
    benchmark = registry.get(str(configuration["benchmark"]))
    auditing = require_part(benchmark, benchmark.auditing(), "checks for an audit")
    if configuration["model"] is None:
        raise UsageError(f"{path} is a retrieval-only run: it has no answers to audit")
    if not benchmark.is_judged(configuration["settings"]):
        raise UsageError(f"{path} was scored exactly, without a judge: there is no judge to audit")
    asked = [name.strip() for names in chosen.checks for name in names.split(",")]
    wanted = _checks(auditing.checks, asked, second=chosen.second_judge is not None)
    answered = list(run.records())
    corrected = {"corrected": correct(run, answered, Path(chosen.labels))} if chosen.labels is not None else {}
    records = [record for record in answered if not is_repeated(record)]
    opened = _Opening(run, benchmark, _options(run, of_run), tell, with_keys=with_keys)
    part = opened.options.part
    roles, skipped = opened.roles(wanted, chosen, auditing.skips(configuration["settings"]))
    prompts = benchmark.prompts(opened.options.prompts)
    judged_by = roles.names["judge"]
    had = {role: configuration[role] for role in ("judge", "matcher") if role in configuration}
    same = all(roles.names.get(role, name) == name for role, name in had.items())
    items = auditing.open(
        AuditRequest(
            records,
            _settings(benchmark.settings, run),
            prompts,
            wanted,
            chosen.sample,
            None if same else str(configuration["judge"]),
            {role: roles.names[role] for role in ("judge", "second") if role in roles.names},
            frozenset(role for role, one in roles.models.items() if is_openai(one)),
            configuration.get("matcher"),
            run.data_name,
            skipped,
        )
    )
    reworded = _changed_prompts(prompts, configuration["prompts"])
    if reworded and items.run_judge is None:
        items.run_judge = f"{configuration['judge']}, with other prompts"
    about = {
        "run": str(path),
        "records": file_checksum(path / "records.jsonl"),
        "benchmark": benchmark.name,
        "model": configuration["model"],
        "judge": judged_by,
        **({"second_judge": roles.names["second"]} if "second" in roles.names else {}),
        "checks": wanted,
        "sample": chosen.sample,
        "items": len(records),
        **({"shard": opened.options.shard} if part else {}),
        **corrected,
        "notes": [*roles.notes, *reworded, *([part_of_a_run(part)] if part else [])],
    }
    audited = {
        "benchmark": benchmark.name,
        "audited": fingerprint(configuration),
        **roles.names,
        "checks": wanted,
        "prompts": prompts.fingerprints,
    }
    folder = path / FOLDER / f"{fingerprint(audited)[:8]}{part.suffix if part else ''}"
    if linked := next((place for place in (folder.parent, folder) if place.is_symlink()), None):
        raise UsageError(f"{linked} is a symbolic link; Bowstring does not write through links: remove it")
    longer = "repeat the run with more --judge-tokens" if hasattr(benchmark.settings, "judge_tokens") else ""
    evaluation = Evaluation(benchmark.name, items, audited, folder, longer=longer, clusters=benchmark.cluster.many)
    thinking = ThinkingSettings.of_configuration(configuration)
    if "model" in roles.models:
        thinking.check(roles.models["model"])
    running = Running([evaluation], roles.models, opened.options, opened.prices, watch, thinking)
    return Audit(path, running, about)


def _checks(known: Sequence[str], asked: Sequence[str], *, second: bool) -> list[str]:
    for name in asked:
        if name not in known:
            raise UsageError(f"--checks {name}: expected one or more of {', '.join(known)}")
    if SECOND in asked and not second:
        raise UsageError(f"--checks {SECOND} needs --second-judge NAME")
    if second and asked and SECOND not in asked:
        asked = [*asked, SECOND]
    return [name for name in known if (name in asked if asked else name != SECOND or second)]


def _options(run: EndedRun, given: Mapping[str, Any]) -> RunOptions:
    """The options of the run, replaced by the given ones."""
    manifest = read_manifest(run.path)
    had = manifest.get("options")
    prompts = given.get("prompts")
    if prompts is None and isinstance(had, dict) and isinstance(had_prompts := had.get("prompts"), str):
        prompts = Path(had_prompts)
        if not os.path.isdir(prompts):  # False for any text; Path raises for one that is too long
            gone = f"its prompts folder {quote_value(had_prompts)} is not there; give its location with --prompts"
            raise DataError(f"{run.path / 'run.json'}: {gone}")
    beside = run.path.parent / STORE_NAME
    had_store = had_at if isinstance(had_at := manifest.get("store"), str) else str(beside)
    moved = os.path.exists(had_store) and not beside.exists()
    store = given.get("store") or (had_store if moved else beside)
    rest = {name: value for name, value in given.items() if name not in ("prompts", "store")}
    return RunOptions(out=run.path / FOLDER, store=Path(store), prompts=prompts, **rest)


def _settings(kind: type[Any], run: EndedRun) -> Any:
    said: dict[str, Any] = run.configuration["settings"]
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    try:
        return kind(**given)
    except (UsageError, TypeError, ValueError, AttributeError) as error:
        raise DataError(
            f"{run.path / 'run.json'}: its settings are not settings of an evaluation: {error_line(error)}"
        ) from error


def _changed_prompts(prompts: PromptFolder, had: Mapping[str, str]) -> list[str]:
    changed = [name for name, print_ in prompts.fingerprints.items() if had.get(name, print_) != print_]
    if not changed:
        return []
    return [
        f"prompts have changed since the run ({', '.join(changed)}): the answers are judged again with the new prompts"
    ]


@dataclass(slots=True)
class _Roles:
    """Models by role, and names by role; names include judges that are not models."""

    models: dict[str, Model] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Opening:
    """Opens the models of a run again, by the given names or by the names in the run."""

    def __init__(
        self, run: EndedRun, benchmark: Benchmark, options: RunOptions, tell: Callable[[str], None], *, with_keys: bool
    ) -> None:
        self._configuration = run.configuration
        self._known = names_of_run(run.path)
        self._served: Mapping[str, str] = {}
        self._benchmark = benchmark
        self.options = options
        self.prices = load_prices(options.prices)
        self._tell = tell
        self._with_keys = with_keys
        self._stored = models_in(options.store_path) if options.no_ask else None

    def roles(
        self, checks: Sequence[str], chosen: AuditSettings, skips: Mapping[str, str]
    ) -> tuple[_Roles, dict[str, str]]:
        """The roles that the checks need, and the checks that are skipped, with the reason."""
        roles, skipped = _Roles(), dict(skips)
        self._served = served_names(chosen.served_as, _ROLES, _ROLES)
        needs_judge = set(checks) - {*NO_JUDGE, SECOND}
        self._judge(roles, "judge", chosen.judge, needed=bool(needs_judge) or chosen.judge is not None)
        if "matcher" in self._configuration and (needs_judge or chosen.matcher is not None):
            self._add(roles, "matcher", chosen.matcher)
        elif chosen.matcher is not None:
            raise UsageError("--matcher: the run had no separate matcher; its judge did the matching")
        if chosen.second_judge is not None:
            self._judge(roles, "second", chosen.second_judge, needed=True)
        if NO_HISTORY in checks and self._configuration["settings"]["history"] == "none":
            skipped[NO_HISTORY] = "the run was already without the history"
        elif NO_HISTORY in checks and NO_HISTORY not in skipped:
            try:
                self._add(roles, "model", chosen.model)
            except UsageError as error:
                if chosen.model is not None:
                    raise
                skipped[NO_HISTORY] = str(error)
        check_budget(self.options, self.prices, list(roles.models.values()))
        return roles, skipped

    def _judge(self, roles: _Roles, role: str, given: Any, *, needed: bool) -> None:
        name = given if given is not None else self._configuration["judge"]
        if isinstance(name, str) and name in self._benchmark.judges:
            roles.names[role] = name
            if role == "judge" and name != (had := self._configuration["judge"]):
                roles.notes.append(_is_another("judge", had, name))
            if (note := self._benchmark.judge_note(name)) is not None:
                roles.notes.append(note)
            elif role == "second":
                roles.notes.append(builtin.WARNING)
        elif needed:
            self._add(roles, role, given)
        else:
            roles.names[role] = name

    def _name_of_run(self, role: str, identity: str) -> str:
        name = self._known.names.get(role) or name_of_identity(identity)
        return check_address_of_run(name, f"--{role}")

    def _add(self, roles: _Roles, role: str, given: Any) -> None:
        had = self._configuration.get(role)
        patience = Patience(attempts=self.options.attempts, timeout=self.options.timeout)
        served_as = self._served.get(role, self._known.served_as.get(role) if given is None else None)
        try:
            name = given if given is not None else self._name_of_run(role, str(had))
            found = open_model(
                name,
                patience=patience,
                tell=self._tell,
                with_key=self._with_keys and not self.options.no_ask,
                stored=self._stored,
                served_as=served_as,
                option=_OPTIONS.get(role, f"--{role}"),
                as_openai=role in self._configuration.get("as_openai", ()) and str(name).startswith("openai/"),
            )
        except UsageError as error:
            if given is not None:
                raise
            said = f"the run's {role} was {had}; give its current name with --{role} ({error})"
            raise UsageError(said) from error
        roles.models[role] = found
        roles.names[role] = found.identity
        if had is not None and found.identity != had:
            roles.notes.append(_is_another(role, had, found.identity))


def _is_another(role: str, had: str, now: str) -> str:
    return f"the run's {role} was {had}; this audit uses {now}"
