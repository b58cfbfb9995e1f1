"""The command line: one module per command. A module parses options, calls the API and prints; it has no logic.

    bowstring data info mini

The module of a command is imported when the command runs, so `bowstring --help` is fast. Errors are one line on
stderr; exit codes are those of `bowstring.errors`.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

# command -> its line in the manual; the module of the same name in this folder has the Typer `app`
COMMANDS = {
    "eval": "evaluate a model on a benchmark",
    "report": "rewrite the page of a run; export figures and tables for a paper",
    "compare": "compare runs on the same data, with paired differences",
    "view": "browse runs: list, open, compare, watch progress",
    "demo": "evaluate the embedded model on the bundled data; needs no API key",
    "prompts": "import prompts from the authors of a benchmark",
    "models": "list usable models, and what the others need",
    "store": "list, show, remove, ask again, merge and verify stored responses",
    "data": "inspect, validate, download and convert data sets",
    "synth": "generate a data set, with a model or offline",
    "annotate": "run a blind human evaluation; curate a data set",
    "agree": "measure agreement between people, judges and metrics",
    "audit": "check whether a score is valid: baselines, probes, other judges",
    "train": "train an assistant, a judge or a matcher",
}


def manual() -> str:
    width = max(map(len, COMMANDS))
    commands = "\n".join(f"    {n:{width}}   {line}" for n, line in COMMANDS.items())
    text = Path(__file__).with_name("manual.txt").read_text(encoding="utf-8")
    return text.replace("@COMMANDS@", commands)


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Always raises SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode is escaped; it must not end the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _main(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of our output closed the pipe (| head). Prevent a complaint of the interpreter at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        at = f"{error.filename}: " if error.filename else ""
        code = _print_error(f"bowstring: {at}{error.strerror or error}", 1)
    except Exception:
        code = _print_unexpected()
    sys.exit(code)


def _main(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(manual(), end="")
        return 0 if words else 2
    if words[0] == "--version":
        from bowstring import __version__

        print(f"bowstring {__version__}")
        return 0
    if words[0] not in COMMANDS:
        close = difflib.get_close_matches(words[0], COMMANDS, n=1)
        hint = f"did you mean {close[0]}?" if close else "bowstring --help lists the commands"
        return _print_error(f"bowstring: {words[0]!r} is not a command; {hint}", 2)
    return _run(words[0], words[1:])


def _run(command: str, arguments: list[str]) -> int:
    import typer

    from bowstring.cli.plain_help import with_plain_help
    from bowstring.errors import BowstringError

    usage_error: type[Exception] = typer.BadParameter.__mro__[1]  # its base, which typer does not export
    parsed = with_plain_help(typer.main.get_command(import_module(f"bowstring.cli.{command}").app))
    try:
        # Not parsed.main(): it handles broken pipes and interrupts differently.
        with parsed.make_context(f"bowstring {command}", arguments) as context:
            result = parsed.invoke(context)
        return result if isinstance(result, int) else 0
    except typer.Exit as ended:
        return ended.exit_code
    except BowstringError as error:
        return _print_error(str(error), error.exit_code)
    except usage_error as error:
        return _print_error(_usage_line(error, command), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _print_error("stopped", 130)


def _usage_line(error: Exception, command: str) -> str:
    context = getattr(error, "ctx", None)
    name = context.command_path if context else f"bowstring {command}"
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".")
    return f"{name}: {' '.join(message.split())} (see {name} --help)"


def _print_error(line: str, code: int) -> int:
    from bowstring.cli.output import plain
    from bowstring.files.redaction import redact

    print(plain(redact(" ".join(line.splitlines()))), file=sys.stderr)
    return code


def _print_unexpected() -> int:
    """Print an unexpected error with its traceback, for a bug report, with keys redacted."""
    import traceback

    from bowstring.files.redaction import redact

    print(redact(traceback.format_exc()), end="", file=sys.stderr)
    return 1
