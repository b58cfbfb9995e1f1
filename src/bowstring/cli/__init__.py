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

# command -> its line in the manual; the module of the same name in this folder has the Typer `app`
COMMANDS = {
    "eval": "evaluate a model on a benchmark",
    "report": "rewrite the page of a run; export figures and tables for a paper",
    "compare": "compare runs on the same data, with paired differences",
    "view": "browse runs: list, open, compare, watch progress",
    "demo": "evaluate the embedded model on the bundled data; needs no API key",
    "prompts": "import prompts from the authors of a benchmark",
    "models": "list usable models, and what the others need",
    "data": "inspect, validate, download and convert data sets",
    "synth": "generate a data set, with a model or offline",
    "annotate": "run a blind human evaluation; curate a data set",
    "agree": "measure agreement between people, judges and metrics",
    "audit": "check whether a score is valid: baselines, probes, other judges",
    "train": "train an assistant, a judge or a matcher",
}

_MANUAL = """\
bowstring - build, run and train on benchmarks of LLM personalization

USAGE
    bowstring COMMAND [ARGUMENTS] [OPTIONS]
    bowstring COMMAND --help

Does an assistant use what it knows about its user? Bowstring implements two published benchmarks in full:
{benchmarks}

COMMANDS
{commands}

EXAMPLES
    bowstring demo                           try it in a few minutes, without an API key
    bowstring eval {name} --model openai/gpt-4o-mini --judge openai/gpt-4o-2024-11-20 --dry-run
    bowstring eval {name} --model openai/NAME@http://localhost:8000/v1 --judge openai/gpt-4o-2024-11-20
    bowstring report runs/NAME               write its page, figures (svg, pdf, png) and tables (Markdown, CSV, LaTeX)
    bowstring compare runs/A runs/B --out compare.html     which is better, and is it significant
    bowstring view --open                    show the runs in runs/ in the browser, with live progress
    bowstring data info mini                 describe the two bundled sets
    bowstring data show mini 3               read one user: dialogues, questions, answers
    bowstring data pull OWNER/NAME           download a published set from the hub
    bowstring data validate my/set --pii     list every problem of a set, personal information included
    bowstring synth {name} --offline --users 30 --out DIR     generate a set without a model
    bowstring annotate runs/NAME --annotators anna,ben     blind human evaluation, in a browser
    bowstring agree runs/A runs/B people.csv     agreement between two judges and people
    bowstring audit runs/NAME --dry-run      what validity checks would cost
    bowstring train sft --data DIR --model embedded --out ADAPTER     train a model on a set

MODELS
    openai/NAME, anthropic/NAME, google/NAME, together/NAME, openrouter/NAME, bedrock/NAME; openai/NAME@URL for any
    compatible server (vLLM, SGLang, Ollama, llama.cpp); hf/FOLDER for local weights; vllm/FOLDER for local weights on
    vLLM in this process; embedded; python:module:name for your own code. A judge can also be builtin: it needs no
    model, but is only a smoke test.

DATA
    A data set is a hub id (OWNER/NAME), a folder or file in the published layout, or mini (the bundled sets).

FILES
    runs/NAME/{{run.json,records.jsonl,metrics.json,report.html}}    a run; the same command resumes it
    runs/responses.sqlite    all responses, shared by the runs in the same folder

ENVIRONMENT
    OPENAI_API_KEY, ANTHROPIC_API_KEY, …    API keys; `bowstring models` lists the missing ones
    BOWSTRING_API_KEY  API key for servers given as @URL; no other key is sent there
    BOWSTRING_CACHE    folder of the embedded model (default: the system's cache folder)
    HF_HOME, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE    used by huggingface_hub
    NO_COLOR           disable colors

EXIT STATUS
    0 success; 1 a run failed; 2 wrong usage or bad input; 130 interrupted

    --version prints the version. An error is one line: what is wrong, where, and how to fix it.
"""


def manual() -> str:
    from bowstring.cli.demo import BENCHMARKS, EXAMPLE

    width = max(map(len, COMMANDS))
    return _MANUAL.format(
        benchmarks=BENCHMARKS,
        commands="\n".join(f"    {n:{width}}   {line}" for n, line in COMMANDS.items()),
        name=EXAMPLE,
    )


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
