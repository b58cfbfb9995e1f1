"""Does an evaluation of CUPID's size keep a server busy?

    python bench/cupid_run.py                      756 instances of real size, both tasks, 16 and 64 requests in flight
    python bench/cupid_run.py --instances 100      a quick look

The server runs in its own process and answers every request after 0.2 s, with a different answer each time. One model
has all three roles, so that all requests share one limit. The ideal time is requests x latency / requests in flight,
plus the chain of four dependent calls at the end. Prints seconds, the ratio to the ideal (1 is best) and peak memory,
for half of the instances and for all of them.
"""

import argparse
import asyncio
import json
import re
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

LATENCY = 0.2
CHAIN = 4  # the longest chain: the first branch of the trunk, then answer, decompose, match


def instances(n: int) -> Path:
    import numpy as np

    from bowstring.benchmarks.cupid.data import write_parquet
    from bowstring.benchmarks.cupid.types import Instance, Session
    from bowstring.benchmarks.loading import load_cupid
    from bowstring.records import Dialogue, Message

    root = Path(__file__).parent / ".cache" / f"cupid-{n}"
    if (root / "test.parquet").exists():
        return root
    print(f"writing {n} instances into {root} …", flush=True)
    mini = load_cupid("mini").instances
    words = np.array(" ".join(m.text for i in mini for d in i.history for m in d.messages).split())
    rng = np.random.default_rng(3)

    def text(length: int) -> str:
        return " ".join(rng.choice(words, length))

    def session(number: int, factor: str, preference: str) -> Session:
        turns = [("user", 40), ("assistant", 190)] * 3 + [("user", 40)]
        messages = tuple(Message(role, (text(length),)) for role, length in turns)
        return Session(factor, preference, Dialogue(number, "session", messages))

    made = []
    for k in range(n):
        kind = mini[k % 3].type
        own = [session(j, f"factor {j % 6}", f"preference {j % 6} of persona {k // 3}") for j in range(8)]
        checklist = tuple(f"Does it {text(6)}?" for _ in range(3))
        made.append(
            Instance(f"{k // 3}+someone", kind, text(60), "factor 0", "preference 0 of it", checklist, tuple(own))
        )
    write_parquet(made, root)
    return root


async def serve(latency: float) -> None:
    numbers = iter(range(10**9))

    def said(body: bytes) -> str:
        tail = body.rpartition(b'"role":"user"')[2][-3000:]
        if b"Take a preference" in body[:3000]:
            return json.dumps({"checklist": [f"Is it {next(numbers)}?", "Is it brief?"]})
        if b"The checklist:" in tail:
            n = len(re.findall(rb"\\n\d\. ", tail))
            return json.dumps({"results": [{"index": k + 1, "label": "Partially Covered"} for k in range(n)]})
        if b"### Evaluation Score" in body[:4000]:
            return "### Evaluation Score\n7"
        return f"### Most Likely Preference\nNumber {next(numbers)} in {next(numbers)}."

    async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                body = await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))
                await asyncio.sleep(latency)
                message = {"role": "assistant", "content": said(body)}
                usage = {"prompt_tokens": 9000, "completion_tokens": 20}
                out = json.dumps({"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage}).encode()
                writer.write(f"HTTP/1.1 200 OK\r\nContent-Length: {len(out)}\r\n\r\n".encode() + out)
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_server(client, "127.0.0.1", 0, limit=1 << 20)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def measure(n: int, places: int, url: str, limit: int) -> dict[str, float]:
    import bowstring

    evaluate = bowstring.evaluate  # import it now: loading is not part of the measured run
    with tempfile.TemporaryDirectory() as out:
        name = f"openai/m@{url}"
        start = time.perf_counter()
        run = evaluate(
            "cupid",
            model=name,
            judge=name,
            data=str(instances(n)),
            out=Path(out) / "r",
            concurrency=places,
            limit=limit,
        )
        seconds = time.perf_counter() - start
    assert run.complete
    assert run.metrics["failed"] == run.metrics["unparsed"] == 0, run.metrics["unparsed_parts"]
    requests = sum(usage["requests"] for usage in run.metrics["usage"].values())
    ideal = requests * LATENCY / places + CHAIN * LATENCY
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"requests": requests, "seconds": seconds, "ideal": ideal, "ratio": seconds / ideal, "MiB": peak}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--instances", type=int, default=756)
    parser.add_argument("--measure", nargs=3, help="(internal) requests in flight, URL and limit")
    parser.add_argument("--serve", action="store_true", help="(internal)")
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(LATENCY))
        return
    if args.measure:
        places, url, limit = args.measure
        print(json.dumps(measure(args.instances, int(places), url, int(limit))))
        return
    instances(args.instances)
    server = subprocess.Popen([sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True)
    try:
        compare(args.instances, f"http://127.0.0.1:{server.stdout.readline().strip()}/v1")
    finally:
        server.kill()


def compare(instances_: int, url: str) -> None:
    print(f"{'':24}{'requests':>10}{'seconds':>10}{'ideal':>10}{'ratio':>8}{'peak MiB':>10}")
    for places in (16, 64):
        for limit in (instances_ // 2, instances_):
            command = [sys.executable, __file__, "--instances", str(instances_)]
            command += ["--measure", str(places), url, str(limit)]
            row = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
            label = f"{places} in flight, {limit}"
            print(
                f"{label:24}{row['requests']:>10,}{row['seconds']:>10.1f}{row['ideal']:>10.1f}"
                f"{row['ratio']:>8.2f}{row['MiB']:>10.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
