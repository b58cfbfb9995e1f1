"""Several servers of one model: which of them gets a prompt, and what happens when they fail."""

import asyncio
import random
from collections import Counter
from statistics import mean

import pytest

from bowstring.errors import ModelError, UsageError
from bowstring.models.interface import Moved, RequestFailed
from bowstring.models.names import check_address_of_run, open_model
from bowstring.models.replicas import Replicas, ranking
from bowstring.models.transport import Patience
from bowstring.records import Message, Prompt, Sampling, Trunk
from tests.support.replicas import Replica, model_of, replicas
from tests.support.server import Reply

QUICK = Patience(attempts=6, longest_pause=0.2, first_pause=0.01)
DEAD = "http://127.0.0.1:9/v1"  # nothing listens on the port `discard`
LONG = "I like tea. " * 1000


def prompts(n: int, *, branches: int = 5, text: str = LONG) -> list[Prompt]:
    """One prompt of each of so many trunks."""
    trunks = [Trunk([Message("system", (f"{k}: {text}",))], branches=branches) for k in range(n)]
    return [Prompt(trunk, (Message("user", ("What do I like?",)),)) for trunk in trunks]


def opened(servers, **given) -> Replicas:
    model = open_model(model_of(servers), served_as="m", **{"patience": QUICK, **given})
    assert isinstance(model, Replicas)
    return model


async def ask(model: Replicas, prompt: Prompt, sampling: Sampling | None = None):
    """As an asker does: after a move, again."""
    while True:
        try:
            return await model.complete(prompt, sampling or Sampling(10))
        except Moved:
            continue


def run(model: Replicas, work):
    async def all_of_it():
        try:
            return await asyncio.wait_for(work(), 60)
        finally:
            await model.close()

    return asyncio.run(all_of_it())


async def until(reached) -> None:
    while not reached():
        await asyncio.sleep(0.005)


def test_all_branches_of_a_trunk_go_to_one_server_whatever_the_order_of_addresses():
    with replicas(3) as servers:
        one, other = opened(servers), opened(servers[::-1])
        homes = [one.place_of(prompt).server for prompt in prompts(30)]
        assert homes == [other.place_of(prompt).server for prompt in prompts(30)]
        assert len(set(homes)) == 3
        assert one.identity == other.identity == "served/m"

        async def branches():
            (prompt,) = prompts(1)
            for n in range(4):
                await ask(one, Prompt(prompt.trunk, (Message("user", (str(n),)),)))

        run(one, branches)
        assert sorted(len(server.requests) for server in servers) == [0, 0, 4]


def test_a_trunk_that_is_short_for_its_branches_is_on_all_servers():
    """Such as the rubric of a judge: one server would judge everything."""
    rubric = Trunk([Message("user", ("Compare the answers." * 50,))], branches=10_000)
    asked = [Prompt(rubric, (Message("user", (str(n),)),)) for n in range(300)]
    with replicas(4) as servers:
        counts = Counter(opened(servers).place_of(prompt).server for prompt in asked)
    assert len(counts) == 4
    assert max(counts.values()) < 1.5 * 300 / 4


@pytest.mark.parametrize(("servers", "most"), [(2, 1.2), (4, 1.35), (8, 1.6)])
def test_trunks_are_balanced(servers, most):
    """The busiest server of the 250 users of HiCUPID; `docs/scaling.md` has the means."""
    rng = random.Random(1)
    nodes = tuple(f"http://node-{n}:8000/v1" for n in range(servers))
    loads = []
    for _ in range(50):
        counts = Counter(ranking(nodes, f"{rng.getrandbits(256):064x}")[0] for _ in range(250))
        loads.append(max(counts.values()) / (250 / servers))
    assert mean(loads) < most


def test_a_server_that_is_out_moves_its_own_trunks_only():
    nodes = tuple(f"http://node-{n}:8000/v1" for n in range(5))
    for n in range(200):
        order = ranking(nodes, str(n))
        without = ranking(nodes[:4], str(n))
        assert [node for node in order if node != 4] == list(without)


def test_a_server_that_is_dead_from_the_beginning():
    said: list[str] = []
    with replicas(1) as servers:
        model = open_model(f"openai/m@{DEAD},{servers[0].url}", served_as="m", patience=QUICK, tell=said.append)

        async def work():
            return await asyncio.gather(*(ask(model, prompt) for prompt in prompts(20)))

        answers = run(model, work)
        assert {answer.provenance.address for answer in answers} == {servers[0].url}
        assert len(servers[0].requests) == 20
    assert len(said) == 1
    assert said[0].startswith(f"openai/m@{DEAD}: ")
    assert said[0].endswith("; the other servers take over.")


def test_all_dead_are_as_one_that_is_dead():
    said: list[str] = []
    model = open_model(f"openai/m@{DEAD},http://127.0.0.1:19/v1", served_as="m", patience=QUICK, tell=said.append)
    with pytest.raises(ModelError, match="none of the 2 servers answers; are they running"):
        run(model, lambda: ask(model, prompts(1)[0]))
    assert said == []


@pytest.mark.parametrize("fault", [Reply(500, b"oops"), Reply(close=True)], ids=["500", "closed connections"])
def test_a_server_that_fails_repeatedly_is_out_until_it_is_well(fault):
    ill = True

    def faults(request) -> Reply | None:
        return fault if ill else None

    with Replica(faults=faults) as failing, Replica() as well:
        model = opened([failing, well])

        async def work():
            nonlocal ill
            ill = False
            await ask(model, prompts(1)[0])  # so that the servers are known
            ill = True
            own = [p for p in prompts(40) if model.place_of(p).server == failing.url]
            first = await ask(model, own[0])
            assert first.provenance.address == well.url
            tries = len(failing.requests)
            assert (await ask(model, own[1])).provenance.address == well.url
            assert len(failing.requests) == tries, "it is out"
            assert model.place_of(own[1]).server == well.url
            ill = False
            await until(lambda: model.place_of(own[1]).server == failing.url)
            assert model.place_of(own[1]).outages == 1, "its cache may be lost"
            assert (await ask(model, own[2])).provenance.address == failing.url
            return model.outages

        assert run(model, work) == {failing.url: 1, well.url: 0}


def test_a_server_that_keeps_failing_is_used_less_and_less():
    """It answers when it is asked for its models, and fails at everything else."""
    patience = Patience(attempts=6, first_pause=0.05)
    with Replica(faults=lambda r: None if r.path.endswith("/models") else Reply(500)) as flapping, Replica() as well:
        model = opened([flapping, well], patience=patience)
        asked = (p for n in range(1_000_000) for p in prompts(1, text=f"{n} {LONG}"))

        async def work():
            began = asyncio.get_running_loop().time()
            while model.outages[flapping.url] < 5:
                assert (await ask(model, next(asked))).provenance.address == well.url
            return asyncio.get_running_loop().time() - began

        seconds = run(model, work)
        assert len(flapping.requests) == 3 * 5, "three attempts at a time"
        assert seconds >= sum(patience.first_pause * 2**n for n in range(1, 5)), "and each pause is twice as long"


def test_a_request_that_no_server_survives_takes_out_one_of_them():
    asked = 0

    def faults(request) -> Reply | None:
        nonlocal asked
        asked += request.path.endswith("/completions")
        return Reply(500) if asked else None

    with replicas(3, faults=faults) as servers:
        model = opened(servers)

        async def work():
            with pytest.raises(RequestFailed, match="500"):
                await ask(model, prompts(1)[0])
            return sum(model.outages.values())

        assert run(model, work) == 1
        assert asked == QUICK.attempts, "within the usual attempts"


def test_waiting_for_a_server_is_its_own_failure_only():
    """Too many requests: the server is well, and its trunks stay."""
    left = [Reply(429, b"", {"Retry-After": "0.05"})] * 4
    with replicas(2, faults=lambda r: left.pop() if left and r.path.endswith("completions") else None) as servers:
        model = opened(servers)
        home = model.place_of(prompts(1)[0]).server
        assert run(model, lambda: ask(model, prompts(1)[0])).provenance.address == home
        assert sum(model.outages.values()) == 0


A = {"id": "m", "owned_by": "vllm", "root": "/weights/a", "max_model_len": 8192}


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ([A], [{"id": "another"}], "has another model than .*: it has another, not m"),
        ([{"id": "another"}], [A], "it has m, and the other another"),
        (
            [{"id": "x", "meta": {"n_params": 7}}],
            [{"id": "x", "meta": {"n_params": 8}}],
            "its n_params is 8, not 7: the servers must have the same model",
        ),
    ],
)
def test_servers_of_different_models_are_refused(one, other, said):
    with Replica(one) as first, Replica(other) as second:
        model = opened([first, second])
        with pytest.raises(ModelError, match=said):
            run(model, lambda: ask(model, prompts(1)[0]))
        assert not first.requests
        assert not second.requests


@pytest.mark.parametrize(
    ("other", "note"),
    [
        (A | {"root": "/mnt/b"}, ["differs from", "its root is /mnt/b, not /weights/a"]),
        (A | {"max_model_len": 4096}, ["its max_model_len is 4096, not 8192"]),
        (A, []),
    ],
)
def test_servers_that_seem_to_differ_are_noted(other, note):
    with Replica([A]) as first, Replica([other, {"id": "lora"}]) as second:
        model = opened([first, second])
        run(model, lambda: ask(model, prompts(1)[0]))
        notes = model.notes()
    assert len(notes) == bool(note)
    assert all(words in notes[0] for words in note)


def test_a_server_that_comes_back_with_another_model_is_not_used():
    said: list[str] = []
    with Replica([A]) as first, Replica([A]) as second:
        model = opened([first, second], tell=said.append)

        async def work():
            await ask(model, prompts(1)[0])
            own = [p for p in prompts(40) if model.place_of(p).server == second.url]
            second.fault, second.models = (lambda r: Reply(503)), [{"id": "another"}]
            await ask(model, own[0])
            second.fault = lambda r: None
            listed = second.listed
            await until(lambda: second.listed >= listed + 3)
            assert model.place_of(own[0]).server == first.url
            second.models = [A]
            await until(lambda: model.place_of(own[0]).server == second.url)

        run(model, work)
    assert [line for line in said if "it is not used" in line] == model.notes()
    assert said[-1] == f"{second.url} is back."


def test_a_server_may_not_change_its_model_while_the_other_is_out():
    with Replica([A]) as first, Replica([A]) as second:
        model = opened([first, second])

        async def work():
            await ask(model, prompts(1)[0])
            for server in (first, second):
                server.fault, server.models = (lambda r: Reply(503)), [{"id": "another"}]
            failed = await asyncio.gather(*(ask(model, p) for p in prompts(20)), return_exceptions=True)
            assert all(isinstance(one, RequestFailed) for one in failed)
            assert all(model.outages.values())
            listed = first.listed, second.listed
            for server in (first, second):
                server.fault = lambda r: None
            await until(lambda: first.listed >= listed[0] + 3 and second.listed >= listed[1] + 3)
            return model.notes()

        notes = run(model, work)
    assert len(notes) == 2
    assert all(note.endswith("it has another, not m; it is not used") for note in notes)


def test_a_server_without_the_model_ends_the_run_and_is_named():
    with Replica() as first, Replica(faults=lambda r: Reply(404)) as second:
        model = opened([first, second])
        own = next(p for p in prompts(40) if model.place_of(p).server == second.url)
        with pytest.raises(ModelError, match=f"m@{second.url}: 404"):
            run(model, lambda: ask(model, own))


def test_the_key_of_servers_goes_to_all_of_them_and_no_other(monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", "sk-of-my-servers")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-openai")
    with replicas(2) as servers:
        monkeypatch.setenv("OPENAI_BASE_URL", servers[0].url)
        model = opened(servers)

        async def work():
            await asyncio.gather(*(ask(model, prompt) for prompt in prompts(20)))

        run(model, work)
        for server in servers:
            assert {r.headers["authorization"] for r in server.requests} == {"Bearer sk-of-my-servers"}


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai/m@http://a/v1,http://A:80/v1/", "openai/m@…: http://a/v1 is listed twice"),
        ("openai/m@http://a/v1,http://u:secret@a/v1", "openai/m@…: http://a/v1 is listed twice"),
        ("openai/m@http://a/v1,b:8000/v1", "a comma separates servers, each with its scheme (inside a URL it is %2C)"),
        ("openai/m@http://a/v1,", "a comma separates servers"),
        ("openai/m@http://a/x,y/v1", "a comma separates servers"),
        ("openai/m@http://a/v1,http://b:port/v1", "invalid server URL"),
        ("openai/m@http://a/v1,https://api.openai.com/v1", "OpenAI's own API cannot be one of several servers"),
        ("anthropic/m@http://a/v1,http://b/v1", "anthropic/m@…: only openai/NAME can have several servers"),
        ("bedrock/m@http://a/v1,http://b/v1", "bedrock/m@…: only openai/NAME can have several servers"),
        ("opnai/m@http://a/v1,http://b/v1", "is not a model name. Did you mean openai/m@…?"),
    ],
)
def test_lists_that_cannot_be_used_are_refused(name, said):
    with pytest.raises(UsageError) as refused:
        open_model(name, served_as="m")
    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("option", "role"),
    [("--model", ""), ("--judge", "judge="), ("--matcher", "matcher="), ("--history-model", "history=")],
)
def test_several_servers_need_a_name(option, role):
    with pytest.raises(UsageError) as refused:
        open_model("openai/m@http://a/v1,http://b/v1", option=option)
    said = f"openai/m@…: several servers need a name for the model that they serve: --served-as {role}NAME"
    assert str(refused.value) == said


def test_names_show_no_passwords_and_know_all_addresses():
    model = open_model("openai/m@http://u:secret@[::1]:8000/v1/, http://[::2]:8000/v1", served_as="x")
    assert model.name == model.full_name == "openai/m@http://[::1]:8000/v1,http://[::2]:8000/v1"
    assert model.addresses == ("http://[::1]:8000/v1", "http://[::2]:8000/v1")


def test_a_key_goes_to_no_address_that_only_a_run_names(monkeypatch):
    monkeypatch.setenv("BOWSTRING_API_KEY", "sk-of-my-servers")
    here = "openai/m@http://127.0.0.1:1/v1,http://[::1]:1/v1"
    assert check_address_of_run(here, "--judge") == here
    with pytest.raises(
        UsageError, match=r"names openai/m@http://127\.0\.0\.1:1/v1,http://stranger\.example/v1: give it"
    ):
        check_address_of_run("openai/m@http://127.0.0.1:1/v1,http://u:p@stranger.example/v1", "--judge")
