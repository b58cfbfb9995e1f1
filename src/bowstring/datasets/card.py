"""Dataset cards for the hub: a YAML header, and what a reader should know before using the set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from bowstring.datasets.describe import Description
from bowstring.datasets.personal import Finding
from bowstring.errors import UsageError


@dataclass(frozen=True, slots=True)
class Origin:
    """Who made a data set, how, and its licence; for a published set also what it contains and what it is for."""

    license: str
    made: str
    name: str = ""  # on the hub
    items: Mapping[str, int] = field(default_factory=dict)  # published items by split; empty if they are not known
    not_the_benchmark: str = ""  # if published scores are of another set: what this one "is …" or "has …"


_SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))


def origin_of(name: str, known_origins: Mapping[str, Origin], *, license: str | None, made: str | None) -> Origin:
    """Return the known origin of a set, overridden by the caller's values; raise an error if it is unknown."""
    known = known_origins.get(name.lower())
    if known is None and (license is None or made is None):
        raise UsageError(f"the origin of {name} is unknown: give --license and --made")
    return Origin(license or known.license, made or known.made) if known else Origin(license or "", made or "")


def write_card(
    found: Description,
    origin: Origin,
    findings: Sequence[Finding] | None,
    *,
    title: str,
    benchmark: str,
    default: str = "",
) -> str:
    """Return the card as Markdown. `findings` come from the search for personal data, None if there was no search;
    `benchmark` is the benchmark's display name, and `default` is the hub's default config."""
    about = found.about
    counts = found.card_counts or found.counts
    title = " ".join(title.split())  # a line such as --- would end the header
    header = yaml.safe_dump(_header(found, origin, title, default), sort_keys=False, allow_unicode=True)
    sections = [
        f"# {title}",
        found.summary,
        "## What is in it\n\n" + _table(counts.columns, counts.rows),
        "## Lengths\n\n" + _lengths(about),
        "## How it was made\n\n" + origin.made,
        "## Balance\n\n" + _balance(about),
        "## Known risks\n\n" + _risks(found.attributes, origin, findings),
        "## Using it\n\n" + _using(benchmark),
    ]
    return f"---\n{header}---\n\n" + "\n\n".join(sections) + "\n"


def _header(found: Description, origin: Origin, title: str, default: str) -> dict[str, Any]:
    size = next((name for limit, name in _SIZES if found.items < limit), "n>1M")
    header: dict[str, Any] = {
        "pretty_name": title,
        "license": origin.license,
        "language": ["en"],
        "task_categories": ["question-answering", "text-generation"],
        "size_categories": [size],
        "tags": ["personalization", found.about["benchmark"], "synthetic"],
    }
    header["configs"] = [
        {
            "config_name": "default" if config == default else config,
            "data_files": [{"split": split, "path": _path(files)} for split, files in splits.items()],
        }
        for config, splits in found.about["parts"].items()
    ]
    return header


def _path(files: Sequence[str]) -> str | list[str]:
    """Return one file by its name, instance files by their folder, shards one by one."""
    if len(files) == 1:
        return files[0]
    folders = {f.rpartition("/")[0] for f in files}
    if len(folders) == 1 and all(f.endswith(".json") for f in files):
        return "/".join(filter(None, [*folders, "*.json"]))
    return list(files)


def _lengths(about: Mapping[str, Any]) -> str:
    rows = [[name, f"{s['mean']:,.1f}", f"{s['sd']:,.1f}", f"{s['max']:,.0f}"] for name, s in about["lengths"].items()]
    table = _table(["", "mean", "sd", "max"], rows)
    return f"{table}\n\nTokens by the vocabulary of {about['tokenizer']}." if about["tokenizer"] else table


def _balance(about: Mapping[str, Any], most: int = 8) -> str:
    lines = []
    for axis, counts in about["balance"].items():
        total = sum(counts.values())
        if not total:
            continue
        shown = ", ".join(f"{_cell(k)} {n / total:.0%}" for k, n in list(counts.items())[:most])
        more = f", and {len(counts) - most} more" if len(counts) > most else ""
        lines.append(f"- {axis.replace('_', ' ')}: {shown}{more}")
    return "\n".join(lines)


def _risks(who: str, origin: Origin, findings: Sequence[Finding] | None) -> str:
    kinds: dict[str, int] = {}
    for finding in findings or ():
        kinds[finding.kind] = kinds.get(finding.kind, 0) + 1
    if findings is None:
        personal = "not searched for; bowstring data validate FOLDER --pii does that."
    elif kinds:
        listed = ", ".join(f"{n} × {kind}" for kind, n in kinds.items())
        personal = f"a pattern search found text that looks like real personal information: {listed}. Review it."
    else:
        personal = "a pattern search for addresses, phone, card and identity numbers found none."
    return "\n".join(
        [
            f"- Bias: the people in it are invented and may carry stereotypes of their authors, for example by {who}. "
            "The balance above shows what is over-represented; scores on it say nothing about groups "
            "that are missing.",
            f"- Personal information: {personal}",
            "- Contamination: once public, its text may be in a model's training data. Compare with a run that "
            "shows no history.",
            "- Language: English only.",
            f"- Licence: {origin.license}. It covers this set, not the terms of the models that wrote or read it.",
        ]
    )


def _using(benchmark: str) -> str:
    return (
        f"The files have the layout of the published {benchmark}. With "
        f"[Bowstring](https://pypi.org/project/bowstring/):\n\n"
        f"    bowstring data validate FOLDER-OR-HUB-ID\n    bowstring data info FOLDER-OR-HUB-ID"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(map(_cell, row)) + " |" for row in rows])


def _cell(text: str) -> str:
    """Escape data inside Markdown: one line, unable to break out of its cell or to become HTML."""
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")
