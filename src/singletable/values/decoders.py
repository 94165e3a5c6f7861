"""Making msgspec's decoders and schemas, one at a time.

msgspec caches a struct's description on the class, and other threads see it before it is complete: two threads that
make decoders of one new struct concurrently can crash the process (msgspec 0.22). Finished decoders are safe.
"""

from __future__ import annotations

import threading  # noqa: TID251
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, cast

import msgspec

from singletable.errors import DeclarationError

_one_at_a_time = threading.Lock()


def json_decoder(kind: Any, *, strict: bool = True) -> msgspec.json.Decoder[Any]:
    """A decoder of JSON texts of a type."""
    with _one_at_a_time:
        return msgspec.json.Decoder(kind, strict=strict)


def declared_decoder(kind: Any, where: str) -> msgspec.json.Decoder[Any]:
    """A decoder for a type that an application declares. DeclarationError for one that JSON alone doesn't give back."""
    with _has_json(where):
        return json_decoder(kind)


@contextmanager
def _has_json(where: str) -> Generator[None, None, None]:
    try:
        yield
    except (TypeError, NameError) as error:
        raise DeclarationError(
            f"{where}: its type can't be derived from its JSON: {error}",
            hint="Use a dataclass, str, int, float, bool, bytes, list, dict, or a union with at most one object among "
            "its members.",
        ) from None


def json_form(kind: Any, where: str) -> Any:
    """All that decides which JSON is stored of a type, and what is read: its JSON Schema, without words for people, and
    its moments, by the name of the part. DeclarationError for a type that has none."""
    with _has_json(where), _one_at_a_time:
        schema = msgspec.json.schema(kind)
        moments = _moments_by_name(kind)
    parts = dict(schema.get("$defs", {}))
    name = schema.get("$ref", "").removeprefix("#/$defs/")
    whole = {**parts.pop(name), "$defs": parts} if name else schema
    if f'#/$defs/{name}"' in msgspec.json.encode(whole).decode():  # it holds values of its own type
        whole = schema
    return {**_facts(whole), "moments": moments}


def _moments_by_name(kind: Any) -> dict[str, list[str]]:
    """Where datetimes and times without a declared zone stand: a schema has the same for them as for any text."""
    from msgspec.inspect import type_info  # noqa: PLC0415 for records of models alone

    root: Any = type_info(kind)
    parts: dict[str, Iterator[str]] = {}
    if hasattr(root, "fields"):
        parts = {f.encode_name: _moments(f.type, "", (root.cls,)) for f in root.fields}
    every = {name: sorted({*moments}) for name, moments in (parts or {"": _moments(root, "", ())}).items()}
    return {name: moments for name, moments in every.items() if moments}


def _moments(info: Any, path: str, within: tuple[Any, ...]) -> Iterator[str]:
    """The places below a type, each with its kind. An object inside of itself was told before."""
    word = {"DateTimeType": "datetime", "TimeType": "time"}.get(type(info).__name__)
    if word is not None and info.tz is None:
        yield f"{path} {word}".strip()
    if getattr(info, "cls", None) not in within:
        for field in getattr(info, "fields", ()):
            yield from _moments(field.type, f"{path}.{field.encode_name}", (*within, info.cls))
    for name in ("types", "item_types"):
        for inner in getattr(info, name, ()):
            yield from _moments(inner, path, within)
    for name in ("item_type", "key_type", "value_type"):
        if (inner := getattr(info, name, None)) is not None:
            yield from _moments(inner, f"{path}.{name}", within)


def _facts(schema: object) -> Any:
    if isinstance(schema, list):
        return [_facts(each) for each in cast("list[object]", schema)]
    if not isinstance(schema, dict):
        return schema
    pairs = cast("dict[str, object]", schema).items()
    facts = {name: fact for name, fact in pairs if name not in ("title", "description")}
    return {name: _fact(name, fact) for name, fact in facts.items()}


def _fact(name: str, fact: Any) -> Any:
    """One fact of a schema: names that the application chose are none of its own."""
    if name in ("properties", "$defs"):
        return {own: _facts(each) for own, each in fact.items()}
    return fact if name in ("default", "enum", "const") else sorted(fact) if name == "required" else _facts(fact)
