"""A table that changes between a plan and its apply: by hand in a console, or by another program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from singletable import ANY, Database, Entity, Key, Table
from singletable.migrations import Migrations
from singletable.operations import TableCall
from singletable.tables import Index, TableDefinition, TableSettings
from singletable.tables.changes import apply_setting, create_index, drop_index, remove_setting

SETTINGS: dict[str, Any] = {
    "ttl_attribute": "ends",
    "deletion_protection": True,
    "settings": TableSettings(tags={"team": "shop"}),
}


def _by_id(id: int) -> Key:
    """One."""
    return f"note#{id}", "note"


def _listed(kind: str, id: int = ANY) -> Key:
    """All of a kind."""
    return f"kind#{kind}", f"{id}"


def declared(*indexes: str, **options: Any) -> Table:
    """A table of notes, each in all of these indexes."""
    table = Table("notes", indexes=list(indexes), **options)
    body: dict[str, Any] = {"__annotations__": {"id": int, "kind": str}, "__module__": __name__, "kind": "plain"}
    body["by_id"] = table.key(_by_id)
    body |= {f"in_{name}": table.index(name)(_listed) for name in indexes}
    type("Note", (Entity,), body, table=table, type="note")
    return table


before = declared("gsi1", **SETTINGS)
after = declared("gsi1", "gsi2", **SETTINGS)
"""What a plan brings the table to."""
other = declared("gsi1", "gsi3", **SETTINGS)
"""What another program declares meanwhile."""


def index_by_hand(db: Database) -> None:
    by_hand = TableDefinition("notes", indexes={"byhand": Index("a", "b")})
    db.run(create_index(db.port, by_hand, "byhand"))


def stream_by_hand(db: Database) -> None:
    db.run(apply_setting(db.port, Table("notes", stream="keys").definition, "stream", {}))


def ttl_by_hand(db: Database) -> None:
    db.run(apply_setting(db.port, Table("notes", ttl_attribute="gone").definition, "TTL", {}))


def tag_by_hand(db: Database) -> None:
    tag(db, "owner", "ada")


def tag(db: Database, name: str, value: str) -> None:
    found = db.describe_table(before)
    assert found is not None
    body = {"ResourceArn": found.raw["TableArn"], "Tags": [{"Key": name, "Value": value}]}
    db.run(db.port.send(TableCall("TagResource", body)))


def _unprotected(db: Database) -> None:
    definition = Table("notes", deletion_protection=False).definition
    db.run(apply_setting(db.port, definition, "deletion protection", {}))


CHANGES: dict[str, tuple[str, Callable[[Database], object]]] = {
    "an index is dropped": ("add index gsi1", lambda db: db.run(drop_index(db.port, before.definition, "gsi1"))),
    "TTL is off": ("set TTL", lambda db: db.run(remove_setting(db.port, before.definition, "TTL", "ends"))),
    "protection is off": ("set deletion protection", _unprotected),
    "a tag is another": ("set tags", lambda db: tag(db, "team", "other")),
    "another program applied": ("drop index gsi3", lambda db: Migrations(db, other).apply()),
}
"""The step that each makes necessary, which no plan of before has."""
