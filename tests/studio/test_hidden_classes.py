"""A class that a user may not read: no page, twin, action or feed tells its name, its values, or how many it has."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any
from urllib.parse import quote

import httpx
import pytest

from singletable import ANY, Collection, Entity, Key, Table, collect, copy_of, field
from singletable.graph import Edge, Graph, GraphTable, Node
from singletable.studio import studio
from singletable.studio.pages import actions, feeds, pages
from tests.studio.test_hostile import Links
from tests.studio.visitor import client_of
from tests.support.engines import awaiting, fresh
from tests.support.raw import put_raw
from tests.support.sampling import strides

shop = Table("shop", indexes=["gsi1"], stream="new_and_old")
web = GraphTable("web", indexes=["gsi0"])
HIDDEN = 37
MARK = re.compile(r"zebra", re.IGNORECASE)
"""What is in each name, key and value of the hidden classes."""


class ZebraCustomer(Entity, table=shop, type="zebracustomer"):
    """Nobody knows of zebras."""

    id: str
    name: str
    email: str | None = field(default=None, unique=True)
    revision: int = field(version=True, default=0)

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"customer#{id}", "customer"

    @shop.index("gsi1")
    @staticmethod
    def by_name(name: str = ANY) -> Key:
        return "names", f"{name}"


class ZebraNote(Entity, table=shop, type="zebranote"):
    id: str
    number: int
    text: str

    @shop.key
    @staticmethod
    def of_customer(id: str, number: int = ANY) -> Key:
        return f"customer#{id}", f"a-note#{number}"


class Order(Entity, table=shop, type="order"):
    """What a ZebraCustomer ordered."""

    id: str = field(belongs_to=ZebraCustomer.id)
    number: int
    buyer: str = copy_of(ZebraCustomer.name)

    @shop.key
    @staticmethod
    def of_customer(id: str, number: int = ANY) -> Key:
        """Those of a ZebraCustomer."""
        return f"customer#{id}", f"order#{number}"

    @shop.index("gsi1")
    @staticmethod
    def by_number(number: int = ANY) -> Key:
        return "names", f"{number}"


class Account(Collection):
    customer: ZebraCustomer
    orders: list[Order]

    by_id = collect(ZebraCustomer.by_id)


class Knot(Node, table=web, type="KNOT"):
    """No ZebraKnot."""

    title: str


class ZebraKnot(Node, table=web, type="ZEBRA"):
    title: str


class Tie(Edge[Knot, Knot | ZebraKnot], table=web, type="TIE", mirrors=("label",)):
    """Also to a ZebraKnot."""

    label: str

    @web.index("gsi0")
    @staticmethod
    def by_label(label: str = ANY) -> str:
        return f"{label}"


class ZebraTie(Edge[Knot | ZebraKnot, Knot], table=web, type="ZEBRATIE", mirrors=("label",)):
    label: str

    @web.index("gsi0")
    @staticmethod
    def by_label(label: str = ANY) -> str:
        return f"{label}"


READABLE = (Order, Knot, Tie)
ORDER = f"pk=customer%23c1&sk={quote(Order.of_customer('c1', 1).low)}"
SECOND = f"pk=customer%23c1&sk={quote(Order.of_customer('c1', 2).low)}"
NOTE = f"pk=customer%23c1&sk={quote(ZebraNote.of_customer('c1', 1).low)}"
KEYS: tuple[str, ...] = (
    "pk=customer%23c1",
    "pk=customer%23c1&sk=customer",
    NOTE,
    "pk=nowhere&sk=x",
    "pk=names&index=gsi1",
    ORDER,
)
KEYS += (
    "pk=customer%23c1&by=gsi1",
    f"{ORDER}&changes=1",
    f"{SECOND}&changes=1",
    "pk=KNOT-k1&sk=KNOT-k1",
    "pk=KNOT-k1&sk=KNOT-k1&changes=1",
)
OTHERS = (
    "",
    "id=c1",
    "id=c1&run=1",
    "node=KNOT-k1",
    "node=KNOT-k2",
    "node=nothing",
    "of=Knot",
    "sql=SELECT+1",
    "key=t1",
)


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    def may(user: str, kind: type[Any], right: str) -> bool:
        return kind in READABLE

    with fresh() as opened:
        for table in (shop, web):
            opened.create_table(table)
        opened.create(ZebraCustomer(id="c1", name="Zebra Ada", email="zebra@example.org"))
        opened.write_many(puts=[ZebraNote(id="c1", number=n, text=f"zebra {n}") for n in range(HIDDEN)])
        opened.write_many(puts=[Order(id="c1", number=n, buyer="Ada") for n in (1, 2)])
        place = shop.definition.key, (Order.of_customer("c1", 2).partition, Order.of_customer("c1", 2).low)
        for type, text in (("zebranote", "zebra before"), ("order", "Ada")):  # one after the other under one key
            texts = {
                **dict(zip(*place, strict=True)),
                shop.definition.type_attribute: type,
                "id": "c1",
                "buyer": "Ada",
                "text": text,
            }
            item = {name: {"S": text} for name, text in texts.items()}
            opened.run(put_raw(opened.port, Order, item | {"number": {"N": "2"}}))
        one, two, hidden = Knot(id="k1", title="One"), Knot(id="k2", title="Two"), ZebraKnot(id="z1", title="Zebra")
        ties: list[Edge[Any, Any]] = [
            Tie(source=one, target=two, label="a"),
            ZebraTie(source=one, target=two, label="zebra"),
        ]
        Graph(opened).load([one, two, hidden], [*ties, ZebraTie(source=hidden, target=one, label="zebra")])
        async with awaiting(opened) as db:
            made = studio(db, shop, web, authenticate=lambda request: "eve", authorise=may, write=True)
            async with client_of(made) as client:
                client.headers["origin"] = str(client.base_url).rstrip("/")
                yield client


def paths(entity: str = "Order", name: str = "of_customer") -> Iterator[str]:
    """Every page and its twin, and each feed, with each query."""
    routes = [*(page.path for page in pages()), *(f"{page.path}.json" for page in pages()), *(f.path for f in feeds())]
    for route in routes:
        for table in ("shop", "web") if "{table}" in route else ("",):
            path = route.format_map({"table": table, "entity": entity, "name": name, "kind": entity})
            yield from (f"{path}?{query}" for query in (*KEYS, *OTHERS))


def numbers(value: Any) -> Iterator[float]:
    """Each number of a view but those of its cost."""
    if isinstance(value, dict):
        for name, each in value.items():
            yield from () if name in ("cost", "total") else numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, (int, float)):
        yield value


def check(path: str, answer: httpx.Response) -> None:
    assert answer.status_code < 500, path
    assert MARK.search(answer.text) is None, (path, MARK.findall(answer.text), around(answer.text))
    if "json" in answer.headers.get("content-type", "") and "text/event" not in answer.headers["content-type"]:
        assert {HIDDEN, HIDDEN + 1, HIDDEN + 3, HIDDEN + 4}.isdisjoint(numbers(answer.json())), path


def around(text: str) -> list[str]:
    return [text[max(0, found.start() - 120) : found.end() + 60] for found in MARK.finditer(text)][:3]


@strides(3)
async def test_no_page_tells_of_it(client: httpx.AsyncClient, stride: int) -> None:
    """Each page with some of the 20 queries, each query on some of the pages; the long run asks all of all."""
    found = 0
    for path in list(dict.fromkeys((*paths(), *paths("Knot", "by_key"), *paths("Tie", "by_label"))))[::stride]:
        answer = await client.get(path)
        check(path, answer)
        found += answer.status_code == 200
    assert found > 400 // stride


async def test_no_link_leads_to_it(client: httpx.AsyncClient) -> None:
    left, seen = ["/"], set[str]()
    while left and len(seen) < 120:
        path = left.pop(0)
        if path in seen or path.startswith("/static"):
            continue
        seen.add(path)
        answer = await client.get(path)
        check(path, answer)
        left += Links(answer.text).found
    assert len(seen) > 40


async def test_no_action_tells_of_it(client: httpx.AsyncClient) -> None:
    token = re.search(r'name="form_token" value="([^"]+)"', (await client.get("/")).text)
    assert token is not None
    for action in actions():
        for query in (*KEYS, *OTHERS):
            for table in ("shop", "web"):
                path = action.path.format_map(
                    {"table": table, "entity": "Order", "name": "of_customer", "kind": "Order"}
                )
                form = {"form_token": token[1], "key": "t1", "do": "drop", "seen": "", "id": "c1"}
                check(path, await client.post(f"{path}?{query}", data=form))


@pytest.mark.parametrize("entity", ["ZebraCustomer", "ZebraNote", "Account", "ZebraKnot", "ZebraTie"])
async def test_what_is_named_is_answered_as_what_is_nowhere(client: httpx.AsyncClient, entity: str) -> None:
    """By its class and patterns, by its key, by its node: the answer is the same but for the name that was asked."""
    asked = [(entity, name) for name in ("by_id", "of_customer", "by_name", "by_key", "by_label")]
    for name, pattern in asked:
        for path in (f"/patterns/{{}}/{name}/{pattern}.json?id=c1&run=1", f"/model/{{}}/{name}.json"):
            for table in ("shop", "web"):
                given = path.format(table)
                other = given.replace(entity, "Q" * len(entity))
                answer, control = await client.get(given), await client.get(other)
                assert (answer.status_code, bare(answer, entity)) == (404, bare(control, "Q" * len(entity)))
    item, missing = await client.get(f"/item/shop.json?{KEYS[1]}"), await client.get(f"/item/shop.json?{KEYS[3]}")
    assert (item.status_code, bare(item)) == (404, bare(missing))
    node, nothing = [await client.get(f"/graph/web.json?node={key}") for key in ("ZEBRA-z1", "ZZZZZ-z1")]
    assert (node.status_code, bare(node)) == (400, bare(nothing))


async def test_what_may_be_read_is_shown_beside_it(client: httpx.AsyncClient) -> None:
    found = (await client.get("/partition/shop.json?pk=customer%23c1")).json()
    assert (found["count"], [each["kind"] for each in found["groups"][0]["items"]]) == (2, ["Order", "Order"])
    assert found["classes"] == [{"kind": "Order", "colour": found["classes"][0]["colour"], "count": 2}]
    for table, key in (("shop", ORDER), ("web", KEYS[-1])):
        for page in ("", "/edit"):
            assert (await client.get(f"/item/{table}{page}?{key}")).status_code == 200
    graph = (await client.get("/graph/web.json")).json()["graph"]
    assert [(each["name"], each["sources"], each["targets"]) for each in graph["edges"]] == [
        ("Tie", ["Knot"], ["Knot"])
    ]
    node = (await client.get("/graph/web.json?node=KNOT-k1")).json()["node"]
    assert [edge["type"] for edge in node["outgoing"]["edges"]] == ["Tie"]
    assert (node["incoming"], list(node["expanding"])) == ({"Tie": {"edges": [], "cursor": None}}, ["Knot"])


def bare(answer: httpx.Response, name: str = "") -> Any:
    """An answer without its cost, and without the name that it was asked for."""
    body = answer.json()
    del body["cost"]
    return str(body).replace(quote(name), "") if name else str(body)
