"""Versions of the contents of a collection whose type has changed. Older contents are upcast on read.

    shapes: Items[Shape] = collection(version=2)

    @Project.shapes.upcast(1)
    def with_colour(stored): return {**stored, "colour": "black"}

A content of version 1 is plain JSON, as in a collection without versions. A content of a later version is in an
envelope, `{"$":<the content>,"$v":2}`, so that a program that doesn't know the version can detect it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import msgspec

from singletable.documents.canonical_json import JsonCodec, canonical
from singletable.errors import Corrupt, DeclarationError, InvalidValue, Newer

T = TypeVar("T")
Upcaster = Callable[[Any], Any]
"""Turns the JSON of a content of one version into that of the next."""

_BEGINS = b'{"$":'
_ENVELOPE = re.compile(rb',"\$v":([1-9][0-9]{0,8})\}\Z')


class ContentCodec(Generic[T]):
    """Encodes the values of one collection as the bytes of blobs, and decodes them."""

    def __init__(self, json: JsonCodec[T], version: int, upcasters: dict[int, Upcaster]) -> None:
        self._json, self._version, self._upcasters = json, version, upcasters

    def encode(self, value: T) -> bytes:
        """Raises InvalidValue if the value is not of the type, or has no JSON."""
        data = self._json.encode(value)
        if self._version > 1:
            return b'%s%s,"$v":%d}' % (_BEGINS, data, self._version)
        if _opened(data)[0] != 1:
            raise InvalidValue(
                "an object of '$' and '$v' alone is the envelope of a content",
                attribute=self._json.where,
                hint="Name the two otherwise.",
            )
        return data

    def decode(self, data: bytes) -> T:
        """Raises Corrupt if the content is not of the type, has an unknown version, or can't be upcast."""
        return self._json.decode(self.json_of(data))

    def decode_json(self, data: bytes) -> T:
        """A value from JSON of the current version. Raises Corrupt if it is not of the type."""
        return self._json.decode(data)

    def json_of(self, data: bytes) -> bytes:
        """The JSON of a content, in the current version."""
        version, inner = _opened(data)
        if version == self._version:
            return inner
        if version > self._version:
            raise Newer(
                f"a content has version {version}, this program knows {self._version}",
                attribute=self._json.where,
                hint="Deploy the program that knows it.",
            )
        return canonical(self._json.decode(canonical(self._upcast(msgspec.json.decode(inner), version))))

    def _upcast(self, stored: Any, version: int) -> Any:
        for step in range(version, self._version):
            upcaster = self._upcasters.get(step)
            if upcaster is None:
                raise Corrupt(
                    f"a content has version {step}, and nothing turns it into {step + 1}",
                    attribute=self._json.where,
                    hint=f"Write one: @{self._json.where}.upcast({step}).",
                )
            stored = upcaster(stored)
        return stored


def register(where: str, version: int, upcasters: dict[int, Upcaster], step: int) -> Callable[[Upcaster], Upcaster]:
    """The decorator of the upcaster from one version to the next. Raises DeclarationError for a wrong version."""

    def enter(upcaster: Upcaster) -> Upcaster:
        if not 1 <= step < version or step in upcasters:
            raise DeclarationError(
                f"{where}.upcast({step}): the collection is of version {version}",
                hint="One upcaster for each version before it: collection(version=2).",
            )
        upcasters[step] = upcaster
        return upcaster

    return enter


def _opened(data: bytes) -> tuple[int, bytes]:
    """The version of a content and its JSON."""
    envelope = _ENVELOPE.search(data, max(0, len(data) - 20)) if data.startswith(_BEGINS) else None
    if envelope is None or not _is_json(inner := data[len(_BEGINS) : envelope.start()]):
        return 1, data
    return int(envelope[1]), inner


def _is_json(data: bytes) -> bool:
    """Whether the text in an envelope is one JSON value. The pattern also matches objects with more attributes."""
    try:
        msgspec.json.decode(data, type=msgspec.Raw)
    except (msgspec.DecodeError, RecursionError):
        return False
    return True
