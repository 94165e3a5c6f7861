"""The engine that the tests run on: the embedded one, unless `--engine` names another.

    with fresh() as db: ...                  # a blocking database with nothing in it
    async with fresh_async() as db: ...
    with fresh_url() as url: ...             # the address of an engine with nothing in it

Every layer takes its databases from here. An embedded engine is had by one database after another
(`tests/support/engine_pool.py`). On an emulator, an empty one is leased to each of them, and emptied when the
database is closed; emulators start when they are needed and end with the test session. At an address, or on AWS, a
database has tables of its own: their names begin with a prefix that no other has (`tests/support/prefixes.py`), and
they are deleted when it is closed. `engine().place()` is the one place that knows target, traits and prefix.
"""

from __future__ import annotations

import os
import secrets
import weakref
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

from msgspec.structs import replace as altered

from singletable import AsyncDatabase, Database, InvalidRequest, connect, connect_async
from singletable.connection import find_target
from singletable.flow import Traits
from singletable.operations import TableCall
from singletable.target import Options
from tests.support.emulators import DYNALITE_SERVER, MINISTACK, MOTO, Emulator
from tests.support.engine_pool import Pool
from tests.support.prefixes import add_prefix
from tests.support.python_engine import InPython

LOCAL = "local"
AWS = "aws"
REPLAY = "replay"
NAMES = (LOCAL, "python", "ministack", "moto", "dynalite", AWS)
_AT_ONCE = Traits(creates_tables=True, segments_shift=True, index_lag_seconds=0.0)
"""Of an engine whose indexes contain a write as soon as it is acknowledged."""
_LIKE_AWS = Traits(creates_tables=True)
EMULATORS: dict[str, Emulator | InPython] = {
    "python": InPython(),
    "ministack": MINISTACK,
    "moto": MOTO,
    "dynalite": DYNALITE_SERVER,
}


@dataclass(frozen=True)
class Place:
    """Where one database is: what `connect` takes, how the engine there differs, what its tables' names begin with."""

    target: str
    traits: Traits
    prefix: str = ""


class Lease:
    """A place with nothing in it, for one database: `Target.engine` of that database, which stops it when it closes."""

    data: None = None
    """It has no file."""

    def __init__(self, place: Place, give_back: Callable[[], None]) -> None:
        self.place = place
        self._given_back = weakref.finalize(self, _in_this_process(give_back))
        self._given_back.atexit = False

    def stop(self) -> None:
        self._given_back()


def _in_this_process(work: Callable[[], None]) -> Callable[[], None]:
    """Nothing in a child that is forked from now on."""
    process = os.getpid()
    return lambda: work() if os.getpid() == process else None


class Engine:
    """What `--engine` names."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._running = ExitStack()
        self._idle: list[str] = []

    def __repr__(self) -> str:
        return f"<Engine {self.name}>"

    @property
    def is_embedded(self) -> bool:
        return self.name == LOCAL

    @property
    def address(self) -> str:
        """Of `LIST=http://...`, what follows the list's name."""
        return self.name.partition("=")[2] or self.name

    def lease(self) -> Lease:
        """A place with nothing in it; not for the embedded engine, which `connect` starts itself."""
        if self.name in EMULATORS:
            url = self._idle.pop() if self._idle else self._running.enter_context(EMULATORS[self.name].running())
            return Lease(Place(url, _AT_ONCE), lambda: self._take_back(url))
        traits = _AT_ONCE if self.name.partition("=")[0] in (LOCAL, *EMULATORS, REPLAY) else _LIKE_AWS
        place = Place(self.address, traits, f"test-{secrets.token_hex(5)}-")
        return Lease(place, lambda: delete_tables(place))

    def close(self) -> None:
        """End its processes."""
        self._idle.clear()
        self._running.close()

    def _take_back(self, url: str) -> None:
        delete_tables(Place(url, _AT_ONCE))
        self._idle.append(url)


POOL = Pool()
"""Of embedded engines."""
_engines: dict[str, Engine] = {}
_current = LOCAL


def engine() -> Engine:
    """The engine of the test that runs."""
    return _engines.setdefault(_current, Engine(_current))


def use_engine(name: str) -> Engine:
    """Have the tests that follow run on an engine: one of NAMES, or an address."""
    global _current
    if name not in NAMES and "://" not in name:
        raise ValueError(f"--engine {name}: it is none of {', '.join(NAMES)}, nor an address")
    _current = name
    return engine()


def end_engines() -> None:
    """End every process that was started for an engine."""
    POOL.close()
    while _engines:
        _engines.popitem()[1].close()


def fresh(**options: Any) -> Database:
    """A blocking database with nothing in it, with the options of `connect`."""
    if engine().is_embedded:
        if not POOL.takes(options):
            return connect(LOCAL, **options)
        given = Options(**options)
        return Database.at(POOL.target(given), given)
    lease = engine().lease()
    return open_place(lease.place, lease, **options)


def again(db: Database, **options: Any) -> Database:
    """Another database at the place of one that `fresh` gave, with options of its own. The first ends the engine."""
    lease = db.target.engine
    if isinstance(lease, Lease):
        return open_place(lease.place, **options)
    return connect(db.target.endpoint.url, **options)


def awaiting(db: Database, **options: Any) -> AsyncDatabase:
    """An awaiting database at the place of one that `fresh` gave, which has to be closed after it."""
    lease = db.target.engine
    made = AsyncDatabase.at(altered(db.target, engine=None), Options(**options))
    return add_prefix(made, lease.place.prefix if isinstance(lease, Lease) else "")


def fresh_async(**options: Any) -> AsyncDatabase:
    """An awaiting database with nothing in it, with the options of `connect_async`."""
    if engine().is_embedded:
        if not POOL.takes(options):
            return connect_async(LOCAL, **options)
        given = Options(**options)
        return AsyncDatabase.at(POOL.target(given), given)
    lease = engine().lease()
    given, environ = _options(options)
    target = find_target(lease.place.target, given, environ)
    made = AsyncDatabase.at(altered(target, traits=lease.place.traits, engine=lease), given)
    return add_prefix(made, lease.place.prefix)


def open_place(place: Place, lease: Lease | None = None, **options: Any) -> Database:
    """A blocking database at a place; it gives back the lease when it closes."""
    given, environ = _options(options)
    target = find_target(place.target, given, environ)
    made = Database.at(altered(target, traits=place.traits, engine=lease), given)
    return add_prefix(made, place.prefix)


@contextmanager
def fresh_url() -> Iterator[str]:
    """The address of an engine with nothing in it, for proxies and for other processes."""
    if engine().is_embedded:
        with fresh() as db:
            yield db.target.endpoint.url
        return
    lease = engine().lease()
    try:
        yield lease.place.target
    finally:
        lease.stop()


def delete_tables(place: Place) -> None:
    """Delete the tables whose names begin with the place's prefix, and wait until they are gone."""
    with open_place(replace(place, prefix="")) as db:
        for name in _tables(db, place.prefix):
            delete = TableCall("DeleteTable", {"TableName": name}, or_none="ResourceNotFoundException")
            try:
                db.run(db.port.send(delete))
            except InvalidRequest:  # it is protected against deletion
                off = {"TableName": name, "DeletionProtectionEnabled": False}
                db.run(db.port.send(TableCall("UpdateTable", off)))
                db.run(db.port.send(delete))


def _tables(db: Database, prefix: str) -> list[str]:
    found: list[str] = []
    after: dict[str, Any] = {}
    while True:
        said = db.run(db.port.send(TableCall("ListTables", after)))
        assert said is not None
        found += [name for name in said["TableNames"] if name.startswith(prefix)]
        if "LastEvaluatedTableName" not in said:
            return found
        after = {"ExclusiveStartTableName": said["LastEvaluatedTableName"]}


def _options(options: dict[str, Any]) -> tuple[Options, dict[str, str]]:
    """The embedded engine has a key for cursors of its own; elsewhere one is given."""
    environ = options.pop("environ", None)
    options.setdefault("cursor_keys", ["a key for the tests' cursors"])
    return Options(**options), dict(os.environ if environ is None else environ)
