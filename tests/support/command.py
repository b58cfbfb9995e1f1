"""The `bowstring` command: in this process for most tests, in a separate process if that is what is tested.

    ran = bowstring("data", "info", "mini", env={"COLUMNS": "200"}, cwd=tmp_path)
    assert ran.code == 0, ran.err

Both calls give the command the same environment and return the same `Ran`. A call in this process leaves no trace in
it: streams, environment, current folder, import path, logging, warnings and signal handlers are as they were.
"""

import asyncio
import importlib
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from bowstring.cli import main
from bowstring.datasets import hub
from bowstring.runs import folder

PROGRAM = Path(sys.executable).with_name("bowstring")
SETTINGS = {"COLUMNS": "100", "PYTHONWARNINGS": "error"}
# Read once by the interpreter, or by a library when it is loaded: a call in this process would not heed them.
_READ_AT_START = ("PYTHONIOENCODING", "ONEDNN_MAX_CPU_ISA", "CUDA_VISIBLE_DEVICES", "OMP_NUM_THREADS")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


def bowstring(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Call the command in this process."""
    given = SETTINGS | (env or {})
    assert not any(name in given for name in _READ_AT_START), "this environment needs bowstring_process()"
    if asyncio._get_running_loop() is None:
        return _call([*map(str, arguments)], given, cwd)
    # Playwright runs its event loop in the thread of the test; the command needs a thread without one.
    return _in_thread(lambda: _call([*map(str, arguments)], given, cwd))


def bowstring_process(*arguments: str | Path, env: dict[str, str] | None = None, cwd: Path | None = None) -> Ran:
    """Run the installed command to its end, in a process of its own."""
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        errors="replace",
        env=os.environ | SETTINGS | (env or {}),
        cwd=cwd,
        timeout=3600,
        check=False,
    )
    return Ran(done.returncode, done.stdout, done.stderr)


def _call(arguments: list[str], env: dict[str, str], cwd: Path | None) -> Ran:
    out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8") for _ in range(2))
    with ExitStack() as stack:
        for change in (
            _environment(env),
            _current_folder(cwd),
            _modules(env),
            _arguments(arguments),
            _signals(),
            redirect_stdout(out),
            redirect_stderr(err),
            _logging(),
            warnings.catch_warnings(),
        ):
            stack.enter_context(change)
        warnings.resetwarnings()
        warnings.simplefilter("error")
        folder._without_locks.clear()  # a process says it once per file system
        hub._from_cache.clear()  # and once per set
        try:
            main()
        except SystemExit as ended:
            code = ended.code
    assert isinstance(code, int), "main() always ends in SystemExit, with a number"
    return Ran(code, _text(out), _text(err))


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8", "replace")


@contextmanager
def _environment(env: dict[str, str]) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in env}
    os.environ.update(env)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def _current_folder(cwd: Path | None) -> Iterator[None]:
    before = Path.cwd()
    os.chdir(cwd or before)
    try:
        yield
    finally:
        os.chdir(before)


@contextmanager
def _arguments(arguments: list[str]) -> Iterator[None]:
    before = sys.argv
    sys.argv = [str(PROGRAM), *arguments]
    try:
        yield
    finally:
        sys.argv = before


@contextmanager
def _modules(env: dict[str, str]) -> Iterator[None]:
    """Import what the command imports from its folder or PYTHONPATH, and forget it afterwards.

    huggingface_hub reads HF_… when it is imported. Where they are set it is imported again, and put back at the end.
    """
    path, loaded = list(sys.path), set(sys.modules)
    if env.get("PYTHONPATH"):
        sys.path[:0] = env["PYTHONPATH"].split(os.pathsep)
    hub = _taken_out("huggingface_hub") if any(name.startswith("HF_") for name in env) else None
    importlib.invalidate_caches()
    try:
        yield
    finally:
        added = [Path(place).resolve() for place in sys.path if place not in path]
        for name in set(sys.modules) - loaded:
            file = getattr(sys.modules[name], "__file__", None)
            if file and any(place in Path(file).resolve().parents for place in added):
                del sys.modules[name]
        if hub is not None:
            fresh = _taken_out("huggingface_hub")
            if "huggingface_hub" in fresh:
                fresh["huggingface_hub"].close_session()
            sys.modules.update(hub)
        sys.path[:] = path


def _taken_out(package: str) -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    return {name: sys.modules.pop(name) for name in names}


@contextmanager
def _signals() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is not before:
            signal.signal(signal.SIGINT, before)


@contextmanager
def _logging() -> Iterator[None]:
    """Log as in a new process: to the command's stderr, and not to pytest."""
    root = logging.getLogger()
    handlers, root.handlers = root.handlers, []
    levels = {name: logger.level for name, logger in _loggers().items()}
    streams = {handler: handler.stream for handler in _stream_handlers()}
    for handler in streams:
        handler.stream = sys.stderr
    try:
        yield
    finally:
        root.handlers = handlers
        for name, logger in _loggers().items():
            logger.setLevel(levels.get(name, logging.NOTSET))
        for handler in _stream_handlers():
            handler.stream = streams.get(handler, sys.__stderr__)


def _loggers() -> dict[str, logging.Logger]:
    found = logging.getLogger().manager.loggerDict
    return {name: logger for name, logger in list(found.items()) if isinstance(logger, logging.Logger)}


def _stream_handlers() -> list[logging.StreamHandler[Any]]:
    """Handlers of libraries, which write to the stderr of the moment in which they were made."""
    handlers = [handler for logger in _loggers().values() for handler in logger.handlers]
    return [handler for handler in handlers if type(handler) is logging.StreamHandler]


def _in_thread(call: Callable[[], Ran]) -> Ran:
    ended: list[Ran | BaseException] = []

    def run() -> None:
        try:
            ended.append(call())
        except BaseException as error:  # raised again in the thread of the test
            ended.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    (result,) = ended
    if isinstance(result, BaseException):
        raise result
    return result
