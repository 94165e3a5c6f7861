"""A slice hangs together: what an item of it names is in it, wherever the source has it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, Table, copy_of, field
from singletable.documents import Document, Documents, LocalBlobs
from singletable.exchange import TableCopy
from singletable.reports import open_live
from tests.exchange.people import fill as fill_people, people
from tests.exchange.test_copy_layers import fill_graph
from tests.graph.models import records
from tests.support.engines import fresh

market = Table("market", indexes=["gsi1"])


class Organisation(Entity, table=market, type="organisation"):
    id: str
    owner: str = field(mentions=lambda: Customer.email)

    @market.key
    @staticmethod
    def by_id(id: str) -> Key:
        """One organisation."""
        return f"Organisation#{id}", "Organisation"


class Customer(Entity, table=market, type="customer"):
    email: str
    organisation: str | None = field(default=None, belongs_to=Organisation.id)

    @market.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One customer."""
        return f"customer#{email}", "customer"


class Line(Entity, table=market, type="line"):
    """Names its customer by its key alone, and the one who pays by that of an index."""

    email: str
    number: int
    payer: str | None = None

    @market.key
    @staticmethod
    def of_customer(email: str, number: int = ANY) -> Key:
        """The lines of a customer."""
        return f"customer#{email}", f"line#{number}"

    @market.index("gsi1")
    @staticmethod
    def of_payer(payer: str, number: int = ANY) -> Key:
        """The lines that somebody pays."""
        return f"customer#{payer}", f"{number}"


class Plan(Document, table=market, index="gsi1"):
    name: str = ""


def fill_market(db: Database, folder: Path) -> None:
    for n in range(12):
        db.create(Organisation(id=f"o{n}", owner=f"c{n * 5 % 30}@example.org"))
    for n in range(30):
        db.create(Customer(email=f"c{n}@example.org", organisation=f"o{n % 12}" if n % 3 else None))
        payer = f"c{(n * 7) % 34}@example.org" if n % 2 else None  # of some nothing is known
        db.create(Line(email=f"c{n}@example.org", number=n, payer=payer))
    documents = Documents(db, Plan, blobs=LocalBlobs(folder))
    for n in range(6):
        documents.create(f"o{n}", f"p{n}", name=f"Plan {n}")


def dangling(db: Database, table: Table) -> set[str]:
    """The rows that name an item which is not there, by the relations of the table."""
    found: set[str] = set()
    with open_live(db, table) as session:
        for each in session.relations:
            missing = [f'{each.right}_{join.other}" IS NULL AND "{join.column}' for join in each.joins]
            asked = " AND ".join(f'"{said}" IS NOT NULL' for said in missing)
            answer = session.query(f'SELECT * FROM "{each.name}" WHERE {asked}')
            found |= {f"{each.name}: {dict(zip(answer.columns, row, strict=True))}" for row in answer.rows()}
    return found


Fill = Callable[[Database, Path], object]
TABLES: list[tuple[Table, Fill]] = [
    (people, lambda db, folder: fill_people(db)),
    (records, lambda db, folder: fill_graph(db)),
    (market, fill_market),
]


@pytest.mark.parametrize(("table", "fill"), TABLES, ids=[table.name for table, _ in TABLES])
def test_each_reference_of_a_slice_is_met_where_the_source_meets_it(table: Table, fill: Fill, tmp_path: Path) -> None:
    with fresh() as source:
        fill(source, tmp_path)
        unmet = dangling(source, table)
        for seed in range(3):
            with fresh() as target:
                copied = TableCopy(source, target, table).run(
                    sample=0.15, seed=seed, follow_edges=True, keep_personal=True
                )
                assert copied.written > 0
                assert dangling(target, table) <= unmet
                assert target.check(table) == []


def test_it_would_not_without_following(tmp_path: Path) -> None:
    with fresh() as source, fresh() as target:
        fill_market(source, tmp_path)
        TableCopy(source, target, market).run(sample=0.15, seed=0, keep_personal=True)
        assert not dangling(target, market) <= dangling(source, market)


def test_a_document_takes_its_parent_along(tmp_path: Path) -> None:
    with fresh() as source, fresh() as target:
        fill_market(source, tmp_path)
        documents: Any = Documents(target, Plan, blobs=LocalBlobs(tmp_path))
        copy, listed = TableCopy(source, target, market), list[Any]()
        for seed in range(20):  # which one finds a document depends on the engine
            copy.run(sample=0.2, seed=seed, follow_edges=True, keep_personal=True, add=True)
            if listed := list(target.scan(documents.context.model.rows.listing)):
                break
        assert listed
        for row in listed:
            assert target.get(Organisation.by_id(row.parent)) is not None
            assert documents.head(row.document_id).name


houses = Table("houses", indexes=["gsi1"])


class Flat(Entity, table=houses, type="flat"):
    house: str
    number: int
    name: str = ""
    revision: int = field(version=True, default=0)

    @houses.key
    @staticmethod
    def of_house(house: str, number: int = ANY) -> Key:
        """The flats of a house."""
        return f"house#{house}", f"flat#{number}"


class Notice(Entity, table=houses, type="notice"):
    """It repeats a flat's name, which it names by two attributes; one that is for all names none."""

    id: int
    house: str | None = None
    number: int | None = None
    name: str = copy_of(Flat.name, default="")

    @houses.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One notice."""
        return f"notice#{id}", "notice"

    @houses.index("gsi1")
    @staticmethod
    def of_flat(house: str, number: int, id: int = ANY) -> Key:
        """The notices of a flat."""
        return f"house#{house}#{number}", f"{id}"


def test_a_reference_of_which_a_part_is_missing_is_none() -> None:
    with fresh() as source, fresh() as target:
        source.create_table(houses)
        source.create(Flat(house="h", number=1, name="Ada"))
        for id, (house, number) in enumerate([("h", 1), (None, 1), ("h", None), (None, None)]):
            source.create(Notice(id=id, house=house, number=number, name="Ada" if house and number else ""))
        TableCopy(source, target, houses).run(sample=0.999, seed=1, keep_personal=True)
        assert sorted(each.id for each in target.scan(Notice)) == [0, 1, 2, 3]
        assert [each.name for each in target.scan(Flat)] == ["Ada"]
