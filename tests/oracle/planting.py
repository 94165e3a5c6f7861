"""Faults, planted by raw writes: past the library's classes and their conditions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from singletable.foundation import BlockingDatabase
from singletable.operations import DeleteItem, Guard
from singletable.operations.answers import RAW
from singletable.schema import KeyOf
from tests.support.raw import put_raw, stored


def edit(db: BlockingDatabase, key: KeyOf[Any], **attributes: Any) -> None:
    """Write stored attributes of an item; None removes one."""
    item = db.run(stored(db.port, key))
    assert item is not None
    put(db, key.kinds[0], {name: value for name, value in {**item, **attributes}.items() if value is not None})


def put(db: BlockingDatabase, kind: type[Any], item: dict[str, Any]) -> None:
    """Write an item as it is."""
    db.run(put_raw(db.port, kind, item))


def delete(db: BlockingDatabase, key: KeyOf[Any]) -> None:
    model = key.model
    db.run(db.port.send(DeleteItem(model.table.name, model.key_item(key), Guard(), RAW)))


def codes(findings: Iterable[Any]) -> list[str]:
    return sorted(finding.code for finding in findings)
