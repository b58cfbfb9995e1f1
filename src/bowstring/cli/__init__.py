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
from contextlib import suppress
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
    "certify": "compare Bowstring with the code of a benchmark's authors",
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
    _open_closed_streams()
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal cannot encode is escaped; it must not end the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    words, debug = _without_debug(list(sys.argv[1:] if arguments is None else arguments))
    try:
        code = _main(words, debug=debug)
        sys.stdout.flush()
    except KeyboardInterrupt:  # also while modules are imported
        code = _print_error("stopped", 130)
    except BrokenPipeError:
        # The reader of our output closed the pipe (| head). Prevent a complaint of the interpreter at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        at = f"{error.filename}: " if error.filename else ""
        code = _print_error(f"bowstring: {at}{error.strerror or error}", 1, error if debug else None)
    except Exception as error:
        code = _print_unexpected(error, debug=debug)
    sys.exit(code)


def _open_closed_streams() -> None:
    """Let a standard stream that the shell has closed (>&-) lead to nowhere. Otherwise the next file to be opened
    would get its number, and what libraries print would be written into that file."""
    for number, name in ((0, "stdin"), (1, "stdout"), (2, "stderr")):
        if getattr(sys, name) is None:
            with suppress(OSError):
                os.fstat(number)
                continue  # a file has got the number already
            null = os.open(os.devnull, os.O_RDWR)
            if null != number:
                os.dup2(null, number)
                os.close(null)
            setattr(sys, name, os.fdopen(number, "w" if number else "r", encoding="utf-8", closefd=False))


def _without_debug(words: list[str]) -> tuple[list[str], bool]:
    """The arguments without --debug, which every command has, and whether it was among them."""
    end = words.index("--") if "--" in words else len(words)
    kept = [word for word in words[:end] if word != "--debug"]
    return kept + words[end:], len(kept) < end


def _main(words: list[str], *, debug: bool) -> int:
    for word in words:
        if any("\udc80" <= c <= "\udcff" for c in word):  # how Python keeps bytes that it cannot decode
            return _print_error(f"bowstring: {word!r} is not UTF-8; rename the file or folder", 2)
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
    if not debug:
        return _run(words[0], words[1:], debug=False)
    from bowstring.cli.debugging import printing_tracebacks

    with printing_tracebacks():
        return _run(words[0], words[1:], debug=True)


def _run(command: str, arguments: list[str], *, debug: bool) -> int:
    import typer

    from bowstring.cli.common import with_common_parts
    from bowstring.errors import BowstringError

    usage_error: type[Exception] = typer.BadParameter.__mro__[1]  # its base, which typer does not export
    parsed = with_common_parts(typer.main.get_command(import_module(f"bowstring.cli.{command}").app))
    try:
        # Not parsed.main(): it handles broken pipes and interrupts differently.
        with parsed.make_context(f"bowstring {command}", arguments) as context:
            result = parsed.invoke(context)
        return result if isinstance(result, int) else 0
    except typer.Exit as ended:
        return ended.exit_code
    except BowstringError as error:
        return _print_error(str(error), error.exit_code, error if debug else None)
    except usage_error as error:
        return _print_error(_usage_line(error, command), 2)
    except typer.Abort:
        return _print_error("stopped", 130)


def _usage_line(error: Exception, command: str) -> str:
    context = getattr(error, "ctx", None)
    name = context.command_path if context else f"bowstring {command}"
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".")
    return f"{name}: {' '.join(message.split())} (see {name} --help)"


def _print_error(line: str, code: int, error: BaseException | None = None) -> int:
    """Print an error on one line, after its traceback if the error is given."""
    from bowstring.cli.output import plain, tell
    from bowstring.files.redaction import redact

    if error is not None:
        from bowstring.cli.debugging import print_traceback

        print_traceback(error)
    tell(plain(redact(" ".join(line.splitlines()))))
    return code


def _print_unexpected(error: Exception, *, debug: bool) -> int:
    """Print an error that is a fault of Bowstring: where it is, or with --debug its traceback, for a bug report."""
    from bowstring.files.redaction import error_line

    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    at = f" ({Path(trace.tb_frame.f_code.co_filename).name} line {trace.tb_lineno})" if trace else ""
    line = f"bowstring: unexpected error{at}: {error_line(error, with_type=True)}"
    if debug:
        return _print_error(line, 1, error)
    return _print_error(f"{line}; for a traceback to report, run the command again with --debug", 1)
