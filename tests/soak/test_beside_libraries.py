"""Another library and this one write one table in turn: each reads what the other wrote, and a fault is found.

boto3 and PynamoDB run in this process; ElectroDB, DynamoDB-Toolbox and OneTable in one of Node, from npm by the lock
file of `tests/soak/beside`.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field as made
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import boto3
import pytest
from pynamodb.attributes import NumberAttribute, UnicodeAttribute, VersionAttribute
from pynamodb.exceptions import UpdateError
from pynamodb.models import Model

from singletable import ANY, Entity, Key, Table, attr, connect, field
from singletable.errors import Conflict, SingletableError
from singletable_local import Engine
from tests.soak.beside import on_boto3, on_pynamodb
from tests.soak.beside.on_electrodb import STAMP, Line
from tests.soak.beside.play import Difference, Play
from tests.soak.beside.sides import Ours, Side, Theirs

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]
HERE: Final = Path(__file__).parent / "beside"
ACCESS: Final[Mapping[str, Any]] = {
    "aws_access_key_id": "x",
    "aws_secret_access_key": "x",
    "region_name": "local",
}


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the libraries of npm."""
    folder = tmp_path_factory.mktemp("beside")
    for file in (*HERE.glob("*.json"), *HERE.glob("*.mjs")):
        shutil.copy(file, folder)
    subprocess.run(["npm", "ci", "--silent", "--no-audit", "--no-fund"], cwd=folder, check=True)
    return folder


@contextmanager
def other_side(library: str, place: Path, url: str) -> Iterator[Side]:
    """The other program on the table."""
    if library == "boto3":
        yield on_boto3.Theirs(boto3.resource("dynamodb", endpoint_url=url, **ACCESS).Table("boto3"))
    elif library == "pynamodb":
        on_pynamodb.connect_to(url)
        yield on_pynamodb.Theirs()
    else:
        with Theirs(place, library, url) as theirs:
            yield theirs


@contextmanager
def play(library: str, place: Path, seed: int, **instead: Any) -> Iterator[Play]:
    """A table of a library; `instead` has classes that take the place of a kind's."""
    declared = import_module(f"tests.soak.beside.on_{library}")
    with (
        Engine.start(exposed=True) as engine,
        connect(engine.url) as db,
        other_side(library, place, engine.url) as theirs,
    ):
        db.create_table(declared.shop)
        client = boto3.client("dynamodb", endpoint_url=engine.url, **ACCESS)
        yield Play(client, declared.shop, Ours(db, {**declared.KINDS, **instead}), theirs, seed)


@pytest.mark.parametrize("library", ["boto3", "pynamodb", "electrodb", "toolbox", "onetable"])
def test_both_programs_write_one_table(library: str, place: Path) -> None:
    """2,000 items of six kinds, then 5,000 operations by both."""
    with play(library, place, seed=7) as both:
        both.fill(2000)
        both.look()
        both.keep_bytes()
        both.go(5000)
        both.look()
        both.keep_bytes()


less = Table("electrodb", indexes=["gsi1"], foreign=True, type_attribute="__edb_e__")


class WithoutStamp(Entity, table=less, type="slot"):
    day: str
    slot: int
    note: str | None = None

    @less.key
    @staticmethod
    def of(day: str, slot: int = ANY) -> Key:
        return f"DAY#{day:raw}", f"SLOT#{slot:raw}"


class OtherWidth(Entity, table=less, type="invoice", stamp=STAMP, ambiguous=True):
    customer: str
    number: int
    paid: bool
    lines: list[Line] = made(default_factory=list[Line])

    @less.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"$shop#customer_{customer:lower}", f"$invoice_1#number_{number:06}"


class OtherCase(Entity, table=less, type="Customer", stamp=STAMP, ambiguous=True):
    id: str
    name: str
    email: str
    note: str | None = None

    @less.key
    @staticmethod
    def of(id: str) -> Key:
        return f"$shop#id_{id:lower}", "$customer_1"

    @less.index("gsi1")
    @staticmethod
    def by(email: str) -> Key:
        return f"$shop#email_{email:raw}", "$customer_1"


FAULTS = {"slot": WithoutStamp, "invoice": OtherWidth, "customer": OtherCase}


@pytest.mark.parametrize("kind", FAULTS)
def test_a_fault_of_a_declaration_is_found(kind: str, place: Path) -> None:
    """A stamp that is left out, a width that is another, an index key in another case."""
    with play("electrodb", place, 7, **{kind: FAULTS[kind]}) as both:
        both.fill(100)
        with pytest.raises((Difference, SingletableError)):
            go_and_look(both)


def go_and_look(both: Play) -> None:
    both.go(300)
    both.look()


counted = Table("counted", foreign=True, write_id_attribute="lastWrite")


class Stock(Entity, table=counted, type="stock"):
    sku: str
    units: int = 0
    version: int = field(version=True, default=0)

    @counted.key
    @staticmethod
    def of(sku: str) -> Key:
        return f"{sku:raw}", "stock"


class StockModel(Model):
    """The same, as a program with PynamoDB declares it."""

    class Meta:
        table_name = "counted"
        region = "local"
        host = ""
        aws_access_key_id = "x"
        aws_secret_access_key = "x"

    pk = UnicodeAttribute(hash_key=True)
    sk = UnicodeAttribute(range_key=True)
    sku = UnicodeAttribute()
    units = NumberAttribute(default=0)
    version = VersionAttribute()


def test_both_programs_count_the_writes_of_an_item() -> None:
    """Who wrote last is the one that the other's outdated object is refused for."""
    with Engine.start(exposed=True) as engine, connect(engine.url) as db:
        StockModel.Meta.host = engine.url
        db.create_table(counted)
        StockModel("a", "stock", sku="a").save()
        ours = db.get(Stock.of("a"))
        assert ours is not None
        theirs = StockModel.get("a", "stock")
        assert (ours.version, theirs.version) == (1, 1)
        theirs.update([StockModel.units.set(1)])
        with pytest.raises(Conflict):
            db.update(ours, attr(Stock.units).set(2))
        db.update(Stock.of("a"), attr(Stock.units).set(3))
        with pytest.raises(UpdateError):
            theirs.update([StockModel.units.set(4)])
        theirs.refresh()
        assert (theirs.units, theirs.version) == (3, 3)
        db.create(Stock(sku="b"))
        again = StockModel.get("b", "stock")
        again.units = 5
        again.save()
        assert [(each.sku, each.units, each.version) for each in db.scan(Stock)] == [("a", 3, 3), ("b", 5, 2)]
        assert db.check(counted) == []
