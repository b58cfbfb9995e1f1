"""What is the overhead per question when the model takes no time?

    pip install inspect-ai
    python bench/overhead.py                    20,000 questions with 500 full-size histories
    python bench/overhead.py --questions 2000   a quick look

A history has 530 messages and 70 KB, as published. The model answers immediately, in this process. The same model is
used with Bowstring (including store and records, without a judge) and with Inspect AI, which gets fewer questions and
is timed per question. Two more rows measure Bowstring through HTTP to a server on loopback in another process, without
and with a judge on the same server. Finally, a profile of a tenth of the judged run shows where the time goes.
"""

import argparse
import asyncio
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parent
BRANCHES = 40


def data(users: int) -> Path:
    sys.path.insert(0, str(ROOT))
    import full_size

    root = ROOT / ".cache" / f"hicupid-{users}-unseen"
    if not (root / "qa" / "test_2.parquet").exists():
        print(f"writing {users:,} users into {root} …", flush=True)
        full_size.build_unseen(root, users)
    return root


def peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure_ours(questions: int, url: str | None, *, judged: bool = False) -> dict[str, float]:
    import bowstring
    from bowstring.records import Completion

    class Instant:
        name = identity = "instant"
        concurrency = 16

        async def complete(self, *_):
            return Completion("Try the plums; they are in season.")

        async def close(self):
            pass

    root = data(-(-questions // BRANCHES))
    with tempfile.TemporaryDirectory() as out:
        model = f"openai/m@{url}" if url else Instant()
        judge = f"openai/judge@{url}" if judged else "builtin"
        start, cpu = time.perf_counter(), time.process_time()
        run = bowstring.evaluate(
            "hicupid", model=model, judge=judge, data=str(root), out=Path(out) / "r", limit=questions
        )
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        assert run.complete
        assert run.metrics["failed"] == 0
    return {"questions": questions, "ms": 1000 * seconds / questions, "cpu_ms": 1000 * cpu / questions, "MiB": peak()}


ROOMS = {
    "HTTP (httpx, httpcore, h11, anyio)": ("/httpx/", "/httpcore/", "/h11/", "/anyio/", "/certifi/"),
    "event loop (asyncio, selectors)": ("/asyncio/", "selectors.py", "select.epoll", "socket", "contextvars"),
    "store (SQLite, hashes)": ("/runs/store.py", "sqlite3", "_hashlib", "hashlib", "/runs/asking.py", "zlib"),
    "scheduling": ("/runs/schedule.py", "/runs/runner.py"),
    "text overlap (BLEU, ROUGE-L)": ("/metrics/text.py", "rapidfuzz", "re.Pattern", "'sub'", "collections/__init__"),
    "metrics and intervals": ("/metrics/", "/hicupid/scores.py", "numpy", "_operator"),
    "prompts, records, verdicts": ("/benchmarks/", "/prompts/", "/records.py", "/judging/", "/history/"),
    "data": ("/datasets/", "pyarrow"),
    "JSON": ("json",),
    "report page": ("jinja2", "markupsafe", "/reports/", "<template>"),
    "imports": ("importlib", "marshal", "posix.stat", "io.open_code"),
}


def measure_where(questions: int, url: str) -> dict[str, float]:
    import cProfile
    import pstats

    profile = cProfile.Profile()
    profile.enable()
    measure_ours(questions, url, judged=True)
    profile.disable()
    spent = dict.fromkeys([*ROOMS, "other"], 0.0)
    for (file, _, name), (_, _, own, _, callers) in pstats.Stats(profile).stats.items():
        room = room_of(f"{file}:{name}")
        if room != "other" or not callers:
            spent[room] += own
            continue
        for (caller, _, calling), shares in callers.items():  # built-in functions such as len() count for their callers
            spent[room_of(f"{caller}:{calling}")] += shares[2]
    return spent


def room_of(where: str) -> str:
    return next((room for room, marks in ROOMS.items() if any(mark in where for mark in marks)), "other")


def measure_inspect(questions: int) -> dict[str, float]:
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import (
        ChatMessageAssistant,
        ChatMessageSystem,
        ChatMessageUser,
        ModelOutput,
        ModelUsage,
        get_model,
    )
    from inspect_ai.solver import generate

    from bowstring.benchmarks.loading import load_hicupid

    loaded = load_hicupid(str(data(max(1, -(-questions // BRANCHES)))))
    samples = []
    for question in loaded.questions()[:questions]:
        kinds = {"user": ChatMessageUser, "assistant": ChatMessageAssistant}
        chat = [kinds[m.role](content=m.text) for d in loaded.history(question.user_id) for m in d.messages]
        messages = [ChatMessageSystem(content="Be kind."), *chat, ChatMessageUser(content=question.question)]
        samples.append(Sample(input=messages, target=question.personalized_answer, id=question.key))

    def instant(*_: object) -> ModelOutput:
        output = ModelOutput.from_content("mockllm/model", "Try the plums; they are in season.")
        output.usage = ModelUsage(input_tokens=17000, output_tokens=9, total_tokens=17009)
        return output

    model = get_model("mockllm/model", custom_outputs=instant)
    with tempfile.TemporaryDirectory() as out:
        start, cpu = time.perf_counter(), time.process_time()
        (log,) = eval(Task(dataset=MemoryDataset(samples), solver=generate()), model=model, log_dir=out, display="none")
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
        assert log.status == "success", str(log.error)[:500]
    return {"questions": questions, "ms": 1000 * seconds / questions, "cpu_ms": 1000 * cpu / questions, "MiB": peak()}


async def serve() -> None:
    """A minimal server: read a request, write the same answer."""
    said = "Try the plums; they are in season.\nBetter Response: Tie\nSatisfaction: NO"  # an answer and a verdict
    content = {"role": "assistant", "content": said}
    usage = {"prompt_tokens": 17000, "completion_tokens": 9}
    body = json.dumps({"choices": [{"message": content, "finish_reason": "stop"}], "usage": usage}).encode()
    answer = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                await reader.readexactly(length)
                writer.write(answer)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--questions", type=int, default=20_000)
    parser.add_argument("--inspect-questions", type=int, default=120)
    parser.add_argument("--measure", help="(internal) ours, http:URL, judged:URL, where:URL, inspect, or serve")
    args = parser.parse_args()
    if args.measure:
        if args.measure == "serve":
            asyncio.run(serve())
        elif args.measure == "inspect":
            print(json.dumps(measure_inspect(args.inspect_questions)))
        else:
            what, _, url = args.measure.partition(":")
            found = measure_where(args.questions // 10, url) if what == "where" else None
            print(json.dumps(found or measure_ours(args.questions, url or None, judged=what == "judged")))
        return
    data(-(-args.questions // BRANCHES))
    data(-(-args.inspect_questions // BRANCHES))

    def measure(what: str) -> dict[str, float]:
        command = [sys.executable, __file__, "--questions", str(args.questions), "--measure", what]
        command += ["--inspect-questions", str(args.inspect_questions)]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, env=os.environ | {"COLUMNS": "80"})
        return json.loads(done.stdout.splitlines()[-1])

    ours = measure("ours")
    inspect = measure("inspect") if importlib.util.find_spec("inspect_ai") else None
    server = subprocess.Popen([sys.executable, __file__, "--measure", "serve"], stdout=subprocess.PIPE, text=True)
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    http, judged, where = measure(f"http:{url}"), measure(f"judged:{url}"), measure(f"where:{url}")
    server.kill()
    print(f"{'':34}{'questions':>10}{'ms each':>10}{'CPU ms':>10}{'peak MiB':>10}")
    rows = [("bowstring", ours), ("bowstring through HTTP", http), ("the same with a judge on HTTP", judged)]
    for name, row in [*rows, ("Inspect AI", inspect)] if inspect else rows:
        print(f"{name:34}{row['questions']:>10,.0f}{row['ms']:>10.2f}{row['cpu_ms']:>10.2f}{row['MiB']:>10.0f}")
    print("\nshare of time in the run with a judge")
    for room, seconds in sorted(where.items(), key=lambda pair: -pair[1]):
        print(f"  {room:40}{seconds / sum(where.values()):>8.1%}")
    if inspect is None:
        print("Inspect AI is not installed: pip install inspect-ai")
        return
    print(f"Inspect AI / bowstring: {inspect['ms'] / ours['ms']:.0f}× the time per question")


if __name__ == "__main__":
    main()
