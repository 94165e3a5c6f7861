"""A large body in pieces: the parts of a push in its bytes, found without parsing their values.

The strict parser takes some microseconds for each value. 8 MB can hold millions of values, most of them not needed: in
surplus mutations, or in unknown fields. So a fast parser first finds where the parts begin and end, and the strict
parser reads only the needed parts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from singletable.errors import InvalidRequest
from singletable.sync.strict_json import read_json

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
