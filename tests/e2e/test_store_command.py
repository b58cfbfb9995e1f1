"""`bowstring store` on stores that real runs have filled."""

import json
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bowstring.errors import UsageError
from bowstring.judging.forms import PAIRWISE
from bowstring.runs.rows import COLUMNS, row_checksum
from bowstring.runs.stored import Chosen
from tests.e2e.test_eval import command, metrics, records
from tests.support.command import Ran, bowstring
from tests.support.server import Reply, Request, Server, digest_answer, text_of
from tests.support.stores import change_rows

NAME = "responses.sqlite"
MUTE, CUT = "How can I pass the quiet hours between shifts?", "half an"


def as_reply(text: str, finish: str) -> Reply:
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    usage = {"prompt_tokens": 100, "completion_tokens": 10}
    return Reply(body=json.dumps({"choices": [choice], "usage": usage}).encode())


def odd(request: Request) -> Reply | None:
    """One answer is empty, and those to one kind of question end early."""
    last = text_of(request.body["messages"][-1])
    if request.body["model"] != "m":
        return None
    return as_reply("", "length") if last == MUTE else as_reply(CUT, "max_tokens") if last.startswith("What") else None


@dataclass
class Filled:
    """A store of ten answers and ten judgements, beside the run `r` that filled it."""

    server: Server
    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / NAME

    def run(self, *more: str) -> Ran:
        return bowstring(*command(self.server, self.folder / "r", "--limit", "10", *more))

    def ask(self, *arguments: str | Path) -> Ran:
        return bowstring("store", *arguments, "--store", self.store)

    def asked(self) -> list[str]:
        """The models that were asked for answers."""
        return [r.body["model"] for r in self.server.requests if r.path.endswith("/chat/completions")]

    def listed(self, *arguments: str) -> list[dict]:
        ran = self.ask("list", *arguments, "--each", "--json")
        assert ran.code == 0, ran.err
        return json.loads(ran.out)

    def change(self, statement: str, *values: object) -> None:
        with closing(sqlite3.connect(self.store)) as db, db:
            db.execute(statement, values)


@pytest.fixture(scope="module")
def original(tmp_path_factory) -> Iterator[Filled]:
    with Server(faults=odd) as server:
        found = Filled(server, tmp_path_factory.mktemp("filled"))
        ran = found.run()
        assert ran.code == 0, ran.err
        yield found


@pytest.fixture
def filled(original, tmp_path) -> Filled:
    """A copy that a test may change, and the server that answers as at first."""
    shutil.copytree(original.folder, tmp_path / "filled")
    original.server.requests.clear()
    original.server.answer, original.server.faults = digest_answer, odd
    return Filled(original.server, tmp_path / "filled")


def date(filled: Filled, key: str, day: str) -> None:
    """Let a response have been stored on another day."""
    with closing(sqlite3.connect(filled.store)) as db, db:
        (row,) = db.execute("SELECT * FROM responses WHERE key = ?", (key,))
        row = dict(zip(COLUMNS, row, strict=True)) | {"stored_at": datetime.fromisoformat(day).timestamp()}
        checksum = row_checksum([row[name] for name in COLUMNS[:-1]])
        db.execute("UPDATE responses SET stored_at = ?, hash = ? WHERE key = ?", (row["stored_at"], checksum, key))


def test_it_counts_responses_by_model_address_and_role(filled):
    kinds = json.loads(filled.ask("list", "--json").out)
    server = filled.server
    assert [(k["model"], k["address"], k["role"]) for k in kinds] == [
        (server.model("judge"), server.url, "judge"),
        (server.model("m"), server.url, "model"),
    ]
    cut = sum(r["answer"] == CUT for r in records(filled.folder / "r"))
    assert cut > 0
    assert kinds[0]["finishes"] == {"stop": 10}
    assert kinds[1]["finishes"] == {"length": 1, "max_tokens": cut, "stop": 9 - cut}, "as the server gave them"
    assert [(k["responses"], k["empty"]) for k in kinds] == [(10, 0), (10, 1)]
    shown = filled.ask("list")
    assert shown.code == 0
    assert shown.out.splitlines()[-1] == "20 responses"
    assert f"10 stop; from {server.url}" in shown.out
    assert len(filled.ask("list", "--each").out.splitlines()) == 20


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        (("--role", "judge"), lambda row: row["role"] == "judge"),
        (("--model", "openai/m@*"), lambda row: row["role"] == "model"),
        (("--model", "openai/m"), lambda row: False),
        (("--address", "http://127.0.0.1:*"), lambda row: True),
        (("--address", "https://*"), lambda row: False),
        (("--finish", "length"), lambda row: row["finish"] == "length"),
        (("--finish", "max_tokens"), lambda row: row["raw_finish"] == "max_tokens"),
        (("--empty",), lambda row: not row["text"]),
        (("--role", "model", "--finish", "stop"), lambda row: row["role"] == "model" and row["finish"] == "stop"),
    ],
)
def test_filters_choose_what_fits_all_of_them(filled, given, fits: Callable[[dict], bool]):
    whole = filled.listed()
    assert len(whole) == 20
    assert filled.listed(*given) == [row for row in whole if fits(row)]


def test_filters_by_day_and_by_key(filled):
    old, newer, *_ = keys = [row["key"] for row in filled.listed()]
    date(filled, old, "2024-02-28T23:59:59+00:00")
    date(filled, newer, "2024-02-29T00:00:00+00:00")
    for given, expected in [
        (("--before", "2024-02-29"), [old]),
        (("--before", "2024-03-01"), [old, newer]),
        (("--since", "2024-02-29", "--before", "2024-03-01"), [newer]),
        (("--since", "2024-03-01"), keys[2:]),
        (("--key", old[:16]), [old]),
    ]:
        assert [row["key"] for row in filled.listed(*given)] == expected
    for day in ("yesterday", "2024-02-30", "29.2.2024"):
        ran = filled.ask("list", "--since", day)
        assert ran.code == 2
        assert ran.err.startswith(f"--since {day}: expected a day such as ")


def test_a_record_leads_to_its_responses_with_prompts_and_settings(filled):
    record = next(r for r in records(filled.folder / "r") if r["type"] == "persona" and r["answer"] not in ("", CUT))
    keys = {source["role"]: source["key"] for source in record["sources"]}
    shown = filled.ask("show", keys["model"][:16])
    assert shown.code == 0, shown.err
    assert f"[user] {record['question']}\n" in shown.out
    assert f"[answer] {record['answer']}\n" in shown.out
    assert f"address: {filled.server.url}\n" in shown.out
    found = json.loads(filled.ask("show", keys["judge"], "--json").out)
    assert (found["role"], PAIRWISE.as_lines(found["text"])) == ("judge", record["judgement"])
    assert record["answer"] in found["messages"][-1]["content"]
    assert datetime.fromisoformat(found["stored"]) <= datetime.now(UTC)
    begins = Counter(row["key"][0] for row in filled.listed())
    ((begin, n),) = begins.most_common(1)  # there are more keys than hexadecimal digits
    nothing, several = filled.ask("show", "zz"), filled.ask("show", begin)
    assert (nothing.code, nothing.err) == (2, f"{filled.store} has no response with key zz\n")
    assert several.code == 2
    assert f"{n} responses" in several.err


def test_what_is_dropped_is_asked_for_again_and_nothing_else(filled):
    before = records(filled.folder / "r")
    dry = filled.ask("drop", "--finish", "length", "--dry-run")
    chosen = len(filled.listed("--finish", "length"))
    assert dry.out == f"{chosen} responses would be removed; nothing was changed\n"
    assert len(filled.listed()) == 20
    dropped = filled.ask("drop", "--finish", "length")
    assert dropped.out == f"{chosen} responses were removed; a run that needs them asks again\n"
    assert len(filled.listed()) == 20 - chosen
    assert filled.ask("verify").out == f"{20 - chosen} responses are intact\n"
    assert filled.run().code == 0
    assert filled.asked() == ["m"] * chosen
    assert records(filled.folder / "r") == before


def test_a_response_whose_trunk_was_dropped_meanwhile_has_its_prompt(filled):
    def drop_all(messages, body):
        if body["model"] == "m" and filled.listed("--model", "openai/m@*"):
            filled.ask("drop", "--model", "openai/m@*")
        return digest_answer(messages, body)

    filled.server.faults, filled.server.answer = lambda request: None, drop_all
    ran = filled.run("--fresh", "--concurrency", "1")
    assert ran.code == 0, ran.err
    assert filled.ask("verify").code == 0


def test_all_is_not_a_choice(filled):
    for name in ("drop", "reask"):
        ran = filled.ask(name)
        assert (ran.code, ran.err) == (
            2,
            f"bowstring store {name}: say which responses, such as --model NAME or --empty\n",
        )
    assert len(filled.listed()) == 20


@pytest.mark.parametrize("name", ["model", "address", "role", "finish", "since", "before", "key"])
def test_an_empty_filter_is_refused(filled, name):
    """Its usual cause is a shell variable that is not set."""
    said = f"--{name} '': expected text, got an empty one (is a shell variable unset?)"
    for one in ("list", "drop", "reask"):
        ran = filled.ask(one, f"--{name}", "", "--empty" if one == "drop" else f"--{name}=")
        assert (ran.code, ran.out, ran.err) == (2, "", f"{said}\n")
    with pytest.raises(UsageError) as refused:
        Chosen(**{name: ""})
    assert str(refused.value) == said
    assert filled.ask("show", "").err == "KEY '': expected text, got an empty one (is a shell variable unset?)\n"
    assert len(filled.listed()) == 20
    assert filled.server.requests == []


def test_requests_sent_again_replace_their_responses(filled):
    chosen = filled.listed("--role", "model", "--finish", "length")
    filled.server.faults = lambda request: None
    filled.server.answer = lambda messages, body: f"better {digest_answer(messages, body)}"
    prices = filled.folder / "prices.yaml"
    prices.write_text(f"{filled.server.model('m')}: {{input: 1000, output: 1000}}\n")
    given = ("--role", "model", "--finish", "length")
    unpriced = filled.ask("reask", *given, "--dry-run")
    assert unpriced.out == f"{len(chosen)} requests would be sent again; cost: unknown\n"
    priced = filled.ask("reask", *given, "--dry-run", "--prices", prices)
    assert f"{len(chosen)} requests would be sent again; cost: about ${0.11 * len(chosen):.4f}\n" == priced.out
    assert filled.server.requests == []

    ran = filled.ask("reask", *given)
    assert ran.code == 0, ran.err
    assert ran.out == f"{len(chosen)} of {len(chosen)} responses were replaced\n"
    assert filled.asked() == ["m"] * len(chosen)
    after = {row["key"]: row for row in filled.listed()}
    assert len(after) == 20, "the keys are the same"
    for row in chosen:
        new = after[row["key"]]
        assert new["text"].startswith("better answer ")
        assert (new["finish"], new["role"], new["trunk"]) == ("stop", "model", row["trunk"])
    assert filled.ask("verify").code == 0
    filled.server.requests.clear()
    assert filled.run().code == 0
    assert filled.asked() == ["judge"] * len(chosen), "only verdicts on the new answers"
    assert sum(r["answer"].startswith("better ") for r in records(filled.folder / "r")) == len(chosen)


def test_a_request_that_fails_keeps_its_old_response(filled):
    before = filled.listed()
    filled.server.faults = lambda request: Reply(400, b'{"error": {"message": "out of order"}}')
    ran = filled.ask("reask", "--finish", "max_tokens")
    n = len([row for row in before if row["raw_finish"] == "max_tokens"])
    assert ran.code == 1
    assert ran.out == f"0 of {n} responses were replaced\n"
    assert f"{n} requests failed, and their old responses were kept: " in ran.err
    assert "out of order" in ran.err
    assert filled.listed() == before


def test_a_budget_ends_it_before_it_is_exceeded(filled):
    prices = filled.folder / "prices.yaml"
    prices.write_text(f"{filled.server.model('m')}: {{input: 1000, output: 1000}}\n")
    given = ("reask", "--role", "model", "--max-cost", "0.01")
    unknown = filled.ask(*given)
    assert unknown.code == 2
    assert unknown.err == f"--max-cost needs the price of {filled.server.model('m')}: set it with --prices FILE\n"
    ran = filled.ask(*given, "--prices", prices)
    assert ran.code == 1
    assert "--max-cost 0.01" in ran.err
    assert filled.server.requests == []


def test_a_name_of_the_user_needs_an_address_to_ask_at(filled, tmp_path):
    served = Filled(filled.server, tmp_path / "served")
    assert served.run("--served-as", "weights").code == 0
    n = len(served.listed("--empty"))
    lost = served.ask("reask", "--empty")
    assert (lost.code, lost.err) == (
        2,
        "served/weights has no address in the store; give its name with --at NAME\n",
    )
    filled.server.faults = lambda request: None
    assert (
        served.ask("reask", "--empty", "--at", filled.server.model("m")).out == f"{n} of {n} responses were replaced\n"
    )
    other = served.ask("reask", "--role", "judge", "--at", filled.server.model("m"))
    assert other.code == 2
    assert f"but the responses are of {filled.server.model('judge')}" in other.err


def test_stores_are_merged_and_conflicts_are_named(filled, tmp_path):
    other = Filled(filled.server, tmp_path / "other")
    filled.server.faults = lambda request: None  # answers that were odd are different ones here
    assert other.run().code == 0
    theirs, ours = ({row["key"]: row for row in one.listed()} for one in (other, filled))
    conflicts = sorted(key for key in theirs.keys() & ours if theirs[key]["text"] != ours[key]["text"])
    ran = filled.ask("merge", other.store)
    assert ran.code == 0, ran.err
    added = theirs.keys() - ours.keys()
    first, *lines = ran.out.splitlines()
    assert first == f"{len(added)} responses were added to {filled.store}"
    assert lines == [
        f"! {key[:16]} of {ours[key]['model']} is different in {other.store}; it was not taken" for key in conflicts
    ]
    assert conflicts
    assert added
    merged = {row["key"]: row for row in filled.listed()}
    assert merged == {key: theirs[key] for key in added} | ours, "what was there stays"
    assert filled.ask("verify").out == f"{len(merged)} responses are intact\n"
    again = filled.ask("merge", other.store)
    assert again.out.startswith("0 responses were added")


def test_a_store_is_merged_into_a_new_one_and_not_into_itself(filled, tmp_path):
    new = Filled(filled.server, tmp_path / "new")
    ran = new.ask("merge", filled.store)
    assert ran.out == f"20 responses were added to {new.store}\n"
    assert new.listed() == filled.listed()
    assert new.run().code == 0
    assert filled.server.requests == []
    assert metrics(new.folder / "r")["usage"]["model"]["from_store"] == 10
    itself = new.ask("merge", new.store)
    assert (itself.code, itself.err) == (2, f"{new.store} is the store to merge into\n")
    missing = new.ask("merge", tmp_path / "missing.sqlite")
    assert missing.code == 2
    assert missing.err == f"{tmp_path / 'missing.sqlite'}: no such store; give one with --store PATH\n"


def test_nothing_is_merged_unless_all_stores_can_be_read(filled, tmp_path):
    new, missing, damaged = tmp_path / "new.sqlite", tmp_path / "missing.sqlite", tmp_path / "damaged.sqlite"
    content = filled.store.read_bytes()
    damaged.write_bytes(content[: len(content) // 2])
    for bad, code in ((missing, 2), (damaged, 1)):
        ran = bowstring("store", "merge", filled.store, bad, filled.store, "--store", new)
        assert (ran.code, ran.out) == (code, "")
        assert ran.err.startswith(str(bad))
        assert not new.exists()


@pytest.mark.parametrize("statement", ["UPDATE trunks SET messages = x'00'", "DELETE FROM trunks"])
def test_responses_without_their_prompts_are_not_merged(filled, original, tmp_path, statement):
    new = Filled(filled.server, tmp_path / "new")
    one = filled.listed()[0]["trunk"]
    lost = sum(row["trunk"] == one for row in filled.listed())
    filled.change(f"{statement} WHERE hash = ?", one)
    ran = new.ask("merge", filled.store)
    assert ran.code == 0, ran.err
    is_one = lost == 1
    assert ran.out.splitlines() == [
        f"{20 - lost} responses were added to {new.store}",
        f"! {lost} response{' was' if is_one else 's were'} not taken: "
        f"{'its prompt is' if is_one else 'their prompts are'} missing or damaged",
    ]
    assert new.ask("verify").out == f"{20 - lost} responses are intact\n"
    assert new.ask("merge", original.store).out.splitlines() == [f"{lost} responses were added to {new.store}"]
    assert new.ask("verify").out == "20 responses are intact\n"


def assert_refused(filled: Filled, said: str, *commands: tuple[str | Path, ...]) -> None:
    """Every command says the same in one line, and changes nothing."""
    content = filled.store.read_bytes()
    for one in commands:
        ran = filled.ask(*one)
        assert ran.code == 1, (one, ran)
        assert ran.out == ""
        assert said in ran.err
        assert len(ran.err.splitlines()) == 1, ran.err
    assert filled.store.read_bytes() == content


READING = (("verify",), ("list",), ("show", "a"), ("drop", "--empty", "--dry-run"), ("reask", "--empty", "--dry-run"))


def test_a_changed_response_is_damage(filled):
    assert filled.ask("verify").code == 0
    filled.change("UPDATE responses SET text = 'forged' WHERE key = ?", filled.listed("--role", "judge")[0]["key"])
    assert_refused(filled, "is damaged: 1 of its responses fail their checksum", *READING)


def test_a_file_that_is_cut_is_damage(filled):
    content = filled.store.read_bytes()
    filled.store.write_bytes(content[: len(content) // 2])
    assert_refused(filled, f"{filled.store} is damaged: ", *READING)


@pytest.mark.parametrize("statement", ["UPDATE trunks SET messages = x'00'", "DELETE FROM trunks"])
def test_a_response_without_its_prompt_is_a_problem(filled, statement):
    filled.change(statement)
    ran = filled.ask("verify")
    assert ran.code == 1
    first, *problems = ran.out.splitlines()
    assert first == "20 responses; 20 problems:"
    keys = [row["key"] for row in filled.listed()]
    assert problems == [f"{key}: its prompt is missing or damaged" for key in keys]
    filled.server.faults = lambda request: None
    lost = filled.ask("show", keys[0])
    assert lost.code == 1
    assert f"the prompt of {keys[0][:16]} is missing or damaged; remove the response with" in lost.err
    assert len(lost.err.splitlines()) == 1, lost.err
    lost = filled.ask("reask", "--key", keys[0])
    assert (lost.code, lost.out) == (1, "0 of 0 responses were replaced\n")
    assert filled.server.requests == [], "half a prompt is not sent"
    assert filled.ask("drop", "--model", "*").code == 0
    assert filled.ask("verify").out == "0 responses are intact\n"


@pytest.mark.parametrize("more", [(), ("--dry-run",)])
def test_responses_with_prompts_are_asked_again_beside_some_without(filled, more):
    rows = filled.listed()
    damaged = next(row["trunk"] for row in rows if row["role"] == "judge")
    lost = [row["key"] for row in rows if row["trunk"] == damaged]
    filled.change("UPDATE trunks SET messages = x'00' WHERE hash = ?", damaged)
    ran = filled.ask("reask", "--model", "*", *more)
    assert ran.code == 1
    n = len(rows) - len(lost)
    assert n > 0
    if more:
        assert ran.out.startswith(f"{n} request")
    else:
        assert ran.out == f"{n} of {n} responses were replaced\n"
    assert len(filled.asked()) == (0 if more else n)
    assert ran.err == (
        f"{len(lost)} response{'s' * (len(lost) > 1)} without an intact prompt cannot be asked again: "
        f"{', '.join(key[:16] for key in lost)}; to remove one: bowstring store drop --key KEY\n"
    )


def test_an_older_format_is_refused(original, filled):
    filled.change("PRAGMA user_version = 2")
    said = f"{filled.store} has format 2, but this version reads format 3: choose another store with --store"
    assert_refused(filled, said, *READING, ("drop", "--empty"), ("reask", "--empty"), ("merge", original.store))
    ran = filled.run()
    assert (ran.code, len(ran.err.splitlines())) == (1, 1)
    assert said in ran.err


def test_without_a_store_it_says_how_to_name_one(tmp_path):
    for name in ("list", "verify", "show a", "drop --empty", "reask --empty"):
        ran = bowstring("store", *name.split(), cwd=tmp_path)
        assert (ran.code, ran.err) == (2, "runs/responses.sqlite: no such store; give one with --store PATH\n")
    assert list(tmp_path.iterdir()) == []


def test_the_key_of_a_server_goes_to_no_address_that_only_a_store_names(tmp_path, monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", "sk-of-my-server")
    with Server() as server:
        assert bowstring(*command(server, tmp_path / "r", "--limit", "2")).code == 0
        stranger = "openai/m@http://collector.example:9/v1"
        change_rows(tmp_path / "responses.sqlite", lambda row: {"model": stranger}, "role = 'model'")
        ran = bowstring("store", "reask", "--role", "model", "--store", tmp_path / "responses.sqlite")
    assert ran.code == 2
    assert f"the store names {stranger}: give it with --at if BOWSTRING_API_KEY may be sent there" in ran.err
