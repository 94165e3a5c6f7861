"""The table of a program with boto3: no type attribute, ids in keys only, times as Python says them, NULL for None."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field as made
from datetime import datetime
from decimal import Decimal
from typing import Any, Final

from boto3.dynamodb.conditions import Key as KeyOf

from singletable import ANY, Entity, Index, Key, Table, field
from singletable.values import PythonIso
from tests.soak.beside.records import Record
from tests.soak.beside.sides import as_record, in_time

shop = Table(
    "boto3", key=("PK", "SK"), indexes={"GSI1": Index("GSI1PK", "GSI1SK")}, foreign=True, ttl_attribute="expires"
)


@dataclass
class Line:
    sku: str
    quantity: int


class Customer(Entity, table=shop, type="customer"):
    id: str = field(in_key=True)
    name: str
    email: str
    note: str | None = None

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"USER#{id:raw}", "PROFILE"

    @shop.index("GSI1")
    @staticmethod
    def by(email: str) -> Key:
        return f"EMAIL#{email:lower}", "PROFILE"


class Order(Entity, table=shop, type="order"):
    customer: str
    number: int
    status: str
    total: Decimal
    placed: PythonIso
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"USER#{customer:raw}", f"ORDER#{number:raw}"

    @shop.index("GSI1")
    @staticmethod
    def by(status: str, number: int = ANY) -> Key:
        return f"STATUS#{status:raw}", f"{number:raw}"


class Invoice(Entity, table=shop, type="invoice"):
    customer: str = field(in_key=True)
    number: int = field(in_key=True)
    paid: bool
    lines: list[Line] = made(default_factory=list[Line])

    @shop.key
    @staticmethod
    def of(customer: str, number: int = ANY) -> Key:
        return f"USER#{customer:raw}", f"INVOICE#{number:06}"


class Event(Entity, table=shop, type="event"):
    customer: str
    at: int
    id: str
    meta: dict[str, Any] | None = None

    @shop.key
    @staticmethod
    def of(customer: str, at: int = ANY, id: str = ANY) -> Key:
        return f"LOG#{customer:raw}", f"{at:013}#{id:ulid}"


class Session(Entity, table=shop, type="session"):
    token: str = field(in_key=True)
    user: str
    expires: datetime = field(expires=True)

    @shop.key
    @staticmethod
    def of(token: str) -> Key:
        return f"SESSION#{token:raw}", "METADATA"


class Slot(Entity, table=shop, type="slot"):
    day: str = field(in_key=True)
    slot: int = field(in_key=True)
    note: str | None = None

    @shop.key
    @staticmethod
    def of(day: str, slot: int = ANY) -> Key:
        return f"tenant-{day:raw}", f"SLOT#{slot:raw}"


KINDS = {"customer": Customer, "order": Order, "invoice": Invoice, "event": Event, "session": Session, "slot": Slot}
_PLACES: Final[Mapping[str, tuple[str, str]]] = {
    "customer": ("USER#{id}", "PROFILE"),
    "order": ("USER#{customer}", "ORDER#{number}"),
    "invoice": ("USER#{customer}", "INVOICE#{number:06}"),
    "event": ("LOG#{customer}", "{at}#{id}"),
    "session": ("SESSION#{token}", "METADATA"),
    "slot": ("tenant-{day}", "SLOT#{slot}"),
}
_IN_KEY: Final = {
    "customer": ("id",),
    "invoice": ("customer", "number"),
    "session": ("token",),
    "slot": ("day", "slot"),
}
_MAY_LACK: Final = {"customer": ("note",), "event": ("meta",), "slot": ("note",)}


def place(kind: str, record: Record) -> Record:
    """The key of a record."""
    return dict(zip(("PK", "SK"), (text.format(**record) for text in _PLACES[kind]), strict=True))


def index_key(kind: str, record: Record) -> Record:
    """The attributes of the index's key, as far as a record has what they are made of."""
    if kind == "customer" and "email" in record:
        return {"GSI1PK": f"EMAIL#{record['email'].lower()}", "GSI1SK": "PROFILE"}
    return {"GSI1PK": f"STATUS#{record['status']}"} if kind == "order" and "status" in record else {}


def values(kind: str, record: Record) -> Record:
    """The attributes of a record, as boto3 takes them."""
    given = {name: value for name, value in record.items() if name not in _IN_KEY.get(kind, ())}
    if "placed" in given:
        given["placed"] = in_time("placed", given["placed"]).isoformat()
    if "total" in given:
        given["total"] = Decimal(str(given["total"]))
    if "tags" in given:
        given["tags"] = set(given["tags"])
    if given.get("meta"):
        given["meta"] = {**given["meta"], "n": [Decimal(str(number)) for number in given["meta"]["n"]]}
    return given


class Theirs:
    """Code with boto3."""

    def __init__(self, table: Any) -> None:
        self.table = table

    def put(self, kind: str, record: Record) -> None:
        absent = dict.fromkeys(_MAY_LACK.get(kind, ()))
        keys = {**place(kind, record), **index_key(kind, record)}
        keys |= {"GSI1SK": str(record["number"])} if kind == "order" else {}
        self.table.put_item(Item={**absent, **values(kind, record), **keys})

    def get(self, kind: str, key: Record) -> Record | None:
        item = self.table.get_item(Key=place(kind, key), ConsistentRead=True).get("Item")
        return None if item is None else self._record(kind, item)

    def update(self, kind: str, key: Record, given: Record, removed: Sequence[str]) -> None:
        sets = {**values(kind, given), **index_key(kind, given)}
        names = {f"#{name}": name for name in (*sets, *removed)}
        text = f"SET {', '.join(f'#{name} = :{name}' for name in sets)} " if sets else ""
        text += f"REMOVE {', '.join(f'#{name}' for name in removed)}" if removed else ""
        places = {f":{name}": value for name, value in sets.items()}
        more = {"ExpressionAttributeValues": places} if places else {}
        self.table.update_item(Key=place(kind, key), UpdateExpression=text, ExpressionAttributeNames=names, **more)

    def delete(self, kind: str, key: Record) -> None:
        self.table.delete_item(Key=place(kind, key))

    def all(self, kind: str) -> list[Record]:
        begins = [text.partition("{")[0] for text in _PLACES[kind]]
        items = self._pages(self.table.scan)
        return [self._record(kind, i) for i in items if i["PK"].startswith(begins[0]) and i["SK"].startswith(begins[1])]

    def by(self, kind: str, asked: Record) -> list[Record]:
        condition = KeyOf("GSI1PK").eq(index_key(kind, asked)["GSI1PK"])
        pages = self._pages(self.table.query, IndexName="GSI1", KeyConditionExpression=condition)
        return [self._record(kind, item) for item in pages]

    def _pages(self, read: Any, **asked: Any) -> list[Record]:
        items, more = list[Record](), asked
        while True:
            page = read(**more)
            items += page["Items"]
            if "LastEvaluatedKey" not in page:
                return items
            more = {**asked, "ExclusiveStartKey": page["LastEvaluatedKey"]}

    @staticmethod
    def _record(kind: str, item: Record) -> Record:
        """A record of an item: what is in its key only is read from there."""
        read = {name: value for name, value in item.items() if not name.startswith(("PK", "SK", "GSI1"))}
        partition, sort = item["PK"], item["SK"]
        if kind in _IN_KEY and kind != "slot":
            read[_IN_KEY[kind][0]] = partition.partition("#")[2]
        if kind == "slot":
            read |= {"day": partition.removeprefix("tenant-"), "slot": int(sort.partition("#")[2])}
        if kind == "invoice":
            read["number"] = int(sort.partition("#")[2])
        if "placed" in read:
            read["placed"] = datetime.fromisoformat(read["placed"])
        return as_record(read)
