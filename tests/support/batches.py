"""A scripted server that also speaks OpenAI's batch API.

    with BatchServer(polls=3) as server: ...

A batch is in progress for the first `polls` looks at it. `ends` may give a batch another status than completed, and
`lines` another outcome for a request: a dictionary as in an error file, or None for no line at all.
"""

import json
import re
from collections.abc import Callable
from typing import Any

from tests.support.server import Reply, Request, Server, digest_answer


class BatchServer(Server):
    def __init__(
        self,
        answer: Callable[..., str] = digest_answer,
        *,
        polls: int = 0,
        ends: Callable[[int], str] = lambda n: "completed",
        lines: Callable[[int, dict[str, Any]], Any] = lambda n, body: True,
        counts: Any = None,
        raw: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(answer, **more)
        self.polls = polls
        self.ends = ends
        self.lines = lines
        self.counts = counts
        self.raw = raw  # whether files have every character as it is
        self.files: dict[str, str] = {}
        self.batches: list[dict[str, Any]] = []

    def inputs(self, n: int) -> list[dict[str, Any]]:
        """The requests of the n-th batch."""
        return [json.loads(line) for line in self.files[self.batches[n]["input_file_id"]].splitlines()]

    def _answered(self, request: Request) -> Reply:
        path = request.path.partition("?")[0].removeprefix("/v1/")
        if path == "files":
            name = f"file-{len(self.files)}"
            assert b'name="purpose"\r\n\r\nbatch' in request.raw
            content = re.search(rb'filename="[^"]*"\r\n.*?\r\n\r\n(.*?)\r\n--', request.raw, re.DOTALL)
            assert content
            self.files[name] = content[1].decode()
            return self._json({"id": name, "object": "file"})
        if path == "batches" and request.body:
            assert request.body["endpoint"] == "/v1/chat/completions"
            assert request.body["completion_window"] == "24h"
            self.batches.append(
                {**request.body, "id": f"batch_{len(self.batches)}", "status": "validating", "looks": 0}
            )
            return self._json(self.batches[-1])
        if path == "batches":
            return self._json({"data": self.batches})
        if path.startswith("batches/"):
            return self._json(self._look(int(path.rpartition("_")[2])))
        if path.startswith("files/"):
            return Reply(body=self.files[path.split("/")[1]].encode(), headers={"Content-Type": "application/jsonl"})
        return super()._answered(request)

    def _look(self, n: int) -> dict[str, Any]:
        batch = self.batches[n]
        batch["looks"] += 1
        batch["request_counts"] = self.counts
        if batch["status"] in ("validating", "in_progress"):
            batch["status"] = "in_progress" if batch["looks"] <= self.polls else self.ends(n)
            if batch["status"] != "in_progress":
                self._end(n, batch)
        return batch

    def _end(self, n: int, batch: dict[str, Any]) -> None:
        done, failed = [], []
        for row in self.inputs(n) if batch["status"] != "failed" else []:
            outcome = self.lines(n, row["body"])
            if outcome is True:
                body = json.loads(super()._answered(Request("/v1/chat/completions", {}, b"", row["body"])).body)
                response = {"status_code": 200, "body": body}
                done.append({"custom_id": row["custom_id"], "response": response, "error": None})
            elif outcome is not None:
                failed.append({"custom_id": row["custom_id"], **outcome})
        # A server may answer in any order.
        for field, rows in (("output_file_id", done[::-1]), ("error_file_id", failed)):
            name = f"{field}-{n}"
            self.files[name] = "".join(json.dumps(row, ensure_ascii=not self.raw) + "\n" for row in rows)
            batch[field] = name if rows else None
        if batch["status"] == "failed":
            batch["errors"] = {"data": [{"code": "invalid", "message": "the file is not to our taste"}]}

    @staticmethod
    def _json(value: Any) -> Reply:
        return Reply(body=json.dumps(value).encode())
