"""One name at two addresses: the answers of one server are never taken for those of the other."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.e2e.test_eval import records
from tests.support.command import bowstring
from tests.support.server import Reply, Server

ITEMS = 8
VARIABLES = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_KEY"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "bedrock": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_BEARER_TOKEN_BEDROCK"),
}


def stored(store: Path) -> dict[str, int]:
    with closing(sqlite3.connect(store)) as db:
        return dict(db.execute("SELECT address, count(*) FROM responses GROUP BY address").fetchall())


@pytest.mark.parametrize("provider", VARIABLES)
@pytest.mark.parametrize("given", ["in a variable", "in the name"])
def test_a_mock_and_a_server(provider, given, tmp_path, record_property):
    """They have a name and a store in common, and the mock fails in the middle of its run."""
    left = ITEMS // 2

    def fail(request) -> Reply | None:
        return Reply(500) if len(mock.requests) > left else None

    with Server(lambda messages, body: "mock", faults=fail) as mock, Server(lambda messages, body: "real") as real:

        def evaluate(server: Server, out: str) -> int:
            variable, key = VARIABLES[provider]
            name = f"{provider}/m" if given == "in a variable" else server.model("m", provider)
            env = {key: "sk-1", **({variable: server.url} if given == "in a variable" else {})}
            asked = ("--model", name, "--judge", "builtin", "--history", "none", "--limit", str(ITEMS))
            more = ("--attempts", "1", "--concurrency", "1", "--out", tmp_path / out)
            return bowstring("eval", "hicupid", *asked, *more, env=env).code

        assert evaluate(mock, "mock") == 1
        assert evaluate(real, "real") == 0
        assert len(real.requests) == ITEMS, "it is asked for everything"
        assert evaluate(real, "mock") == 2, "the folder is of another model"
        mock.faults = lambda request: None
        before = len(mock.requests)
        assert evaluate(mock, "mock") == 0
        assert len(mock.requests) - before == ITEMS - left, "the rest, and nothing again"
        assert len(real.requests) == ITEMS
    for name in ("mock", "real"):
        assert [r["answer"] for r in records(tmp_path / name)] == [name] * ITEMS
    assert stored(tmp_path / "responses.sqlite") == {mock.url: ITEMS, real.url: ITEMS}
    record_property("tally", {"items": 2 * ITEMS, "answers of the other server": 0})
