"""Canonical JSON: one text for one value, so that its sha256 can be its name.

Keys are sorted, without whitespace, in UTF-8; bytes are base64, times ISO 8601; NaN and infinities are refused. Equal
values of a type have equal bytes, in every process and on every machine: a value is written in the form in which it is
read, so where a float is declared, 1 and 1.0 have the same text. Only 0.0 and -0.0 differ.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cached_property
from typing import Any, Generic, TypeGuard, TypeVar

import msgspec
from msgspec import inspect

from singletable.errors import Corrupt, InvalidValue
from singletable.values import declared_decoder, is_kept

T = TypeVar("T")

_encode = msgspec.json.Encoder(order="sorted").encode


def canonical(value: object) -> bytes:
    """The canonical JSON of a value. Raises InvalidValue if it has none."""
    try:
        data = _encode(value)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise InvalidValue(f"a {type(value).__name__} has no JSON: {_kind_of(error)}") from None
    except RecursionError:
        raise InvalidValue(f"a {type(value).__name__} is nested too deep, or holds itself") from None
    if b"null" in data and _holds_no_number(value):
        raise InvalidValue("NaN and infinity have no JSON")
    return data


def digest_of(data: bytes) -> bytes:
    """The 32 bytes that name a content."""
    return hashlib.sha256(data).digest()


class JsonCodec(Generic[T]):
    """Encodes values of one declared type as canonical JSON, and decodes them. Each value is decoded once when it is
    encoded, so that whatever is written can be read."""

    def __init__(self, kind: Any, where: str) -> None:
        self.kind, self.where = kind, where

    @cached_property
    def _decode(self) -> Any:
        return declared_decoder(self.kind, self.where).decode

    def encode(self, value: T) -> bytes:
        """Raises InvalidValue if the value is not of the type, or has no JSON."""
        data = canonical(value)
        try:
            read = self._read(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            said = "" if isinstance(error, RecursionError) else _path_of(error)
            raise InvalidValue(f"the value is not of its declared type{said}", attribute=self.where) from None
        if not is_kept(value, read):
            raise InvalidValue(
                "the value would be read as another one, by its declared type",
                attribute=self.where,
                hint="Declare the type that it has: JSON has no tuple, set, bytes, Decimal or time without one.",
            )
        return canonical(read)

    def decode(self, data: bytes) -> T:
        """Raises Corrupt if the JSON is not of the type."""
        try:
            value: T = self._read(data)
        except (msgspec.DecodeError, RecursionError, UnicodeDecodeError) as error:
            raise Corrupt(
                f"a stored value is not of its declared type{_path_of(error)}",
                attribute=self.where,
                hint="Give new fields of the type a default, and keep the ones that stored values have.",
            ) from None
        return value

    def _read(self, data: bytes) -> Any:
        value = self._decode(data)
        if self._may_lack_fields:
            _complete(value)
        return value

    @cached_property
    def _may_lack_fields(self) -> bool:
        """msgspec sets no attribute of a dataclass for a field that the JSON leaves to its default."""
        return any(
            isinstance(each, inspect.DataclassType) and not all(field.required for field in each.fields)
            for each in types_in(inspect.type_info(self.kind), set())
        )


def types_in(info: Any, seen: set[int]) -> Iterator[Any]:
    """A type as msgspec describes it, with all types inside it."""
    if is_array(info):
        for each in info:
            yield from types_in(each, seen)
    elif isinstance(info, (inspect.Type, inspect.Field)) and id(info) not in seen:
        seen.add(id(info))
        yield info
        for name in info.__struct_fields__:
            yield from types_in(getattr(info, name), seen)


def _complete(value: Any) -> None:
    """Set the defaults that are only on the class, on every dataclass instance in a value."""
    parts: Iterable[Any] = ()
    if is_object(value):
        parts = value.values()
    elif is_array(value):
        parts = value
    elif is_dataclass(value):
        names = [field.name for field in fields(value)]
        own: dict[str, Any] | None = getattr(value, "__dict__", None)
        if own is not None:  # a class with slots has no defaults on itself, and msgspec sets them all
            own |= {name: getattr(value, name) for name in names if name not in own}
        parts = [getattr(value, name) for name in names]
    for part in parts:
        _complete(part)


def _holds_no_number(value: object) -> bool:
    """Whether the value contains a float without JSON, which msgspec would write as null."""
    return _any_not_finite(msgspec.to_builtins(value))


def _any_not_finite(value: Any) -> bool:
    if isinstance(value, float):
        return value != value or value in (float("inf"), float("-inf"))
    if is_object(value):
        return any(map(_any_not_finite, value.values()))
    return is_array(value) and any(map(_any_not_finite, value))


def is_object(value: object) -> TypeGuard[Mapping[str, Any]]:
    """Whether a decoded JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, (list, tuple))


def _kind_of(error: Exception) -> str:
    """The library's own text, because msgspec's quotes the value."""
    if isinstance(error, UnicodeEncodeError):
        return "a text holds a lone surrogate"
    return "it holds a number that is too large" if isinstance(error, OverflowError) else "a type that JSON can't say"


def _path_of(error: Exception) -> str:
    """The path in the value, as in msgspec's message: `$.points[0]`. The rest of that message may quote the value."""
    _, found, path = str(error).partition(" - at `")
    return f", at {path.partition('`')[0]}" if found else ""
