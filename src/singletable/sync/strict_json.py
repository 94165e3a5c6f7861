"""JSON from outside, read strictly: what a lenient reader would bend or drop is found.

A name given twice, a number that no float holds, half a surrogate pair: each would be one thing to us and another to
whoever reads it next. They don't spoil the text around them: a `Flaw` stands in their place, so that one bad mutation
of a push can be refused by itself.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any, TypeGuard

from singletable.errors import InvalidRequest

_MOST_DIGITS = 400
"""More than any float has; Python itself refuses thousands, and takes its time for them."""
_LARGEST_EXACT = 2**53


@dataclass(frozen=True, slots=True)
class Flaw:
    """Stands where the text held what is not taken; says what, without its value."""

    what: str


def read_json(body: bytes) -> Any:
    """The value of a JSON text, with `Flaw`s in it where something is not taken; InvalidRequest for no JSON at all."""
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
    """What is wrong somewhere in a value that was read, '' for a sound one; `depth` is how far lists and objects nest.

    Walks without recursion, since the value may be as deep as the reader could go.
    """
    level = [value]
    for _ in range(depth + 1):
        found = next((wrong for each in level if (wrong := _wrong_with(each))), "")
        containers = [each for each in level if is_object(each) or is_list(each)]
        if found or not containers:
            return found
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
    return made if len(made) == len(pairs) else Flaw("an object that has a name twice")


def _constant(_: str) -> Flaw:
    return Flaw("a number that is none")


def _float(text: str) -> float | Flaw:
    number = float(text)
    return number if math.isfinite(number) else Flaw("a number beyond all floats")


def _integer(text: str) -> int | float | Flaw:
    """As JavaScript has it: beyond 2**53 it is a float, however it is written."""
    if len(text) > _MOST_DIGITS:
        return Flaw("a number of too many digits")
    number = int(text)
    return number if -_LARGEST_EXACT <= number <= _LARGEST_EXACT else _float(text)
