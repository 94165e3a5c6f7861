"""Classes and attributes whose names are none of SQL's, of a folder's, or of the library's own columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Entity, InvalidRequest, Key, Table
from singletable.exchange import Exports, Imports, datasets_of
from singletable.exchange.formats import FORMATS, Format
from singletable.reports import open_export
from tests.support.engines import fresh
from tests.support.raw import all_items

odd = Table("odd")


class Ж(Entity, table=odd, type="ж"):
    id: str
    größe: str = ""

    @odd.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"ж#{id}", "ж"


class Größe(Entity, table=odd, type="größe"):
    id: str
    order: str = ""

    @odd.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"größe#{id}", "größe"


class ORDER(Entity, table=odd, type="loud order"):
    id: str
    _rest: str = ""

    @odd.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"loud#{id}", "order"


class Order(Entity, table=odd, type="order"):
    id: str
    table: str = ""
    row: str = ""

    @odd.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"order#{id}", "order"


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        yield made


ENTITIES = [
    Ж(id="1", größe="\x00 null"),
    Größe(id="a", order="by"),
    ORDER(id="2", _rest="{}"),
    Order(id="3", table="x", row="y"),
]


def test_each_has_a_name_of_its_own() -> None:
    names = [dataset.name for dataset in datasets_of(odd) if not dataset.is_system]
    assert names == ["entity", "grosse", "order", "odd_order"]


@pytest.mark.parametrize("format", FORMATS)
def test_they_are_exported_asked_and_imported(db: Database, tmp_path: Path, format: Format) -> None:
    db.write_many(puts=ENTITIES)
    Exports(db, odd).export(tmp_path, format=format)
    with open_export(tmp_path, odd) as session:
        found: list[Any] = [row for name in ("entity", "grosse", "order") for row in _rows(session, name)]
        assert found == [
            {"id": "1", "größe": "\x00 null"},
            {"id": "a", "order": "by"},
            {"id": "2", "attribute_rest": "{}"},
        ]
    with fresh() as target:
        assert Imports(target, odd).run(tmp_path).bad == 0
        places = [sorted(item["pk"]["S"] for item in each.run(all_items(each.port, "odd"))) for each in (db, target)]
        assert places[0] == places[1]
        assert target.get(ORDER.by_id("2")) == ENTITIES[2]


def _rows(session: Any, name: str) -> list[dict[str, Any]]:
    answer = session.query(f'SELECT * FROM "{name}"')
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows()]


cased = Table("cased")


class Cased(Entity, table=cased, type="cased"):
    id: str
    name: str
    Name: str

    @cased.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"cased#{id}", "cased"


def test_what_sql_does_not_tell_apart_is_refused(db: Database, tmp_path: Path) -> None:
    db.create(Cased(id="1", name="a", Name="b"))
    Exports(db, cased).export(tmp_path)
    with pytest.raises(InvalidRequest, match="Cased has attributes with the same name in SQL: name"):
        open_export(tmp_path, cased)
    with fresh() as target:
        assert Imports(target, cased).run(tmp_path).written == 1
