"""Does a run's score mean what it says? Baselines, probes and other judges on its own items.

    audit("runs/NAME", sample=100)["findings"]

An audit is an evaluation like any other: it asks through the store, in turn and within a budget, can be stopped and
gone on with, and pays for nothing twice. Its records lie in the run's folder under audit/, what the last one found in
audit.json.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from bowstring.api.evaluate import check_budget
from bowstring.benchmarks import registry
from bowstring.benchmarks.cupid import audit as cupid_audit
from bowstring.benchmarks.cupid.audit import CupidAudit
from bowstring.benchmarks.cupid.evaluation import CupidSettings
from bowstring.benchmarks.hicupid import audit as hicupid_audit
from bowstring.benchmarks.hicupid import truth
from bowstring.benchmarks.hicupid.audit import HicupidAudit
from bowstring.benchmarks.hicupid.evaluation import HicupidSettings
from bowstring.benchmarks.hicupid.truth import Truth
from bowstring.errors import DataError, UsageError
from bowstring.judging import builtin
from bowstring.models.interface import Model
from bowstring.models.names import name_of_identity, open_model
from bowstring.models.prices import load_prices
from bowstring.models.transport import Patience
from bowstring.prompts import PromptFolder
from bowstring.runs.folder import AUDIT_NAME, EndedRun, RunFolder, fingerprint, read_manifest, read_run, sum_of
from bowstring.runs.runner import Snapshot
from bowstring.runs.running import STORE_NAME, Evaluation, Run, Running, RunOptions
from bowstring.studies.correct import correct
from bowstring.studies.report import refresh

FOLDER = "audit"
SAMPLE = 200
CHECKS: Mapping[str, tuple[str, ...]] = {"hicupid": hicupid_audit.CHECKS, "cupid": cupid_audit.CHECKS}
_OWN = (builtin.NAME, truth.NAME)  # judges that are no models

T = TypeVar("T", HicupidSettings, CupidSettings)


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


def audit(run: str | Path, **settings: Any) -> dict[str, Any]:
    """Audit a run, as `bowstring audit` does."""
    return prepare_audit(Path(run), **settings).go()


def prepare_audit(
    path: Path,
    *,
    judge: Any = None,
    second_judge: Any = None,
    matcher: Any = None,
    model: Any = None,
    checks: Sequence[str] = (),
    sample: int = SAMPLE,
    labels: Path | str | None = None,
    watch: Callable[[Snapshot], None] = lambda snapshot: None,
    tell: Callable[[str], None] = lambda line: None,
    with_keys: bool = True,
    **options: Any,
) -> Audit:
    """Check everything that can be checked before anything is asked. A plan does not need keys."""
    if (path / "sweep.json").is_file():
        raise UsageError(f"{path} holds a sweep; audit its runs one by one")
    run = read_run(path)
    configuration = run.configuration
    benchmark = configuration["benchmark"]
    if configuration["model"] is None:
        raise UsageError(f"{path} is of retrieval alone: there is no answer to audit")
    wanted = _checks(benchmark, checks, second=second_judge is not None)
    if sample < 1:
        raise UsageError(f"sample is {sample!r}; expected a whole number from 1")
    records = list(run.records())
    corrected = {"corrected": correct(run, records, Path(labels))} if labels is not None else {}
    opened = _Opening(run, _options(run, options), tell, with_keys=with_keys)
    named = {"judge": judge, "second": second_judge, "matcher": matcher, "model": model}
    roles, skipped = opened.roles(wanted, named)
    prompts = registry.get(benchmark).prompts(opened.options.prompts)
    judged_by = roles.names["judge"]
    had = {role: configuration[role] for role in ("judge", "matcher") if role in configuration}
    same = all(roles.names.get(role, name) == name for role, name in had.items())
    run_judge = None if same else str(configuration["judge"])
    items: HicupidAudit | CupidAudit
    if benchmark == "hicupid":
        items = HicupidAudit(
            records,
            _settings(HicupidSettings, run),
            prompts,
            checks=wanted,
            sample=sample,
            run_judge=run_judge,
            truths=roles.truths,
            skipped=skipped,
        )
    else:
        matchers = {"judge": configuration.get("matcher"), "second": None}
        items = CupidAudit(
            records,
            _settings(CupidSettings, run),
            prompts,
            checks=wanted,
            sample=sample,
            run_judge=run_judge,
            matchers=matchers,
            skipped=skipped,
        )
    reworded = _other_words(prompts, configuration["prompts"])
    if reworded and items.run_judge is None:
        items.run_judge = f"{configuration['judge']}, asked in other words"
    about = {
        "run": str(path),
        "records": sum_of(path / "records.jsonl"),
        "benchmark": benchmark,
        "model": configuration["model"],
        "judge": judged_by,
        **({"second_judge": roles.names["second"]} if "second" in roles.names else {}),
        "checks": wanted,
        "sample": sample,
        "items": len(records),
        **corrected,
        "notes": [*roles.notes, *reworded],
    }
    audited = {
        "benchmark": benchmark,
        "audited": fingerprint(configuration),
        **roles.names,
        "checks": wanted,
        "prompts": prompts.fingerprints,
    }
    folder = path / FOLDER / fingerprint(audited)[:8]
    if linked := next((place for place in (folder.parent, folder) if place.is_symlink()), None):
        raise UsageError(f"{linked} is a link, and nothing is written to where it leads; remove it")
    evaluation = Evaluation(benchmark, items, audited, folder)
    running = Running([evaluation], roles.models, opened.options, opened.prices, watch)
    return Audit(path, running, about)


def _checks(benchmark: str, asked: Sequence[str], *, second: bool) -> list[str]:
    known = CHECKS[benchmark]
    for name in asked:
        if name not in known:
            raise UsageError(f"--checks {name}: expected some of {', '.join(known)}")
    if "second-judge" in asked and not second:
        raise UsageError("--checks second-judge needs --second-judge NAME")
    if second and asked and "second-judge" not in asked:
        asked = [*asked, "second-judge"]
    return [name for name in known if (name in asked if asked else name != "second-judge" or second)]


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


def _settings(kind: type[T], run: EndedRun) -> T:
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
    """Who is asked: models by role, names by role, and truths of judges that go by them."""

    models: dict[str, Model] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    truths: dict[str, Truth] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


class _Opening:
    """Opens the models of a run again: by the names that are given, or else by what the run remembers of them."""

    def __init__(self, run: EndedRun, options: RunOptions, tell: Callable[[str], None], *, with_keys: bool) -> None:
        self._configuration = run.configuration
        self._data_name = run.data_name
        self.options = options
        self.prices = load_prices(options.prices)
        self._tell = tell
        self._with_keys = with_keys

    def roles(self, checks: Sequence[str], named: Mapping[str, Any]) -> tuple[_Roles, dict[str, str]]:
        """Those that the checks need, and the checks that are left out because of one, with the reason."""
        roles, skipped = _Roles(), {}
        judge, second, model = (named[role] for role in ("judge", "second", "model"))
        needs_judge = set(checks) - {"length", "second-judge"}
        self._judge(roles, "judge", judge, needed=bool(needs_judge) or judge is not None)
        if "matcher" in self._configuration and (needs_judge or named["matcher"] is not None):
            self._add(roles, "matcher", named["matcher"])
        elif named["matcher"] is not None:
            raise UsageError("--matcher: the run had none of its own; its judge did the matching")
        if second is not None:
            self._judge(roles, "second", second, needed=True)
        if "no-history" in checks:
            if self._configuration["settings"]["history"] == "none":
                skipped["no-history"] = "the run itself is without the history"
            elif self._configuration["settings"].get("oracle_preference"):
                skipped["no-history"] = "the run was given the preference"
            else:
                try:
                    self._add(roles, "model", model)
                except UsageError as error:
                    if model is not None:
                        raise
                    skipped["no-history"] = str(error)
        check_budget(self.options, self.prices, list(roles.models.values()))
        return roles, skipped

    def _judge(self, roles: _Roles, role: str, given: Any, *, needed: bool) -> None:
        name = given if given is not None else self._configuration["judge"]
        if name in _OWN:
            roles.names[role] = name
            if role == "judge" and name != (had := self._configuration["judge"]):
                roles.notes.append(_is_another("judge", had, name))
            if name == truth.NAME:
                if self._configuration["benchmark"] != "hicupid":
                    raise UsageError("a truth judge is for HiCUPID sets that were generated offline")
                roles.notes += [truth.NOTE]
                roles.truths[role] = truth.load_truth(self._data_name)
            else:
                roles.notes += [builtin.WARNING] if role == "second" else []
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
