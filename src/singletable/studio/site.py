"""A site: the database and the tables that a studio shows, and what is true of all of its pages."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from singletable.database_async import AsyncDatabase
from singletable.documents import BlobStore
from singletable.documents.inspect import DocumentRow
from singletable.errors import InvalidRequest
from singletable.flow import instant, is_of_shell, unmetered
from singletable.foundation import Model, Table, entity_name, models_of
from singletable.studio.view import PageCost
from singletable.wire import is_aws_host

COLOURS = 8
"""The number of classes with a colour of their own; the ninth has that of the first."""


class DatabasePlace(Struct, frozen=True):
    """The place of a database, as each page shows it."""

    text: str
    """`data/shop.db`, `http://127.0.0.1:8000`, or the account and region of AWS."""
    is_aws: bool = False
    account: str = ""
    region: str = ""
    target: str = ""
    """The value of the program's option `--db`."""
    names: tuple[str, ...] = ()
    """The program's options for names of tables that are not the declared ones."""


def database_place_of(db: AsyncDatabase) -> DatabasePlace:
    """The place of a database. The account is known once a table was described."""
    engine, endpoint, names = db.target.engine, db.target.endpoint, db.target.names
    if engine is not None and engine.data is not None:
        return DatabasePlace(_near(engine.data), target=f"local:{_near(engine.data)}", names=names.options)
    if is_aws_host(endpoint.host):
        place = f"AWS {endpoint.region}"
        return DatabasePlace(place, is_aws=True, region=endpoint.region, target="aws", names=names.options)
    return DatabasePlace(endpoint.url, target=endpoint.url, names=names.options)


def _near(file: Path) -> str:
    """A file as people name it: from the current folder on, where it lies below that."""
    return str(file.relative_to(Path.cwd()) if file.is_relative_to(Path.cwd()) else file)


class Totals:
    """The cost of all pages since the start."""

    def __init__(self, began: datetime) -> None:
        self.began = began
        self.pages = 0
        self.cost = PageCost()

    def add(self, cost: PageCost) -> None:
        self.pages += 1
        self.cost = self.cost.plus(cost)


@dataclass(frozen=True, eq=False)
class Site:
    """The content of a studio. `write` allows changes; `module` is the tables' name for the program `singletable`."""

    db: AsyncDatabase
    tables: tuple[Table, ...]
    title: str
    module: str
    write: bool
    place: DatabasePlace
    totals: Totals
    export: str = ""
    """The place of the last export, which the page SQL asks: a directory, or `s3://bucket/prefix`."""
    blobs: BlobStore | None = None
    """The contents of documents whose class has no store."""
    queues: tuple[str, ...] = ()
    """The addresses of the queues whose depth is shown."""
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    """Values that pages keep between visits, such as dated samples; by page and table."""

    @classmethod
    def of(
        cls,
        db: AsyncDatabase,
        tables: tuple[Table, ...],
        *,
        title: str = "",
        module: str = "",
        write: bool = False,
        export: str = "",
        blobs: BlobStore | None = None,
        queues: Sequence[str] = (),
    ) -> Site:
        if not is_of_shell(db, awaiting=True):
            raise InvalidRequest("a studio takes the AsyncDatabase that connect_async() returns", operation="studio")
        if not tables:
            raise InvalidRequest(
                "a studio shows one table at least", operation="studio", hint="As in studio(db, shop, ...)."
            )
        began = instant(db.port.now())
        named = title or ", ".join(table.name for table in tables)
        return cls(db, tables, named, module, write, database_place_of(db), Totals(began), export, blobs, tuple(queues))

    @property
    def now(self) -> Callable[[], float]:
        """Seconds since 1970, by the database's clock."""
        return self.db.port.now

    def command(self, verb: str, *words: str) -> str:
        """A command of the program `singletable` for this database: `plan shop.model --db local:data/shop.db`."""
        return shlex.join(
            ["singletable", verb, self.module or "MODULE", *words, "--db", self.place.target, *self.place.names]
        )

    def table_named(self, name: str) -> Table | None:
        return next((table for table in self.tables if table.name == name), None)

    async def account_of(self, table: Table) -> str:
        """The account that a table on AWS is in; empty elsewhere, and where it can't be told. One request, once."""
        if not self.place.is_aws:
            return ""
        known: str | None = self.kept.get(f"account {table.name}")
        if known is None:
            with unmetered():
                found = await self.db.describe_table(table)
            arn = str(found.raw.get("TableArn", "")) if found is not None else ""
            known = self.kept[f"account {table.name}"] = arn.split(":")[4] if arn.count(":") >= 5 else ""
        return known


def model_of_type(table: Table, type_name: str) -> Model[Any] | None:
    """The class of a type: of the application, or of the library, guards of unique values among them."""
    found = table.model_here(type_name)
    return found or next((model for model in models_of(table) if model.type == type_name), None)


def colour_of(table: Table, type_name: str) -> str:
    """The CSS class of a class's colour: `k0` to `k7`, and `kx` for unknown ones and the library's own, but for what
    documents are made of."""
    own = [model.type for model in table.models if not model.is_system or issubclass(model.kind, DocumentRow)]
    return f"k{own.index(type_name) % COLOURS}" if type_name in own else "kx"


def name_of_type(table: Table, type_name: str) -> str:
    """The class of a type, by its name in its module; the type itself where no class of the table has it."""
    model = model_of_type(table, type_name)
    return entity_name(model.kind) if model is not None else type_name
