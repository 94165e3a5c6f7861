"""An index of another program whose key has several attributes: not declared, kept by writes, told by a check."""

from __future__ import annotations

from typing import Any

import pytest

from singletable import Entity, Index, Key, Table, attr
from singletable.errors import DeclarationError
from singletable.migrations.step_kinds import fill_step
from singletable.operations.table import TableCall
from singletable.raw import RawQuery
from singletable.tables.units import index_units
from tests.raw.shells import raw_of
from tests.support.engines import engine
from tests.support.raw import all_items
from tests.support.shells import Shell

places = Table("places", key=("PK", "SK"), foreign=True)
LOC = {
    "IndexName": "loc",
    "KeySchema": [
        *({"AttributeName": name, "KeyType": "HASH"} for name in ("tenant", "region")),
        *({"AttributeName": name, "KeyType": "RANGE"} for name in ("day", "n")),
    ],
    "Projection": {"ProjectionType": "KEYS_ONLY"},
}
KEYS: dict[str, Any] = {"tenant": {"S": "a"}, "region": {"S": "eu"}, "day": {"S": "2026-01-01"}, "n": {"S": "1"}}


class Place(Entity, table=places, type="place"):
    id: str
    name: str = ""

    @places.key
    @staticmethod
    def of(id: str) -> Key:
        return f"PLACE#{id}", "PLACE"


@pytest.mark.parametrize(
    "indexes",
    [
        {"loc": Index(("tenant", "region"), "day")},  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        {"loc": Index("tenant", ("day", "n"))},  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
        {"loc": (("tenant", "region"), "day")},
    ],
)
def test_it_is_refused_by_name(indexes: Any) -> None:
    with pytest.raises(DeclarationError, match=r"\('\w+', '\w+'\) is not the name of a key attribute.*ignores="):
        Table("places", indexes=indexes)


async def test_what_is_not_declared_is_kept_and_told(shell: Shell) -> None:
    body = places.definition.creation()
    body["GlobalSecondaryIndexes"] = [LOC]
    body["AttributeDefinitions"] += [{"AttributeName": name, "AttributeType": "S"} for name in KEYS]
    await shell.port.send(TableCall("CreateTable", body))
    item = {"PK": {"S": "PLACE#1"}, "SK": {"S": "PLACE"}, "id": {"S": "1"}, "name": {"S": "x"}, **KEYS}
    await shell.port.send(TableCall("PutItem", {"TableName": "places", "Item": item}))
    await shell.update(Place.of("1"), attr(Place.name).set("y"))
    await shell.put(await shell.get(Place.of("1")) or Place(id="other"))
    assert await all_items(shell.port, "places") == [{**item, "name": {"S": "y"}}]
    assert [finding.code for finding in await shell.check(places)] == ["index.undeclared"]
    if engine().name != "local":  # the embedded engine takes the index, and answers its queries wrongly
        names = {"#t": "tenant", "#r": "region", "#d": "day"}
        values = {":t": "a", ":r": "eu", ":d": "2026-01-01"}
        asked = RawQuery("#t = :t AND #r = :r AND #d = :d", values, names=names, index="loc")
        assert [each["PK"] for each in await raw_of(shell, places).all(asked)] == ["PLACE#1"]


def test_a_fill_counts_the_units_of_all_its_attributes() -> None:
    """An item that lacks one of them is not in the index; where one of them changes, its entry is written twice."""
    index = fill_step._index("loc", LOC, ("PK", "SK"))
    item = {"PK": {"S": "p"}, "SK": {"S": "s"}, **KEYS}
    assert index_units(index, None, {name: item[name] for name in item if name != "region"}) == 0
    assert index_units(index, item, {**item, "region": {"S": "us"}}) == 2
