"""Settings of a model's thoughts: arguments of its chat template, and a budget of tokens apart from the answer's.

>>> ThinkingSettings.parse('{"enable_thinking": false}', 512).configuration()
{'template_args': {'enable_thinking': False}, 'thinking_tokens': 512}
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bowstring.errors import UsageError, quote_value
from bowstring.files.safe_yaml import ParseError
from bowstring.files.strict_json import parse_strict_json
from bowstring.models.interface import Model
from bowstring.records import Sampling

# What a chat is rendered from and with; templates have other arguments.
_NOT_ARGUMENTS = ("messages", "conversation", "chat_template", "add_generation_prompt", "tokenize")
_FORM = """expected a JSON object, such as '{"enable_thinking": false}'"""


@dataclass(frozen=True, slots=True)
class ThinkingSettings:
    """`template_args` is canonical JSON. None means that nothing was given."""

    template_args: str | None = None
    thinking_tokens: int | None = None

    @classmethod
    def parse(cls, template_args: Any, thinking_tokens: int | None) -> ThinkingSettings:
        """Check and convert settings as a user gives them; template arguments are JSON, or a mapping."""
        return cls(_canonical(template_args), thinking_tokens)

    @classmethod
    def of_configuration(cls, configuration: Mapping[str, Any]) -> ThinkingSettings:
        """Return the settings of a run."""
        return cls.parse(configuration.get("template_args"), configuration.get("thinking_tokens"))

    def configuration(self) -> dict[str, Any]:
        """Return what the configuration of a run holds: only what was given."""
        args = {} if self.template_args is None else {"template_args": json.loads(self.template_args)}
        return args | ({} if self.thinking_tokens is None else {"thinking_tokens": self.thinking_tokens})

    def completed(self, sampling: Sampling) -> Sampling:
        if self == ThinkingSettings():
            return sampling
        return replace(sampling, template_args=self.template_args, thinking_tokens=self.thinking_tokens)

    def check(self, model: Model) -> None:
        """Raise a UsageError if the model cannot take these settings."""
        refused = getattr(model, "refused", {})
        for name in self.configuration():
            if name in refused:
                raise UsageError(f"--{name.replace('_', '-')}: {model.name} {refused[name]}")
        least = getattr(model, "least_thinking", 0)
        if 0 < (self.thinking_tokens or 0) < least:
            raise UsageError(f"--thinking-tokens {self.thinking_tokens}: {model.name} takes 0, or at least {least:,}")


def _canonical(given: Any) -> str | None:
    if given is None:
        return None
    try:
        value = parse_strict_json(given.encode()) if isinstance(given, str) else dict(given)
        text = json.dumps(value, sort_keys=True, allow_nan=False)
    except (ParseError, TypeError, ValueError) as error:
        raise UsageError(f"--template-args {quote_value(given)}: {_FORM}") from error
    if not isinstance(value, dict):
        raise UsageError(f"--template-args {quote_value(given)}: {_FORM}")
    if name := next((name for name in _NOT_ARGUMENTS if name in value), None):
        raise UsageError(f"--template-args: {name} is not an argument of a chat template")
    return text if value else None
