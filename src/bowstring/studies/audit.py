"""Does a run's score mean what it says? Baselines, probes and other judges on its own items.

    audit("runs/NAME", sample=100)["findings"]

An audit is an evaluation like any other: it asks through the store, in turn and within a budget, can be stopped and
gone on with, and pays for nothing twice. Its records lie in the run's folder under audit/, what the last one found in
audit.json.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from bowstring.benchmarks import registry
from bowstring.benchmarks.auditing import NO_HISTORY, NO_JUDGE, SECOND, AuditRequest
from bowstring.benchmarks.interface import Benchmark, needed
from bowstring.benchmarks.of_run import open_run
from bowstring.errors import DataError, UsageError
from bowstring.judging import builtin
from bowstring.models.interface import Model
from bowstring.models.names import name_of_identity, open_model
from bowstring.models.prices import load_prices
from bowstring.models.transport import Patience
from bowstring.prompts import PromptFolder
from bowstring.runs.folder import AUDIT_NAME, EndedRun, RunFolder, file_checksum, fingerprint, read_manifest
from bowstring.runs.runner import Snapshot
from bowstring.runs.running import STORE_NAME, Evaluation, Run, Running, RunOptions, check_budget
from bowstring.settings import check_settings, option, split_keywords
from bowstring.studies.correct import correct
from bowstring.studies.report import refresh

FOLDER = "audit"


@dataclass(frozen=True, slots=True)
class AuditSettings:
    """What is checked, on how much, and by whom."""

    judge: Any = field(
        default=None,
        metadata=option(
            "Judge to audit; a server is named with its address.", metavar="NAME", shown_default="the run's own"
        ),
    )
    second_judge: Any = field(
        default=None, metadata=option("A second judge for the same answers: do the two agree?", metavar="NAME")
    )
    matcher: Any = field(
        default=None,
        metadata=option("Matcher of the run, as it can be reached now.", metavar="NAME", shown_default="as in the run"),
    )
    model: Any = field(
        default=None,
        metadata=option(
            "Evaluated model as it can be reached now, for the check no-history.",
            metavar="NAME",
            shown_default="as in the run",
        ),
    )
    checks: tuple[str, ...] = field(
        default=(),
        metadata=option(
            "Checks to make, separated by commas.", metavar="NAMES", shown_default="all of the benchmark's"
        ),
    )
    sample: int = field(default=200, metadata=option("Items in the random sample on which models are asked.", min=1))
    labels: Path | None = field(
        default=None,
        metadata=option(
            "People's labels of some items, to correct the scores for the judge's mistakes: an annotation export, CSV "
            "or JSONL with item, rater, label."
        ),
    )

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(slots=True)
class Audit:
    """An audit that is ready: everything is checked, and nothing has been asked."""

    path: Path  # of the run
    running: Running
    about: dict[str, Any]
    ended: Run | None = field(default=None)  # when it has been run
    on_page: bool = False  # whether the run's page has it

    def go(self) -> dict[str, Any]:
        """Run it; what it found, which is then also in the run's folder."""
        self.ended = self.running.run()[0]
        m = self.ended.metrics
        found = {
            **self.about,
            **{name: m[name] for name in ("complete", "n", "failed", "unparsed", "findings", "skipped", "usage")},
            "notes": list(dict.fromkeys([*self.about["notes"], *m["notes"]])),
        }
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
    **settings: Any,
) -> dict[str, Any]:
    """Audit a run, as `bowstring audit` does: `judge`, `second_judge`, `checks`, `sample`, `labels` …"""
    path = run.folder if isinstance(run, Run) else Path(run)
    return prepare_audit(path, watch=watch, tell=tell, **settings).go()


def prepare_audit(
    path: Path,
    *,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    with_keys: bool = True,
    **given: Any,
) -> Audit:
    """Check everything that can be checked before anything is asked. A plan does not need keys."""
    if (path / "sweep.json").is_file():
        raise UsageError(f"{path} holds a sweep; audit its runs one by one")
    own, of_run = split_keywords((AuditSettings, RunOptions), given, where="audit()")
    chosen = AuditSettings(**own)
    run = open_run(path)
    configuration = run.configuration
    benchmark = registry.get(str(configuration["benchmark"]))
    auditing = needed(benchmark, benchmark.auditing(), "checks for an audit")
    if configuration["model"] is None:
        raise UsageError(f"{path} is of retrieval alone: there is no answer to audit")
    asked = [name.strip() for names in chosen.checks for name in names.split(",")]
    wanted = _checks(auditing.checks, asked, second=chosen.second_judge is not None)
    records = list(run.records())
    corrected = {"corrected": correct(run, records, Path(chosen.labels))} if chosen.labels is not None else {}
    opened = _Opening(run, benchmark, _options(run, of_run), tell, with_keys=with_keys)
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
            configuration.get("matcher"),
            run.data_name,
            skipped,
        )
    )
    reworded = _other_words(prompts, configuration["prompts"])
    if reworded and items.run_judge is None:
        items.run_judge = f"{configuration['judge']}, asked in other words"
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
        **corrected,
        "notes": [*roles.notes, *reworded],
    }
    audited = {
        "benchmark": benchmark.name,
        "audited": fingerprint(configuration),
        **roles.names,
        "checks": wanted,
        "prompts": prompts.fingerprints,
    }
    folder = path / FOLDER / fingerprint(audited)[:8]
    if linked := next((place for place in (folder.parent, folder) if place.is_symlink()), None):
        raise UsageError(f"{linked} is a link, and nothing is written to where it leads; remove it")
    evaluation = Evaluation(benchmark.name, items, audited, folder)
    running = Running([evaluation], roles.models, opened.options, opened.prices, watch)
    return Audit(path, running, about)


def _checks(known: Sequence[str], asked: Sequence[str], *, second: bool) -> list[str]:
    for name in asked:
        if name not in known:
            raise UsageError(f"--checks {name}: expected some of {', '.join(known)}")
    if SECOND in asked and not second:
        raise UsageError(f"--checks {SECOND} needs --second-judge NAME")
    if second and asked and SECOND not in asked:
        asked = [*asked, SECOND]
    return [name for name in known if (name in asked if asked else name != SECOND or second)]


def _options(run: EndedRun, given: Mapping[str, Any]) -> RunOptions:
    """As the run had them, unless said otherwise."""
    manifest = read_manifest(run.path)
    had = manifest.get("options")
    had_prompts = had.get("prompts") if isinstance(had, dict) else None
    prompts = given.get("prompts") or (Path(had_prompts) if isinstance(had_prompts, str) else None)
    beside = run.path.parent / STORE_NAME
    had_store = Path(had_at) if isinstance(had_at := manifest.get("store"), str) else beside
    store = given.get("store") or (had_store if had_store.exists() and not beside.exists() else beside)
    rest = {name: value for name, value in given.items() if name not in ("prompts", "store")}
    return RunOptions(out=run.path / FOLDER, store=Path(store), prompts=prompts, **rest)


def _settings(kind: type[Any], run: EndedRun) -> Any:
    said: dict[str, Any] = run.configuration["settings"]
    given: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in said.items()}
    try:
        return kind(**given)
    except (UsageError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{run.path / 'run.json'}: its settings are not those of an evaluation: {error}") from error


def _other_words(prompts: PromptFolder, had: Mapping[str, str]) -> list[str]:
    changed = [name for name, print_ in prompts.fingerprints.items() if had.get(name, print_) != print_]
    if not changed:
        return []
    return [f"prompts have changed since the run ({', '.join(changed)}): it is judged again in the new words"]


@dataclass(slots=True)
class _Roles:
    """Who is asked: models by role, and names by role, also of judges that are no models."""

    models: dict[str, Model] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Opening:
    """Opens the models of a run again: by the names that are given, or else by what the run remembers of them."""

    def __init__(
        self, run: EndedRun, benchmark: Benchmark, options: RunOptions, tell: Callable[[str], None], *, with_keys: bool
    ) -> None:
        self._configuration = run.configuration
        self._benchmark = benchmark
        self.options = options
        self.prices = load_prices(options.prices)
        self._tell = tell
        self._with_keys = with_keys

    def roles(
        self, checks: Sequence[str], chosen: AuditSettings, skips: Mapping[str, str]
    ) -> tuple[_Roles, dict[str, str]]:
        """Those that the checks need, and the checks that are left out because of one, with the reason."""
        roles, skipped = _Roles(), dict(skips)
        needs_judge = set(checks) - {*NO_JUDGE, SECOND}
        self._judge(roles, "judge", chosen.judge, needed=bool(needs_judge) or chosen.judge is not None)
        if "matcher" in self._configuration and (needs_judge or chosen.matcher is not None):
            self._add(roles, "matcher", chosen.matcher)
        elif chosen.matcher is not None:
            raise UsageError("--matcher: the run had none of its own; its judge did the matching")
        if chosen.second_judge is not None:
            self._judge(roles, "second", chosen.second_judge, needed=True)
        if NO_HISTORY in checks and self._configuration["settings"]["history"] == "none":
            skipped[NO_HISTORY] = "the run itself is without the history"
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

    def _add(self, roles: _Roles, role: str, given: Any) -> None:
        had = self._configuration.get(role)
        patience = Patience(attempts=self.options.attempts, timeout=self.options.timeout)
        name = given if given is not None else name_of_identity(str(had))
        try:
            found = open_model(name, patience=patience, tell=self._tell, with_key=self._with_keys)
        except UsageError as error:
            if given is not None:
                raise
            said = f"the run's {role} was {had}: name it with --{role} as it can be reached now ({error})"
            raise UsageError(said) from error
        roles.models[role] = found
        roles.names[role] = found.identity
        if had is not None and found.identity != had:
            roles.notes.append(_is_another(role, had, found.identity))


def _is_another(role: str, had: str, now: str) -> str:
    return f"the run's {role} was {had}; here it is {now}"
