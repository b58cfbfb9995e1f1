"""Making data from Python: the same settings and checks as in the command; it also works in a notebook."""

import asyncio
import json
from pathlib import Path

import pytest

from bowstring.api.calls import synthesize
from bowstring.api.synthesize import prepare_synthesis
from bowstring.benchmarks import registry
from bowstring.cli import main
from bowstring.errors import UsageError
from tests.support.server import Server
from tests.support.writer import Writer


def words(settings: dict) -> list[str]:
    return [word for name, value in settings.items() for word in (f"--{name.replace('_', '-')}", str(value))]


def configuration(folder: Path) -> dict:
    return json.loads((folder / "made.json").read_text())["config"]


@pytest.fixture
def command_configuration(monkeypatch):
    """The configuration that the command prepares; nothing is asked."""

    def prepared(benchmark: str, settings: dict) -> dict:
        found = []

        def run(self):
            found.append(self.configuration)
            raise UsageError("far enough")

        monkeypatch.setattr("bowstring.api.synthesize.PreparedSynthesis.run", run)
        with pytest.raises(SystemExit):
            main(["synth", benchmark, "--model", "python:json:dumps", *words(settings)])
        return found[0]

    return prepared


SETTINGS = [
    ("hicupid", {}),
    ("hicupid", {"users": 149}),
    ("hicupid", {"users": 150}),
    ("hicupid", {"users": 30, "share": 4}),
    ("hicupid", {"dimensions": 3, "turns": 2, "schedules": 0}),
    ("hicupid", {"profile_questions": 0, "temperature": 1, "seed": 7}),
    ("cupid", {}),
    ("cupid", {"personas": 9, "factors": 6, "sessions": 14, "turns": 3}),
    ("cupid", {"temperature": 0.5, "seed": 3}),
    ("cupid", {"assistant": "python:json:loads", "judge": "python:json:loads"}),
]


@pytest.mark.parametrize(("benchmark", "settings"), SETTINGS)
def test_call_and_command_make_the_same_configuration(
    benchmark, settings, command_configuration, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    called = prepare_synthesis(benchmark, model="python:json:dumps", **settings)
    assert called.configuration == command_configuration(benchmark, settings)


@pytest.mark.parametrize(
    ("benchmark", "settings"),
    [("hicupid", {"users": 2, "dimensions": 2}), ("hicupid", {"users": 3, "seed": 4}), ("cupid", {"personas": 1})],
)
def test_call_and_command_make_the_same_offline_set(benchmark, settings, tmp_path):
    made = synthesize(benchmark, offline=True, out=tmp_path / "called", **settings)
    assert made.written
    with pytest.raises(SystemExit) as ended:
        main(["synth", benchmark, "--offline", "--out", str(tmp_path / "command"), *words(settings)])
    assert ended.value.code == 0
    called, command = (
        {p.relative_to(tmp_path / name): p.read_bytes() for p in sorted((tmp_path / name).rglob("*")) if p.is_file()}
        for name in ("called", "command")
    )
    assert called == command


def test_what_is_not_given_is_decided_by_the_other_settings():
    kind = registry.get("hicupid").synthesis().settings
    assert (kind().users, kind().sizes.share, kind().sizes.profile_questions) == (10, 1, 5)
    assert kind(users=150).sizes.share == 10
    assert kind(dimensions=2).sizes.profile_questions == 2


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"sede": 1}, "synthesize() has no setting 'sede'; did you mean seed?"),
        ({"user": 1}, "synthesize() has no setting 'user'; did you mean users?"),
        ({"assistant": "m"}, "synthesize() has no setting 'assistant'"),
        ({"users": 0}, "--users 0: expected a whole number from 1 to 1,000,000"),
        ({"users": "ten"}, "--users 'ten': expected a whole number from 1 to 1,000,000"),
        ({"temperature": 3}, "--temperature 3.0: expected a number from 0 to 2"),
        ({"dimensions": 2, "profile_questions": 3}, "--profile-questions 3: expected at most one per dimension"),
    ],
)
@pytest.mark.parametrize("way", [{"model": "python:json:dumps"}, {"offline": True}])
def test_a_setting_that_cannot_be_meant_is_refused(settings, said, way, tmp_path):
    if way == {"offline": True} and "temperature" in settings:
        said = "--offline uses no model; leave out --temperature"
    with pytest.raises(UsageError) as error:
        synthesize("hicupid", out=tmp_path / "s", **way, **settings)
    assert str(error.value).startswith(said)
    assert not (tmp_path / "s").exists()


@pytest.mark.parametrize(
    ("benchmark", "given", "flag"),
    [
        ("hicupid", {"temperature": 0}, "--temperature"),
        ("hicupid", {"model": "m"}, "--model"),
        ("cupid", {"sessions": 20}, "--sessions"),
        ("cupid", {"judge": "m"}, "--judge"),
        ("cupid", {"max_cost": 0.0}, "--max-cost"),
    ],
)
def test_what_an_offline_set_cannot_use_is_refused(benchmark, given, flag, tmp_path):
    with pytest.raises(UsageError) as error:
        synthesize(benchmark, offline=True, out=tmp_path / "s", **given)
    assert str(error.value) == f"--offline uses no model; leave out {flag}"
    assert not (tmp_path / "s").exists()


def test_a_set_that_the_word_banks_are_too_small_for_leaves_no_folder(tmp_path):
    with pytest.raises(UsageError, match="expected --share 3 or more"):
        synthesize("hicupid", offline=True, users=360, share=1, out=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_it_works_inside_a_running_loop(tmp_path):
    async def notebook(model: str):
        return synthesize("cupid", model=model, personas=1, out=tmp_path / "s")

    with Server(Writer().answer) as server:
        made = asyncio.run(notebook(server.model("m")))
    assert made.written
    assert configuration(tmp_path / "s")["settings"]["personas"] == 1
