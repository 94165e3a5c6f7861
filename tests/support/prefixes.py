"""Tables under longer names, where several databases share one engine: a test's `app` is `test-4f1c9a02d7-app` there.

The names are changed in the requests below the library's flows, and back in the answers: tests and errors see `app`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace

_BY_TABLE = ("RequestItems", "Responses", "UnprocessedItems", "UnprocessedKeys")
D = TypeVar("D")


def add_prefix(db: D, prefix: str) -> D:
    """Have a database of either shell use tables whose names begin with a prefix."""
    if prefix:
        _add(getattr(db, "port"), prefix)  # noqa: B009 either shell's
    return db


def prefixed(body: bytes, prefix: str) -> bytes:
    """A request's JSON with the tables' longer names."""
    return _with_names(body, lambda name: prefix + name)


def restored(body: bytes, prefix: str) -> bytes:
    """An answer's JSON with the names that the test uses."""
    return _with_names(body, lambda name: name.removeprefix(prefix))


def _with_names(body: bytes, rename: Callable[[str], str]) -> bytes:
    if not body:
        return body
    said = msgspec.json.decode(body)
    if not isinstance(said, dict):
        return body
    for name in _BY_TABLE:
        if isinstance(by_table := said.get(name), dict):
            said[name] = {rename(table): each for table, each in by_table.items()}
    return msgspec.json.encode(_renamed(said, rename))


def _renamed(said: Any, rename: Callable[[str], str]) -> Any:
    if isinstance(said, list):
        return [_renamed(each, rename) for each in said]
    if not isinstance(said, dict):
        return said
    return {name: _value(name, value, rename) for name, value in said.items()}


def _value(name: str, value: Any, rename: Callable[[str], str]) -> Any:
    """An item's attributes are dicts: a text under these names is a table's name."""
    if name == "TableName" and isinstance(value, str):
        return rename(value)
    if name == "TableNames" and isinstance(value, list):
        return [rename(each) for each in value]
    return _renamed(value, rename)


def _add(port: Any, prefix: str) -> None:
    delivery, opened = port._delivery, port._open
    deliver = delivery.deliver

    async def deliver_renamed(exchange: Any, request: Any, *others: Any) -> Any:
        response = await deliver(exchange, replace(request, body=prefixed(request.body, prefix)), *others)
        return replace(response, body=restored(response.body, prefix))

    def open_renamed(*arguments: Any) -> Any:
        other = opened(*arguments)
        _add(other, prefix)
        return other

    delivery.deliver, port._open = deliver_renamed, open_renamed
