"""JSON from clients, parsed strictly: what a lenient parser would change or drop is reported.

A duplicate name, a number that no float can hold, half a surrogate pair: different parsers read them differently. Such
a value is replaced by a `Flaw`; the rest of the text is still read, so that one bad mutation of a push is rejected
alone.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, TypeGuard

from singletable.errors import InvalidRequest

_MOST_DIGITS = 400
"""More digits than any float has; Python is slow with thousands of digits, and then refuses them."""
_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Flaw:
    """Replaces a value that is not accepted. It says why, without the value."""

    what: str


def read_json(body: bytes) -> Any:
    """The value of a JSON text, with a `Flaw` for each value that is not accepted. InvalidRequest for invalid JSON."""
    try:
        return json.loads(
            body.decode(), object_pairs_hook=_object, parse_constant=_constant, parse_float=_float, parse_int=_integer
        )
    except UnicodeDecodeError:
        raise InvalidRequest("the body is not UTF-8 text", hint="Send JSON in UTF-8.") from None
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply to be read", hint="Send flatter values.") from None
    except ValueError:
        raise InvalidRequest("the body is not JSON", hint="Send one JSON object.") from None


def flaw_in(value: Any, depth: int) -> str:
    """The first flaw in a parsed value, '' for a sound one. `depth` is the deepest allowed nesting.

    Walks without recursion, as the value may be as deep as the parser could go.
    """
    level = [value]
    for _ in range(depth + 1):
        flaw = next((wrong for each in level if (wrong := _wrong_with(each))), "")
        containers = [each for each in level if is_object(each) or is_list(each)]
        if flaw or not containers:
            return flaw
        level = [inner for each in containers for inner in _inside(each)]
    return f"nested over {depth} levels"


def _wrong_with(value: Any) -> str:
    if isinstance(value, Flaw):
        return value.what
    if isinstance(value, str):
        return _wrong_with_text(value)
    if is_object(value):
        return next((wrong for name in value if (wrong := _wrong_with_text(name))), "")
    return ""


def _wrong_with_text(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        return "half a surrogate pair in a text"
    return ""


def _inside(container: Any) -> list[Any]:
    return list(container.values()) if is_object(container) else container


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any] | Flaw:
    made = dict(pairs)
    return made if len(made) == len(pairs) else Flaw("an object with a duplicate name")


def _constant(_: str) -> Flaw:
    return Flaw("NaN or Infinity, which JSON doesn't have")


def _float(text: str) -> float | Flaw:
    number = float(text)
    return number if math.isfinite(number) else Flaw("a number that is too large for a float")


def _integer(text: str) -> int | float | Flaw:
    """As in JavaScript: beyond 2**53 it is a float, however it is written."""
    if len(text) > _MOST_DIGITS:
        return Flaw("a number with too many digits")
    number = int(text)
    return number if -_LARGEST_EXACT <= number <= _LARGEST_EXACT else _float(text)
