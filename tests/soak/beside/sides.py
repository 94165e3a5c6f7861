"""Both programs on a table: this library by its classes, and another one in a process of its own."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from singletable import Database, InvalidRequest, attr
from singletable.values import undeclared_in
from tests.soak.beside.records import INDEXED, KEYS, Record, key_of

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_UNITS = {"placed": timedelta(milliseconds=1), "expires": timedelta(seconds=1)}


class Side(Protocol):
    """One program on the table."""

    def put(self, kind: str, record: Record) -> object: ...
    def get(self, kind: str, key: Record) -> Record | None: ...
    def update(self, kind: str, key: Record, values: Record, removed: Sequence[str]) -> object: ...
    def delete(self, kind: str, key: Record) -> object: ...
    def all(self, kind: str) -> list[Record]: ...
    def by(self, kind: str, asked: Record) -> list[Record]: ...


class Ours:
    """This library, by a table's classes."""

    def __init__(self, db: Database, kinds: Mapping[str, Any]) -> None:
        self.db, self.kinds = db, kinds

    def entity(self, kind: str, record: Record) -> Any:
        return self.kinds[kind](**{name: self.value(kind, name, value) for name, value in record.items()})

    def value(self, kind: str, name: str, value: Any) -> Any:
        """The value of an attribute, as its class has it."""
        if name in _UNITS:
            return in_time(name, value)
        if name == "total":
            return Decimal(str(value)) if self.kinds[kind].__annotations__["total"] == "Decimal" else value
        if name == "tags":
            return set(value or ())
        if name == "lines":
            line = self.kinds[kind].__dataclass_fields__["lines"].default_factory.__args__[0]
            return [line(**one) for one in value]
        return value

    def key(self, kind: str, key: Record) -> Any:
        return self.kinds[kind].of(**key)

    def put(self, kind: str, record: Record) -> None:
        self.db.put(self.entity(kind, record))

    def create(self, kind: str, record: Record) -> None:
        self.db.create(self.entity(kind, record))

    def upsert(self, kind: str, record: Record) -> None:
        self.db.upsert(self.entity(kind, record))

    def put_changed(self, kind: str, record: Record) -> None:
        """Read, changed, and put as a whole."""
        entity: Any = self.db.get(self.key(kind, key_of(kind, record)))
        for name in {*self.kinds[kind].__dataclass_fields__} - {"created", "modified", "updated"}:
            value = record.get(name)
            setattr(entity, name, None if value is None and name != "tags" else self.value(kind, name, value))
        self.db.put(entity)

    def update(self, kind: str, key: Record, values: Record, removed: Sequence[str]) -> None:
        self.db.update(self.key(kind, key), *self._updates(kind, values, removed))

    def transact(self, kind: str, key: Record, values: Record, removed: Sequence[str]) -> None:
        """The same in a transaction."""
        with self.db.transaction() as tx:
            tx.update(self.key(kind, key), *self._updates(kind, values, removed))

    def _updates(self, kind: str, values: Record, removed: Sequence[str]) -> list[Any]:
        handles = self.kinds[kind]
        emptied = {name: None for name in removed if name == "tags"}
        sets = [attr(getattr(handles, n)).set(self.value(kind, n, value)) for n, value in {**values, **emptied}.items()]
        return [*sets, *(attr(getattr(handles, name)).remove() for name in removed if name not in emptied)]

    def get(self, kind: str, key: Record) -> Record | None:
        entity = self.db.get(self.key(kind, key))
        return None if entity is None else self.record(entity)

    def delete(self, kind: str, key: Record) -> None:
        self.db.delete(self.key(kind, key))

    def all(self, kind: str) -> list[Record]:
        return [self.record(entity) for entity in self.db.scan(self.kinds[kind])]

    def by(self, kind: str, asked: Record) -> list[Record]:
        return [self.record(entity) for entity in self.db.all(self.kinds[kind].by(asked[INDEXED[kind]]))]

    @staticmethod
    def record(entity: Any) -> Record:
        """What an object says, as JSON has it. Nothing of the item may be undeclared."""
        assert not undeclared_in(entity), undeclared_in(entity)
        return as_record({name: value for name, value in vars(entity).items() if name in _RECORDED})


_RECORDED = {"total", "status", "tags", "name", "email", "note", "placed", "paid", "lines", "meta", "user", "expires"}
_RECORDED |= {name for names in KEYS.values() for name in names}
_NONE: tuple[Any, ...] = (None, set())


def in_time(name: str, count: int) -> datetime:
    """The time of a number in a record."""
    return _EPOCH + count * _UNITS[name]


def as_record(values: Mapping[str, Any]) -> Record:
    """A record of an object's values; None, and an empty set, are not there."""
    return {name: plain(name, value) for name, value in values.items() if value not in _NONE}


def plain(name: str, value: Any) -> Any:
    """A value as JSON has it."""
    if isinstance(value, datetime):
        return (value - _EPOCH) // _UNITS[name]
    if isinstance(value, Decimal):
        return float(value) if value % 1 else int(value)
    if isinstance(value, set):
        return sorted(value)
    if isinstance(value, dict):
        return {key: plain(key, inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [plain(name, inner) for inner in value]
    return plain(name, vars(value)) if hasattr(value, "__dict__") else value


class Theirs:
    """A library for JavaScript, in a process of Node."""

    def __init__(self, place: Path, library: str, url: str) -> None:
        command = ["node", "side.mjs", library, url]
        self._child = subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._child.communicate()

    def _ask(self, verb: str, *asked: Any) -> Any:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        self._child.stdin.write(json.dumps([verb, *asked]) + "\n")
        self._child.stdin.flush()
        answer = json.loads(self._child.stdout.readline())
        if "error" in answer:
            raise InvalidRequest(f"{verb} of {asked}: {answer['error']}")
        return answer["value"]

    def put(self, kind: str, record: Record) -> None:
        self._ask("put", kind, record)

    def get(self, kind: str, key: Record) -> Record | None:
        read = self._ask("get", kind, key)
        return None if read is None else _record(read)

    def update(self, kind: str, key: Record, values: Record, removed: Sequence[str]) -> None:
        self._ask("update", kind, key, values, removed)

    def delete(self, kind: str, key: Record) -> None:
        self._ask("delete", kind, key)

    def all(self, kind: str) -> list[Record]:
        return [_record(read) for read in self._ask("all", kind)]

    def by(self, kind: str, asked: Record) -> list[Record]:
        return [_record(read) for read in self._ask("by", kind, asked)]


def _record(read: Record) -> Record:
    return {name: sorted(value) if name == "tags" else value for name, value in read.items() if value is not None}
