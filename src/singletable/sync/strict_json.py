"""JSON from clients, parsed strictly: what a lenient parser would change or drop is reported.

A duplicate name, a number that no float can hold, half a surrogate pair: different parsers read them differently. Such
a value is replaced by a `Flaw`; the rest of the text is still read, so that one bad mutation of a push is rejected
alone.

The strict parser takes some microseconds for each value. 8 MB can hold millions of values, most of them not needed: in
surplus mutations, or in unknown fields. So of a large body a fast parser first finds where the parts begin and end
(`members`, `elements`), and the strict parser reads only the needed parts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeGuard

import msgspec

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
    """Read a number like JavaScript: beyond 2**53 it is a float, however it is written."""
    if len(text) > _MOST_DIGITS:
        return Flaw("a number with too many digits")
    number = int(text)
    return number if -_LARGEST_EXACT <= number <= _LARGEST_EXACT else _float(text)


_NAME = re.compile(rb'\s*("(?:[^"\\]|\\.)*")\s*:\s*', re.DOTALL)
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_SPACE = re.compile(rb"\s*")
_END = re.compile(rb"\s*[,}\]]")
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


class _Mutation(msgspec.Struct):
    """The fields of every mutation. Their least size bounds the number of pieces."""

    clientID: msgspec.Raw  # noqa: N815 the protocol's name
    id: msgspec.Raw


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_mutations = msgspec.json.Decoder(list[_Mutation]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def members(body: bytes) -> dict[str, bytes]:
    """The members of a JSON object, each as bytes. Raises InvalidRequest for another value, or a duplicate name."""
    outline = _outline(body)
    members_of: dict[str, bytes] = {}
    position = outline.find(b"{") + 1
    for name, raw in _divided(_members, outline).items():
        match = _NAME.match(outline, position)
        end = match.end() + len(memoryview(raw)) if match else 0
        if match is None or read_json(match[1]) != name or outline[match.end() : end] != bytes(memoryview(raw)):
            raise InvalidRequest("the body is an object with a duplicate name", hint="Send what Replicache sends.")
        members_of[name] = body[match.end() : end]
        position = _after(outline, end)
    return members_of


def elements(body: bytes, most: int) -> list[bytes]:
    """The first `most` mutations of a JSON list, each as bytes. Raises InvalidRequest for another value."""
    outline = _outline(body)
    _divided(_mutations, outline)
    return list(_spans(body, outline, _divided(_elements, outline)[:most]))


def values_in(text: bytes, most: int) -> int:
    """An upper bound of the number of values in a JSON text, by its punctuation; above `most` without that in
    strings."""
    found = _punctuation(text)
    return found if found <= most else _punctuation(_TEXT.sub(b'""', text))


def _punctuation(text: bytes) -> int:
    return 1 + text.count(b",") + text.count(b"[") + text.count(b"{")


def _spans(body: bytes, outline: bytes, parts: list[msgspec.Raw]) -> Iterator[bytes]:
    position = outline.find(b"[") + 1
    for raw in parts:
        space = _SPACE.match(outline, position)
        start = space.end() if space else position
        end = start + len(memoryview(raw))
        yield body[start:end]
        position = _after(outline, end)


def _after(outline: bytes, end: int) -> int:
    found = _END.match(outline, end)
    return found.end() if found else end


def _outline(body: bytes) -> bytes:
    """The text with the same length, without what only the strict parser can report and the fast one refuses."""
    numbers = body.replace(b"NaN", b"1.0").replace(b"Infinity", b"1.000000")
    return _HALF_CHARACTER.sub(rb"\\u0041", numbers)


def _divided(decode: Any, outline: bytes) -> Any:
    try:
        return decode(outline)
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply to be read", hint="Send flatter values.") from None
    except msgspec.ValidationError:
        raise InvalidRequest("the body is not a push of Replicache", hint="Send what Replicache sends.") from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidRequest("the body is not JSON", hint="Send one JSON object.") from None
