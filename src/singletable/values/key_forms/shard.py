"""`{id:shard(8)}`: a number made of the value, which spreads what would be one partition over several.

It is the CRC-32 of the value's text in UTF-8, modulo the count: CRC-32 as ISO 3309 and RFC 1952 (gzip) define it, which
the standard library of every language has, and SQL engines, so that other programs find an item too. The text that is
hashed depends on no key: a str as it is, an int as its digits, of other types the text that they have in keys.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, ClassVar
from uuid import UUID
from zlib import crc32

from singletable.errors import DeclarationError
from singletable.values.key_forms.form import KeyForm
from singletable.values.key_forms.raw import RawNumber
from singletable.values.key_types import KeyPlace, KeyType, RestText
from singletable.values.shapes import DIGIT, ShapeStep, Steps

LEAST, MOST = 2, 64
"""A partition takes 1,000 write units a second: 64 of them take more than a table may have without a raised quota."""
_FORMAT = re.compile(r"shard\(([1-9][0-9]*)\)")


class ShardNumber(int):
    """A shard by its number, in place of a value that is in it."""


class ShardText(KeyType, frozen=True):
    """A value as the number of its shard."""

    word: ClassVar[str] = "shard"
    is_prefix_free: ClassVar[bool] = True
    takes_ranges: ClassVar[bool] = False
    alike: ClassVar[str] = "two values of one shard"
    hashed: KeyType
    """How the value is written that is hashed."""
    count: int

    @property
    def shards(self) -> tuple[ShardNumber, ...]:
        return tuple(map(ShardNumber, range(self.count)))

    @property
    def _texts(self) -> tuple[str, ...]:
        """Numbers of one width: 00 to 15 of sixteen."""
        width = len(str(self.count - 1))
        return tuple(f"{number:0{width}}" for number in range(self.count))

    def paths(self, place: KeyPlace) -> Iterator[Steps]:
        yield (ShapeStep(DIGIT),) * len(self._texts[0])

    def writer(self, name: str, place: KeyPlace) -> Callable[[Any], str]:
        write, texts = self.hashed.writer(name, KeyPlace("#", True, place.is_identifier)), self._texts

        def write_shard(value: Any) -> str:
            if value.__class__ is ShardNumber:
                return texts[int(value)]
            return texts[crc32(write(value).encode()) % len(texts)]

        return write_shard

    def read(self, text: str) -> ShardNumber:
        if (number := int(text)) >= self.count:
            raise ValueError("there are fewer shards")
        return ShardNumber(number)

    @property
    def form(self) -> str:
        return f"{self.word} crc32 {self.count} {self.hashed.form}"

    def patterns(self) -> tuple[tuple[str, str], ...]:
        return (("", "?" * len(self._texts[0])),)


def _make(key_type: KeyType, format: str) -> KeyType | None:
    if not format.startswith("shard"):
        return None
    count = int(match[1]) if (match := _FORMAT.fullmatch(format)) else 0
    if not LEAST <= count <= MOST:
        raise DeclarationError(
            f"{format!r} is not a format of a key",
            hint=f"Write how many shards, {LEAST} to {MOST}, as in shard(8): each takes 1,000 write units a second, "
            "and a query of all is one request for each.",
        )
    plain: dict[type[Any], KeyType] = {str: RestText(str), int: RawNumber(int)}
    hashed = plain.get(key_type.type, key_type)
    return ShardText(key_type.type, hashed, count)


SHARD = KeyForm("shard(8)", (str, int, Decimal, datetime, date, time, timedelta, UUID), _make)
