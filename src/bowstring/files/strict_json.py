"""JSON from somebody else, or from a disk that may be at fault: values that can be written down again.

>>> read_json(b'{"n": NaN}')
Traceback (most recent call last):
bowstring.files.safe_yaml.NotPlain: holds NaN, which is no number

Python's own reader takes numbers that are none, and halves of characters that fit into no file.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from bowstring.files.safe_yaml import ParseError

_MAY_BE_HALF = re.compile(r"\\u[dD][89a-fA-F]|[\ud800-\udfff]")


def parse_strict_json(content: bytes | str) -> Any:
    """The value of a text; raises NotPlain, in one line."""
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        found = json.loads(text, parse_constant=_refuse)
        if _MAY_BE_HALF.search(text):
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except ParseError:
        raise
    except UnicodeEncodeError as error:
        raise ParseError("holds half a character") from error
    except UnicodeDecodeError as error:
        raise ParseError("is not UTF-8") from error
    except RecursionError as error:
        raise ParseError("is nested too deeply") from error
    except ValueError as error:
        raise ParseError(f"is not JSON: {' '.join(str(error).split())[:200]}") from error
    return found


def _refuse(constant: str) -> NoReturn:
    raise ParseError(f"holds {constant}, which is no number")
