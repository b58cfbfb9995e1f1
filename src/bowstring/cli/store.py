"""bowstring store: what is in a store of responses, and what to keep of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from bowstring.cli.options import add_command
from bowstring.runs.stored import Chosen
from bowstring.settings import Option, options_of

app = typer.Typer(
    help="List, show, remove, ask again, merge and verify stored responses. Days are in UTC.",
    add_completion=False,
    rich_markup_mode=None,
)
_STORE = Option(
    "store",
    "--store",
    Path,
    default=Path("runs/responses.sqlite"),
    help="The store.",
    shown_default="runs/responses.sqlite",
)
_JSON = Option("json", "--json", bool, default=False, help="Print JSON.", shown_default="")
_DRY_RUN = Option("dry_run", "--dry-run", bool, default=False, help="Only say what would be done.", shown_default="")
_CHOSEN = options_of(Chosen)
_KIND_LINE = "{responses:>9,}  {empty:>6,}  {first} – {last}  {role:<8}  {model}"


def _sorted(given: dict[str, Any]) -> tuple[Path, Chosen, dict[str, Any]]:
    fields = {one.field for one in _CHOSEN}
    chosen = Chosen(**{name: value for name, value in given.items() if name in fields})
    rest = {name: value for name, value in given.items() if name not in fields}
    return rest.pop("store", _STORE.default), chosen, rest


def _list(given: dict[str, Any]) -> int:
    from bowstring.cli.output import counted, plain, print_json
    from bowstring.runs.stored import kinds, select

    store, chosen, more = _sorted(given)
    if more.get("json"):
        print_json(
            [row.as_json() for row in select(store, chosen)]
            if more.get("each")
            else list(map(asdict, kinds(store, chosen)))
        )
        return 0
    if more.get("each"):
        for row in select(store, chosen):
            print(plain(f"{row.key[:16]}  {row.when}  {row.role:<8}  {row.raw_finish or row.finish:<8}  {row.model}"))
        return 0
    found = kinds(store, chosen)
    print("responses   empty  stored                   role      model")
    for kind in found:
        print(plain(_KIND_LINE.format(**asdict(kind))))
        ends = ", ".join(f"{n:,} {finish}" for finish, n in sorted(kind.finishes.items()))
        print(plain(" " * 20 + ends + (f"; from {kind.address}" if kind.address else "")))
    print(counted(sum(kind.responses for kind in found), "response"))
    return 0


def _drop(given: dict[str, Any]) -> int:
    from bowstring.cli.output import counted
    from bowstring.errors import UsageError
    from bowstring.runs.stored import drop, select

    store, chosen, more = _sorted(given)
    if chosen.is_all:
        raise UsageError("bowstring store drop: say which responses, such as --model NAME or --empty")
    if more.get("dry_run"):
        print(f"{counted(len(select(store, chosen)), 'response')} would be removed; nothing was changed")
        return 0
    print(f"{drop(store, chosen):,} responses were removed; a run that needs them asks again")
    return 0


def _reask(given: dict[str, Any]) -> int:
    from bowstring.api.reask import reask
    from bowstring.cli.output import counted, tell
    from bowstring.errors import UsageError

    store, chosen, more = _sorted(given)
    if chosen.is_all:
        raise UsageError("bowstring store reask: say which responses, such as --model NAME or --empty")
    done = reask(store, chosen, tell=tell, **more)
    if more.get("dry_run"):
        cost = "unknown" if done.cost is None else f"about ${done.cost:,.4f}"
        print(f"{counted(done.chosen, 'request')} would be sent again; cost: {cost}")
        return _tell_without_prompt(done.without_prompt)
    print(f"{done.replaced:,} of {done.chosen:,} responses were replaced")
    if done.failed:
        tell(f"{done.failed:,} requests failed, and their old responses were kept: {done.reason}")
    if done.stopped:
        tell(f"Stopped ({done.stopped}). Run the same command again for the rest.")
    return max(1 if done.failed or done.stopped else 0, _tell_without_prompt(done.without_prompt))


def _tell_without_prompt(keys: Sequence[str]) -> int:
    """Name the responses that cannot be asked again; return the exit code."""
    from bowstring.cli.output import counted, tell

    if not keys:
        return 0
    named = ", ".join(key[:16] for key in keys[:20]) + (f" and {len(keys) - 20:,} more" if len(keys) > 20 else "")
    way_out = "to remove one: bowstring store drop --key KEY"
    tell(f"{counted(len(keys), 'response')} without an intact prompt cannot be asked again: {named}; {way_out}")
    return 1


add_command(
    app,
    "list",
    _list,
    (
        *_CHOSEN,
        Option("each", "--each", bool, default=False, help="One line per response.", shown_default=""),
        _STORE,
        _JSON,
    ),
    help="Count the responses by model, address and role.",
)
add_command(app, "drop", _drop, (*_CHOSEN, _STORE, _DRY_RUN), help="Remove responses, so that a run asks again.")


def _reask_options() -> tuple[Option, ...]:
    from bowstring.api.reask import ReaskSettings

    return (*_CHOSEN, *options_of(ReaskSettings), _STORE, _DRY_RUN)


add_command(app, "reask", _reask, _reask_options(), help="Send requests again and replace their responses.")


@app.command("show")
def _show(
    key: Annotated[str, typer.Argument(metavar="KEY", help="Key of a response, or its beginning.", show_default=False)],
    store: Annotated[Path, typer.Option(metavar="PATH", help="The store.")] = Path("runs/responses.sqlite"),
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show a response with its prompt and where it came from; `sources` in records.jsonl has the keys."""
    from bowstring.cli.output import plain, print_json
    from bowstring.runs.stored import show

    row, messages = show(store, key)
    if json:
        print_json(row.as_json() | {"messages": [{"role": m.role, "content": m.text} for m in messages]})
        return
    for message in messages:
        print(plain(f"[{message.role}] {message.text}\n"))
    if row.reasoning:
        print(plain(f"[thoughts] {row.reasoning}\n"))
    print(plain(f"[answer] {row.text}\n"))
    for name, value in row.about().items():
        print(plain(f"{name}: {value}"))


@app.command("merge")
def _merge(
    stores: Annotated[
        list[Path], typer.Argument(metavar="STORE...", help="Stores whose responses are added.", show_default=False)
    ],
    store: Annotated[Path, typer.Option(metavar="PATH", help="The store that they are added to.")] = Path(
        "runs/responses.sqlite"
    ),
) -> None:
    """Add the responses of other stores to one; where two differ, the one that is there stays."""
    from bowstring.cli.output import counted, plain
    from bowstring.runs.merging import merge

    merged = merge(store, stores)
    print(f"{merged.added:,} responses were added to {plain(str(store))}")
    if n := merged.without_prompt:
        why = "its prompt is" if n == 1 else "their prompts are"
        print(f"! {counted(n, 'response')} {'was' if n == 1 else 'were'} not taken: {why} missing or damaged")
    for conflict in merged.conflicts[:20]:
        print(plain(f"! {conflict.key[:16]} of {conflict.model} is different in {conflict.store}; it was not taken"))
    if len(merged.conflicts) > 20:
        print(f"! and {len(merged.conflicts) - 20:,} more")


@app.command("verify")
def _verify(
    store: Annotated[Path, typer.Option(metavar="PATH", help="The store.")] = Path("runs/responses.sqlite"),
) -> int:
    """Check the file, the checksum of every response, and that every prompt is there."""
    from bowstring.cli.output import plain
    from bowstring.runs.stored import verify

    n, problems = verify(store)
    print(f"{n:,} responses are intact" if not problems else f"{n:,} responses; {len(problems):,} problems:")
    for problem in problems[:20]:
        print(plain(problem))
    return 1 if problems else 0
