"""A large body in pieces: where the parts of a push lie in its bytes, found without reading what they hold.

A strict reader takes some microseconds for each value; 8 MB can hold millions of them, most of which nobody wants: of a
push with more mutations than are taken, or with fields that nobody knows. So the bytes are divided first, by a parser
that only looks for ends, and the strict one reads the pieces that are wanted.
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
    """What every mutation has: nothing shorter is one, which bounds how many pieces there can be."""

    clientID: msgspec.Raw  # noqa: N815 as it is sent
    id: msgspec.Raw


_members = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_mutations = msgspec.json.Decoder(list[_Mutation]).decode
_elements = msgspec.json.Decoder(list[msgspec.Raw]).decode


def members(body: bytes) -> dict[str, bytes]:
    """The members of a JSON object, each as its bytes. InvalidRequest for no object, or a name twice."""
    outline = _outline(body)
    found: dict[str, bytes] = {}
    position = outline.find(b"{") + 1
    for name, raw in _divided(_members, outline).items():
        match = _NAME.match(outline, position)
        end = match.end() + len(memoryview(raw)) if match else 0
        if match is None or read_json(match[1]) != name or outline[match.end() : end] != bytes(memoryview(raw)):
            raise InvalidRequest("the body is an object that has a name twice", hint="Send what Replicache sends.")
        found[name] = body[match.end() : end]
        position = _after(outline, end)
    return found


def elements(body: bytes, most: int) -> list[bytes]:
    """The first mutations of a JSON list, each as its bytes. InvalidRequest where it is no list of mutations."""
    outline = _outline(body)
    _divided(_mutations, outline)
    return list(_spans(body, outline, _divided(_elements, outline)[:most]))


def values_in(text: bytes, most: int) -> int:
    """How many values a JSON text has at most, by its punctuation: that in texts counts only up to `most`."""
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
    """The same text, byte for byte as long, without what the dividing parser refuses and the strict one can name."""
    numbers = body.replace(b"NaN", b"1.0").replace(b"Infinity", b"1.000000")
    return _HALF_CHARACTER.sub(rb"\\u0041", numbers)


def _divided(decode: Any, outline: bytes) -> Any:
    try:
        return decode(outline)
    except RecursionError:
        raise InvalidRequest("the body is nested too deeply to be read", hint="Send flatter values.") from None
    except msgspec.ValidationError:
        raise InvalidRequest("the body is not what a client sends", hint="Send what Replicache sends.") from None
    except (msgspec.DecodeError, UnicodeError):
        raise InvalidRequest("the body is not JSON", hint="Send one JSON object.") from None
