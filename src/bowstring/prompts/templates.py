"""Prompt templates and how placeholders are filled.

    >>> Template("x", None, "Rules first. Then {question}").user_parts(question="Why?")
    ('Rules first. Then ', 'Why?')

A placeholder is a name in braces; doubled braces stand for single ones, as in CUPID's published files. What is
filled in is data: braces in it have no meaning.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from bowstring.errors import DataError
from bowstring.files.safe_yaml import ParseError, parse_safe_yaml
from bowstring.files.strict_json import parse_strict_json

MANIFEST = "imported.json"  # in the part of a benchmark: hashes of the files that were imported
_TOKEN = re.compile(r"\{\{|\}\}|\{([A-Za-z_]\w*)\}")


def text_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Template:
    name: str
    system: str | None
    user: str | None
    is_override: bool = False  # from the user's folder
    assistant: str | None = None  # a prefilled assistant message, sent unchanged

    @property
    def placeholders(self) -> set[str]:
        texts = (self.system or "") + (self.user or "")
        return {match[1] for match in _TOKEN.finditer(texts) if match[1]}

    @property
    def _marks(self) -> bool:
        return not self.is_override and "<<<" in (self.user or "") + (self.system or "")

    def given(self, **words: str) -> Template:
        """Return the template with these placeholders replaced: what is constant is not filled in again each time."""

        def replaced(text: str | None) -> str | None:
            return None if text is None else _TOKEN.sub(replacement, text)

        def replacement(match: re.Match[str]) -> str:
            literal = words.get(match[1]) if match[1] else None
            return match[0] if literal is None else literal.replace("{", "{{").replace("}", "}}")

        return replace(self, system=replaced(self.system), user=replaced(self.user))

    def system_text(self, **values: str) -> str:
        return "".join(self._fill(self.system, values))

    def user_parts(self, **values: str) -> tuple[str, str]:
        """Return the user prompt in two parts: the constant beginning up to the first placeholder, and the rest."""
        return self._fill(self.user, values)

    def user_pieces(self, **values: str) -> tuple[str, ...]:
        """Return the user prompt split at its placeholders, so that prompts can share their first pieces."""
        text, pieces, at = self._text(self.user), [], 0
        for match in _TOKEN.finditer(text):
            if match[1]:
                pieces += [text[at : match.start()], match[0]]
                at = match.end()
        return tuple(filled for piece in (*pieces, text[at:]) if (filled := self._replace(piece, values)))

    def _text(self, text: str | None) -> str:
        if text is None:
            raise DataError(f"prompt {self.name} lacks the requested part")
        return text

    def _fill(self, text: str | None, values: dict[str, str]) -> tuple[str, str]:
        text = self._text(text)
        first = next((m.start() for m in _TOKEN.finditer(text) if m[1]), len(text))
        return self._replace(text[:first], values), self._replace(text[first:], values)

    def _replace(self, text: str, values: dict[str, str]) -> str:
        def replacement(match: re.Match[str]) -> str:
            if match[1] is None:
                return match[0][0]
            if match[1] not in values:
                raise DataError(f"prompt {self.name} has an unknown placeholder {{{match[1]}}}")
            # Quoted material stands between our markers and must not be able to close them.
            return values[match[1]].replace("<<<", "‹‹‹").replace(">>>", "›››") if self._marks else values[match[1]]

        return _TOKEN.sub(replacement, text)


class PromptFolder:
    """The bundled templates, overridden by those of a user's folder."""

    def __init__(self, owner: str, builtin: Traversable, override: Path | None = None) -> None:
        """`builtin` holds the templates of `owner`: their names begin with it."""
        if override is not None and not override.is_dir():
            raise DataError(f"{override}: no such prompts folder")
        self._owner, self._builtin = owner, builtin
        self._override = override
        self._used: dict[str, str] = {}

    def get(
        self,
        name: str,
        *,
        needs: frozenset[str] = frozenset(),
        may: frozenset[str] = frozenset(),
        plain_system: bool = False,
    ) -> Template:
        """Return the template `name`, such as hicupid/ask; raise an error if a placeholder in `needs` is missing.

        Placeholders other than those it `needs` or `may` have are an error too. With `plain_system` the system prompt
        is sent unchanged, so it has no placeholders.
        """
        text, own = self._read(name)
        try:
            raw: Any = parse_safe_yaml(text)
        except ParseError as error:
            raise DataError(f"prompt {name}: not YAML: {error}") from error
        if not isinstance(raw, dict) or not (raw.keys() & {"system_prompt", "user_prompt"}):
            raise DataError(f"prompt {name}: expected system_prompt or user_prompt")
        texts = [raw.get(key) for key in ("system_prompt", "user_prompt", "assistant_prompt")]
        if not all(isinstance(text, str | None) for text in texts):
            raise DataError(f"prompt {name}: expected its parts to be text")
        system, user, assistant = texts
        template = Template(name, system, user, own, assistant)
        places = replace(template, system=None).placeholders if plain_system else template.placeholders
        if missing := needs - places:
            raise DataError(f"prompt {name} has no placeholder {', '.join(f'{{{m}}}' for m in sorted(missing))}")
        unknown = places - needs - may
        if unknown and (needs or may):
            raise DataError(f"prompt {name} has an unknown placeholder {{{min(unknown)}}}")
        self._used[name] = text_hash(text)
        return template

    def has_override(self, name: str) -> bool:
        """Return whether the user's folder has this template."""
        return self._override is not None and (self._override / f"{name}.yaml").is_file()

    def data(self, name: str) -> Any:
        """Return a YAML file that is not a template, such as hicupid/examples."""
        text, _ = self._read(name)
        try:
            value = parse_safe_yaml(text)
        except ParseError as error:
            raise DataError(f"prompt {name}: not YAML: {error}") from error
        self._used[name] = text_hash(text)
        return value

    def changed_since_import(self) -> list[str] | None:
        """Return which of the user's templates used so far are not as `bowstring prompts import` wrote them; None if
        nothing says what it wrote."""
        if self._override is None:
            return None
        try:
            found = parse_strict_json((self._override / self._owner / MANIFEST).read_bytes())
        except (OSError, ParseError):
            return None
        files = found.get("files") if isinstance(found, dict) else None
        if not isinstance(files, dict):
            return None
        return sorted(name for name, own in self._used.items() if self.has_override(name) and files.get(name) != own)

    @property
    def fingerprints(self) -> dict[str, str]:
        """Return hashes of the templates used so far."""
        return dict(sorted(self._used.items()))

    def _read(self, name: str) -> tuple[str, bool]:
        if self._override is not None:
            path = self._override / f"{name}.yaml"
            if path.is_file():
                check_inside(path, self._override)
                try:
                    return path.read_text(encoding="utf-8"), True
                except (OSError, UnicodeDecodeError) as error:
                    raise DataError(f"{path}: cannot be read: {error}") from error
        found = self._builtin / f"{name.removeprefix(f'{self._owner}/')}.yaml"
        try:
            return found.read_text(encoding="utf-8"), False
        except FileNotFoundError:
            where = f"{self._override / name}.yaml or " if self._override is not None else ""
            raise DataError(f"{self._owner} has no prompt {name}: expected {where}{found}") from None


def check_inside(path: Path, folder: Path) -> None:
    """Raise an error if a link leads out of the folder: prompts are sent to servers, so other files on the disk must
    not leak."""
    if not path.resolve().is_relative_to(folder.resolve()):
        raise DataError(f"{path} is a link that leads out of {folder}; copy the file there instead")
