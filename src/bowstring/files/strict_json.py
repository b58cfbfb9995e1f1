"""Strict JSON parsing for untrusted files and for files that may be damaged.

>>> parse_strict_json(b'{"n": NaN}')
Traceback (most recent call last):
bowstring.files.safe_yaml.ParseError: contains NaN, which is not a number

Python's own parser accepts NaN and Infinity, and lone surrogates that cannot be written to a UTF-8 file.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from bowstring.files.redaction import error_line
from bowstring.files.safe_yaml import ParseError

_MAY_HOLD_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def parse_strict_json(content: bytes | str) -> Any:
    """Parse JSON; raise ParseError with a one-line reason."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        found = json.loads(text, parse_constant=_refuse)
        if _MAY_HOLD_SURROGATE.search(text):
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except ParseError:
        raise
    except UnicodeEncodeError as error:
        raise ParseError("contains half of a surrogate pair") from error
    except UnicodeDecodeError as error:
        raise ParseError("is not UTF-8") from error
    except RecursionError as error:
        raise ParseError("is nested too deeply") from error
    except ValueError as error:
        raise ParseError(f"is not JSON: {error_line(error)}") from error
    return found


def _refuse(constant: str) -> NoReturn:
    raise ParseError(f"contains {constant}, which is not a number")
