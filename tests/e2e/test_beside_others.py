"""Tables that boto3 code and PynamoDB made: read whole, and written by both programs in turn."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from typing import Any

import boto3
import pytest
from pynamodb.attributes import (
    BooleanAttribute,
    DiscriminatorAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex
from pynamodb.models import Model

from singletable import ANY, Database, Entity, Index, Key, Table, at_least, attr, connect, field
from singletable.tables import N
from singletable_local import Engine

KEYS: dict[str, Any] = {"aws_access_key_id": "x", "aws_secret_access_key": "x", "region_name": "local"}
AT = datetime(2030, 1, 31, 12, tzinfo=timezone.utc)
shop = Table("shop", key=("PK", "SK"), indexes={"GSI1": Index("GSI1PK", "GSI1SK")}, foreign=True)


class Profile(Entity, table=shop, type="profile"):
    user: str = field(in_key=True)
    name: str = ""

    @shop.key
    @staticmethod
    def of(user: str) -> Key:
        return f"USER#{user}", "PROFILE"


class Order(Entity, table=shop, type="order"):
    user: str
    number: int
    status: str = "open"
    created: str = ""

    @shop.key
    @staticmethod
    def of(user: str, number: int = ANY) -> Key:
        return f"USER#{user}", f"ORDER#{number:raw}"

    @shop.index("GSI1")
    @staticmethod
    def by_status(status: str, created: str = ANY) -> Key:
        return f"STATUS#{status}", f"{created}"


class Line(Entity, table=shop, type="line"):
    number: int = field(in_key=True)
    line: int = field(in_key=True)
    sku: str

    @shop.key
    @staticmethod
    def of(number: int, line: int = ANY) -> Key:
        return f"ORDER#{number:raw}", f"ITEM#{line:04}"


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine.start(exposed=True)
    yield made
    made.stop()


@pytest.fixture(scope="module")
def db(engine: Engine) -> Iterator[Database]:
    with connect(engine.url) as made:
        yield made


def by_hand(user: str, number: int, status: str) -> dict[str, Any]:
    """An order as code with boto3 writes it."""
    keys = {"PK": f"USER#{user}", "SK": f"ORDER#{number}", "GSI1PK": f"STATUS#{status}", "GSI1SK": f"T{number:03}"}
    return {**keys, "user": user, "number": number, "status": status, "created": f"T{number:03}", "note": "by hand"}


def test_a_table_of_boto3_code(engine: Engine, db: Database) -> None:
    db.create_table(shop)
    table: Any = boto3.resource("dynamodb", endpoint_url=engine.url, **KEYS).Table("shop")
    with table.batch_writer() as batch:
        for user in ("ada", "bob"):
            batch.put_item({"PK": f"USER#{user}", "SK": "PROFILE", "name": user.title()})
            for number in range(1, 31):
                batch.put_item(by_hand(user, number, "open"))
        batch.put_item({"PK": "ORDER#7", "SK": "ITEM#0001", "sku": "s-1"})
    before = sorted(table.scan()["Items"], key=lambda item: (item["PK"], item["SK"]))
    assert len(list(db.scan(Order))) == 60
    read = [*db.all(Profile.of("ada").also(Order)), *db.all(Profile.of("bob").also(Order)), *db.all(Line.of(7))]
    assert len(read) == 63
    for entity in read:
        db.put(entity)
    assert sorted(table.scan()["Items"], key=lambda item: (item["PK"], item["SK"])) == before
    db.update(Order.of("ada", 7), attr(Order.status).set("paid"))
    table.update_item(
        Key={"PK": "USER#ada", "SK": "ORDER#7"},
        UpdateExpression="SET note = :note",
        ExpressionAttributeValues={":note": "again"},
    )
    db.create(Order(user="ada", number=100, created="T100"))
    table.put_item(Item=by_hand("ada", 101, "paid"))
    assert db.delete(Order.of("ada", 1)) is not None
    changed = {**by_hand("ada", 7, "open"), "status": "paid", "GSI1PK": "STATUS#paid", "note": "again"}
    assert table.get_item(Key={"PK": "USER#ada", "SK": "ORDER#7"})["Item"] == changed
    assert [order.number for order in db.all(Order.by_status("paid", at_least("T007")))] == [7, 101]
    assert len(table.scan()["Items"]) == 63 + 2 - 1
    assert db.check(shop) == []


class ByOwner(GlobalSecondaryIndex["Document"]):  # type: ignore[no-untyped-call]
    class Meta:
        index_name = "by_owner"
        projection = AllProjection()

    owner = UnicodeAttribute(hash_key=True)
    at = NumberAttribute(range_key=True)


class Document(Model):
    """As a program with PynamoDB declares it."""

    class Meta:
        table_name = "documents"
        region = "local"
        host = ""
        aws_access_key_id = "x"
        aws_secret_access_key = "x"
        billing_mode = "PAY_PER_REQUEST"

    tenant = UnicodeAttribute(hash_key=True)
    at = NumberAttribute(range_key=True)
    cls = DiscriminatorAttribute()
    owner = UnicodeAttribute()
    title = UnicodeAttribute(default="")
    tags = UnicodeSetAttribute(null=True)
    done = BooleanAttribute(default=False)
    expires = TTLAttribute(null=True)
    by_owner = ByOwner()


class Memo(Document, discriminator="memo"):
    size = NumberAttribute(default=0)


documents = Table(
    "documents",
    key=("tenant", N("at")),
    indexes={"by_owner": ("owner", N("at"))},
    foreign=True,
    type_attribute="cls",
    ttl_attribute="expires",
)


class OurMemo(Entity, table=documents, type="memo"):
    tenant: str
    at: int
    owner: str
    title: str = ""
    tags: set[str] = field(default_factory=set[str])
    done: bool = False
    expires: datetime | None = field(expires=True, default=None)

    @documents.key
    @staticmethod
    def of(tenant: str, at: int = ANY) -> Key:
        return f"{tenant}", f"{at}"

    @documents.index("by_owner")
    @staticmethod
    def by_owner(owner: str, at: int = ANY) -> Key:
        return f"{owner}", f"{at}"


def test_a_table_of_pynamodb(engine: Engine, db: Database) -> None:
    Document.Meta.host = engine.url
    Document.create_table(wait=True)
    client: Any = boto3.client("dynamodb", endpoint_url=engine.url, **KEYS)
    client.update_time_to_live(
        TableName="documents", TimeToLiveSpecification={"Enabled": True, "AttributeName": "expires"}
    )
    for at in range(20):
        Memo("t#1", at, owner="ann" if at % 2 else "bob", size=at, tags={"a"} if at % 3 else None, expires=AT).save()
    before = client.scan(TableName="documents")["Items"]
    memos = db.all(OurMemo.of("t#1"))
    assert [(memo.at, memo.expires) for memo in memos] == [(at, AT) for at in range(20)]
    for memo in memos:
        db.put(memo)
    assert client.scan(TableName="documents")["Items"] == before
    db.update(OurMemo.of("t#1", 3), attr(OurMemo.title).set("T"), attr(OurMemo.owner).set("cid"))
    theirs = Memo.get("t#1", 3)
    assert (theirs.title, theirs.owner, theirs.size) == ("T", "cid", 3)
    theirs.update([Memo.done.set(True)])
    assert [memo.done for memo in db.all(OurMemo.by_owner("cid"))] == [True]
    db.create(OurMemo(tenant="t#1", at=100, owner="cid", expires=AT + timedelta(days=1)))
    assert [memo.at for memo in Memo.by_owner.query("cid", Memo.at >= 3)] == [3, 100]
    assert isinstance(Memo.get("t#1", 100), Memo)
    Memo.get("t#1", 4).delete()
    assert db.get(OurMemo.of("t#1", 4)) is None
    assert db.delete(OurMemo.of("t#1", 5)) is not None
    assert [memo.at for memo in Memo.query("t#1", Memo.at < 7)] == [0, 1, 2, 3, 6]
    assert db.check(documents) == []
    assert list(db.diff_table(documents)) == []
