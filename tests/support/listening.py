"""Something that listens on a free port of loopback while a `with` lasts, on a thread of its own."""

import asyncio
import threading
from typing import Self


class Listening:
    """What is sent on a connection is for `_serve_one`, one request at a time. A `port` may be set before it starts."""

    def __init__(self) -> None:
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        ready = threading.Event()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            listening = asyncio.start_server(
                self._serve, "127.0.0.1", self.port, limit=1 << 20
            )  # browsers send many cookies
            self._server = self._loop.run_until_complete(listening)
            self.port = self._server.sockets[0].getsockname()[1]
            ready.set()
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        async def stop() -> None:
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result(300)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(300)
        self._loop.close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def model(self, name: str, provider: str = "openai") -> str:
        return f"{provider}/{name}@{self.url}"

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task
        self._tasks.add(task)
        try:
            while await self._serve_one(reader, writer):
                pass
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _serve_one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request; False where the connection ends with it."""
        raise NotImplementedError
