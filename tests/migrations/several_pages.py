"""A table of several pages, whose items have stale index keys or none: as an older program and a person leave them."""

from __future__ import annotations

from typing import Any

from singletable import ANY, Database, Entity, Key, Table, field
from singletable.operations import PutItem
from singletable.tables import Index

COUNT = 250
"""Three pages of a fill."""


def _by_id(id: int) -> Key:
    """One."""
    return f"user#{id:04}", "user"


def _by_city(city: str, id: int = ANY) -> Key:
    """Who lives in a city."""
    return f"city#{city}", f"{id}"


def in_town(city: str, id: int = ANY) -> Key:
    """Who lives in a city, under another word."""
    return f"town#{city}", f"{id}"


def declared(by: Any = _by_city, *, version: int = 1, unique: bool = False, index: Index | None = None) -> Any:
    """A class of users in a table with an index."""
    table = Table("users", indexes={"gsi1": index or Index("gsi1pk", "gsi1sk")})
    nick = field(unique=True) if unique else field()
    body = {"__annotations__": {"id": int, "city": str, "nick": str}, "__module__": __name__, "nick": nick}
    body |= {"by_id": table.key(_by_id), "by_city": table.index("gsi1")(by)}
    made: Any = type("User", (Entity,), body, table=table, type="user", version=version)
    for number in range(1, version):
        made.upcast(number)(lambda item: item)
    return made


first = declared()


def put_stale(db: Database) -> None:
    """Half of the items have a stale index key, the others none."""
    db.create_table(first.__model__.table)
    items = [first.__model__.item(first(id=n, city="Bern", nick=f"n{n}")) for n in range(COUNT)]
    stale = [{**item, "gsi1pk": {"S": "city#Oslo"}} for item in items[::2]]
    without = [{k: v for k, v in item.items() if not k.startswith("gsi1")} for item in items[1::2]]
    db.run(db.port.send_all([PutItem("users", item) for item in (*stale, *without)]))
