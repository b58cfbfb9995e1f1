"""The process of the authors' program: what reaches it, what it may write, and how its end is reported."""

import json
import sys
from pathlib import Path

import httpx
import pytest

from bowstring.benchmarks.certification import filled_with
from bowstring.certification.reference import Reference, commit_of
from bowstring.certification.server import Answer, ScriptedServer, request_hash
from bowstring.errors import RunError, UsageError
from tests.support.command import bowstring
from tests.support.plugin import install, installed


@pytest.fixture
def reference(tmp_path) -> Reference:
    checkout = tmp_path / "checkout"
    checkout.mkdir()
    return Reference(Path(sys.executable), checkout, "http://127.0.0.1:9/v1", tmp_path / "work")


def test_no_key_reaches_it_and_it_asks_only_the_scripted_server(reference, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("HF_TOKEN", "hf-of-the-user")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "of-the-user")
    shown = reference.must_run("-c", "import json, os; print(json.dumps(dict(os.environ)))").output
    environment = json.loads(shown)
    assert "of-the-user" not in shown
    assert environment["OPENAI_BASE_URL"] == "http://127.0.0.1:9/v1"
    assert Path(environment["HOME"]) == reference.folder
    assert environment["HF_HUB_OFFLINE"] == "1"


def test_it_leaves_nothing_in_the_checkout(reference):
    (reference.checkout / "program.py").write_text("import helper; open('written', 'w').close()")
    (reference.checkout / "helper.py").write_text("")
    reference.must_run("-m", "program")
    assert sorted(path.name for path in reference.checkout.iterdir()) == ["helper.py", "program.py"]
    assert (reference.folder / "written").is_file()


def test_an_exception_is_reported_with_its_cause(reference):
    code = "try:\n    {}['label']\nexcept KeyError as e:\n    raise ValueError('no result') from e"
    ran = reference.run("-c", code)
    assert ran.reason == "ValueError: no result; caused by KeyError: 'label'"
    with pytest.raises(RunError, match="caused by KeyError"):
        reference.must_run("-c", code)


def test_what_is_missing_in_its_environment_is_named(reference):
    with pytest.raises(UsageError, match=r"lacks no_such_package; install the requirements"):
        reference.check(["json", "no_such_package"])
    with pytest.raises(UsageError, match=r"lacks no_such_parent.child, no_such_package; install"):
        reference.check(["json", "no_such_parent.child", "no_such_package"])
    reference.check(["json"])


def test_a_program_that_does_not_end_is_stopped(tmp_path):
    reference = Reference(Path(sys.executable), tmp_path, "", tmp_path / "work", timeout=0.5)
    assert reference.run("-c", "import time; time.sleep(600)").reason == "not finished after 0 s"


def test_the_commit_of_a_checkout_is_read_from_its_files(tmp_path):
    git = tmp_path / ".git"
    assert commit_of(tmp_path) == ""
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    assert commit_of(tmp_path) == ""
    (git / "packed-refs").write_text(f"# pack-refs\n{'a' * 40} refs/heads/main\n")
    assert commit_of(tmp_path) == "a" * 10
    (git / "refs" / "heads").mkdir(parents=True)
    (git / "refs" / "heads" / "main").write_text(f"{'b' * 40}\n")
    assert commit_of(tmp_path) == "b" * 10
    (git / "HEAD").write_text("c" * 40)
    assert commit_of(tmp_path) == "c" * 10


def test_requests_are_equal_if_their_numbers_are():
    assert request_hash({"temperature": 0, "n": [1.0]}) == request_hash({"n": [1], "temperature": 0.0})
    assert request_hash({"temperature": 0}) != request_hash({"temperature": 0.5})
    assert request_hash({"stream": False}) != request_hash({"stream": 0})


def test_a_request_is_kept_once_with_its_answer():
    with ScriptedServer(("m",)) as server:
        server.script = lambda body: Answer("a", body["messages"][0]["content"].upper())
        for text in ("one", "one", "two"):
            body = {"model": "m", "messages": [{"role": "user", "content": text}]}
            said = httpx.post(f"{server.address}/chat/completions", json=body).json()
            assert said["choices"][0]["message"]["content"] == text.upper()
        assert [one.answer.text for one in server.take().values()] == ["ONE", "TWO"]
        assert server.take() == {}


@pytest.mark.parametrize(
    ("template", "text", "found"),
    [
        ("Ask {who}: {{x}} {what}", "Ask Ann: {x} why?", {"who": "Ann", "what": "why?"}),
        ("{a}\n---\n{b}", "1\n2\n---\n3", {"a": "1\n2", "b": "3"}),
        ("as it is", "as it is", {}),
        ("Ask {who}.", "Tell Ann.", None),
        ("(.*) {x}", "(.*) y", {"x": "y"}),
        ("(.*) {x}", "abc y", None),
    ],
)
def test_what_was_filled_into_a_template_is_found_again(template, text, found):
    assert filled_with(template, text) == found


def test_a_benchmark_without_a_reference_says_so(tmp_path):
    with installed(install(tmp_path / "packages")):
        ran = bowstring("certify", "diary", tmp_path, "--python", sys.executable)
    assert ran.code == 2
    assert "has no comparison with its authors' code" in ran.err
