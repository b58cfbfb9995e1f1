"""The command line: one module a command, which parses, calls and prints. No logic lives here.

    bowstring data info mini

A command's module is imported when it is called, so that `bowstring --help` stays instant. Errors come out as
one line on stderr; exit codes are those of `bowstring.errors`.
"""

from __future__ import annotations

import difflib
import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module

# name -> what its line in the manual says; the module of the same name in this folder has the Typer `app`
COMMANDS = {
    "eval": "evaluate a model on a benchmark",
    "report": "the page of a run anew, its figures and tables for a paper",
    "compare": "runs of one data set side by side, and whether they differ",
    "view": "look at runs in the browser: list, open, compare, watch",
    "demo": "evaluate the embedded model on the bundled data, without a key",
    "prompts": "bring prompts of your own, such as upstream's",
    "models": "which models can be used here, and what the others need",
    "data": "look at data sets, check them, fetch and convert them",
    "synth": "make a data set, with a model or offline",
    "annotate": "put answers to people, blind; curate a data set",
    "agree": "how far people, judges and metrics agree",
    "audit": "does a score mean what it says? baselines, probes, other judges",
    "train": "train an assistant, a judge or a matcher on a data set",
}

_MANUAL = """\
bowstring - build, run and train on benchmarks of LLM personalization

USAGE
    bowstring COMMAND [ARGUMENTS] [OPTIONS]
    bowstring COMMAND --help

Does an assistant use what it knows about its user? Bowstring implements two published benchmarks whole:
HiCUPID (a long history of dialogues, and later questions that do not mention it) and CUPID (preferences that
depend on context and show only in feedback).

COMMANDS
{commands}

EXAMPLES
    bowstring demo                           see it work, in a few minutes, without a key
    bowstring eval hicupid --model openai/gpt-4o-mini --judge openai/gpt-4o-2024-11-20 --dry-run
    bowstring eval hicupid --model openai/NAME@http://localhost:8000/v1 --judge openai/gpt-4o-2024-11-20
    bowstring report runs/NAME               its page, figures (svg, pdf, png), tables (Markdown, CSV, LaTeX)
    bowstring compare runs/A runs/B --out compare.html     which is better, and how surely
    bowstring view --open                    the runs in runs/ in the browser; a running one moves
    bowstring data info mini                 what is in the two bundled sets
    bowstring data show mini 3               read one user: dialogues, questions, answers
    bowstring data pull 12kimih/HiCUPID      fetch the published set from the hub
    bowstring data validate my/set --pii     every problem of a set, personal information included
    bowstring synth hicupid --offline --users 30 --out DIR     make a set without a model
    bowstring annotate runs/NAME --annotators anna,ben     blind human evaluation, in a browser
    bowstring agree runs/A runs/B people.csv     how far two judges and people agree
    bowstring audit runs/NAME --dry-run      what it costs to know whether a score means what it says
    bowstring train sft --data DIR --model embedded --out ADAPTER     teach a model on it

MODELS
    openai/NAME, anthropic/NAME, google/NAME, together/NAME, openrouter/NAME, bedrock/NAME; openai/NAME@URL for any
    compatible server (vLLM, SGLang, Ollama, llama.cpp); hf/FOLDER for local weights; vllm/FOLDER for the same on
    vLLM in this process; embedded; python:module:name for your own code. For judges also builtin, which needs no
    model and is a smoke test, not a measurement.

DATA
    Wherever a data set is asked for: a hub id (12kimih/HiCUPID, kixlab/CUPID), a folder or file in the
    published layout, or mini, the bundled sets.

FILES
    runs/NAME/{{run.json,records.jsonl,metrics.json,report.html}}    a run; the same command resumes it
    runs/responses.sqlite    every response that was paid for, shared by the runs beside it

ENVIRONMENT
    OPENAI_API_KEY, ANTHROPIC_API_KEY, …    keys; `bowstring models` says which are missing
    BOWSTRING_API_KEY  the key of a server given as @URL; no other key is ever sent there
    BOWSTRING_CACHE    where the embedded model is kept (default: the system's cache folder)
    HF_HOME, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE    as huggingface_hub reads them
    NO_COLOR           no colours

EXIT STATUS
    0 all is well; 1 a run failed; 2 wrong usage or bad input; 130 interrupted

    --version prints the version. Errors are one line: the thing, the place, the way out.
"""


def manual() -> str:
    width = max(map(len, COMMANDS))
    return _MANUAL.format(commands="\n".join(f"    {n:{width}}   {line}" for n, line in COMMANDS.items()))


def main(arguments: Sequence[str] | None = None) -> None:
    """The console script. Always ends in SystemExit."""
    for stream in (sys.stdout, sys.stderr):
        # What a terminal cannot show is shown as its code, instead of ending the program.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        code = _main(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has enough (| head). Keep the interpreter from complaining at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 0
    except OSError as error:
        at = f"{error.filename}: " if error.filename else ""
        code = _say(f"bowstring: {at}{error.strerror or error}", 1)
    except Exception:
        code = _say_unforeseen()
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
        return _say(f"bowstring: no command {words[0]!r}; {hint}", 2)
    return _run(words[0], words[1:])


def _run(command: str, arguments: list[str]) -> int:
    import typer

    from bowstring.cli.plain_help import with_plain_help
    from bowstring.errors import BowstringError

    usage_error: type[Exception] = typer.BadParameter.__mro__[1]  # typer does not export the base of it
    parsed = with_plain_help(typer.main.get_command(import_module(f"bowstring.cli.{command}").app))
    try:
        # Not parsed.main(): that has ideas of its own about broken pipes and interrupts.
        with parsed.make_context(f"bowstring {command}", arguments) as context:
            result = parsed.invoke(context)
        return result if isinstance(result, int) else 0
    except typer.Exit as ended:
        return ended.exit_code
    except BowstringError as error:
        return _say(str(error), error.exit_code)
    except usage_error as error:
        return _say(_usage_line(error, command), 2)
    except (KeyboardInterrupt, typer.Abort):
        return _say("stopped", 130)


def _usage_line(error: Exception, command: str) -> str:
    context = getattr(error, "ctx", None)
    name = context.command_path if context else f"bowstring {command}"
    message = str(getattr(error, "format_message", error.__str__)()).rstrip(".")
    return f"{name}: {' '.join(message.split())} (see {name} --help)"


def _say(line: str, code: int) -> int:
    from bowstring.cli.output import plain
    from bowstring.files.redaction import redact

    print(plain(redact(" ".join(line.splitlines()))), file=sys.stderr)
    return code


def _say_unforeseen() -> int:
    """An error that nobody meant: with its whole trace, for a report of it, and without keys."""
    import traceback

    from bowstring.files.redaction import redact

    print(redact(traceback.format_exc()), end="", file=sys.stderr)
    return 1
