"""Item: what it is and costs, whether it is right; edited and deleted under what was seen, by the library's rules."""

from __future__ import annotations

import logging
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timezone
from decimal import Decimal
from enum import Enum
from html import unescape
from typing import Any

import pytest

from singletable import AsyncDatabase, Entity, Key, Table, attr, copy_of, field
from singletable.foundation import COVERED
from singletable.operations import TableCall, encode, read_item
from singletable.schema import model_of
from singletable.studio import studio
from singletable.studio.edits import WHY_UNDECLARED, fields_of
from tests.studio.visitor import Visitor, client_of, shown, visiting
from tests.support.engines import fresh_async

shop = Table("shop", indexes=["gsi1"], stream="new_and_old")
_HIDDEN = re.compile(r'<textarea hidden name="([^"]+)" aria-hidden="true">\n(.*?)</textarea>', re.DOTALL)
AT = datetime(2026, 1, 1, 9, 30, tzinfo=timezone.utc)


class State(Enum):
    OPEN = "open"
    SENT = "sent"


class Customer(Entity, table=shop, type="customer"):
    """Somebody who buys."""

    id: str
    name: str = ""
    email: str | None = field(default=None, unique=True)
    phone: str = field(default="", personal=True)
    revision: int = field(version=True, default=0)

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"customer#{id}", "customer"


class Order(Entity, table=shop, type="order"):
    id: str
    customer: str
    state: State = State.OPEN
    total: Decimal = Decimal(0)
    count: int = 0
    paid: bool = False
    sent_at: datetime | None = None
    note: str | None = None
    lines: list[str] = field(default_factory=list[str])
    tags: set[str] = field(default_factory=set[str])

    @shop.key
    @staticmethod
    def of_customer(customer: str, id: str) -> Key:
        return f"customer#{customer}", f"order#{id}"

    @shop.index("gsi1")
    @staticmethod
    def by_state(state: State, id: str) -> Key:
        return f"state#{state}", f"{id}"


class Address(Entity, table=shop, type="address"):
    id: str
    city: str = ""
    name: str = copy_of(Customer.name, default="")

    @shop.key
    @staticmethod
    def of(id: str) -> Key:
        return f"customer#{id}", "address"


class Odd(Entity, table=shop, type="odd"):
    """Its attributes are called as parts of the form and of addresses are."""

    id: str
    k: str = "a"
    seen: str = "a"
    confirmed: str = "a"
    table_name: str = "a"

    @shop.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"odd#{id}", "odd"


CUSTOMER, ORDER = "pk=customer%23c1&sk=customer", "pk=customer%23c1&sk=order%23o1"


@pytest.fixture
async def shopkeeper() -> AsyncIterator[Visitor]:

    async with fresh_async() as db:
        await db.create_table(shop)
        await db.create(Customer(id="c1", name="Ada", email="ada@example.org", phone="0123"))
        await db.create(Order(id="o1", customer="c1", note="a\nb", lines=["x"], tags={"t"}, total=Decimal("1.50")))
        async with visiting(db, shop, write=True) as visitor:
            yield visitor


async def form_of(visitor: Visitor, key: str, **changed: str) -> dict[str, str]:
    """The form of an item as a browser sends it, with some fields changed."""
    page = await visitor.json(f"/item/shop/edit.json?{key}")
    form = {f"value.{f['name']}": f["text"].replace("\n", "\r\n") for f in page["fields"] if f["form"] != "fixed"}
    form |= {f"none.{f['name']}": "1" for f in page["fields"] if f["is_none"]}
    form |= {"seen": page["seen"], "seen_values": page["seen_values"]}
    form["form_token"] = await visitor.token(f"/item/shop/edit?{key}")
    return form | {name if name == "confirmed" else f"value.{name}": text for name, text in changed.items()}


async def confirmed(visitor: Visitor, path: str, form: dict[str, str]) -> Any:
    """Send a form, and what its answer asks to confirm."""
    answer = await visitor.send(path, form)
    assert answer.status_code == 200, shown(answer.text)
    again = {unescape(name): unescape(value) for name, value in _HIDDEN.findall(answer.text)}
    return await visitor.send(path, again | {"form_token": form["form_token"]})


def cells_of(html: str, name: str) -> list[str]:
    """The cells of an attribute's row."""
    (row,) = re.findall(rf'<th scope="row"[^>]*>{name}\b(.*?)</tr>', html, re.DOTALL)
    return [shown(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", row, re.DOTALL)]


def db_of(visitor: Visitor) -> AsyncDatabase:
    return visitor.studio.site.db


async def order(visitor: Visitor) -> Order:
    found = await db_of(visitor).get(Order.of_customer("c1", "o1"))
    assert found is not None
    return found


async def customer(visitor: Visitor) -> Customer:
    found = await db_of(visitor).get(Customer.by_id("c1"))
    assert found is not None
    return found


# --- looking ----------------------------------------------------------------------------------------------------------
async def test_an_item_decoded_and_raw(shopkeeper: Visitor) -> None:
    page = await shopkeeper.json(f"/item/shop.json?{ORDER}")
    values = {row["name"]: row["value"] for row in page["attributes"]}
    assert (values["total"], values["tags"], values["state"]) == (1.5, ["t"], "open")
    assert '"pk": {' in page["raw"]
    assert page["bytes"] > sum(row["bytes"] for row in page["attributes"])
    assert (page["read_units"], page["write_units"]) == (0.5, 1.0)
    assert [(entry["index"], entry["is_in"]) for entry in page["indexes"]] == [("gsi1", True)]
    assert (page["version"], page["version_known"], page["findings"]) == (1, 1, [])
    assert page["cost"]["requests"] == 1


async def test_guards_and_copies_and_whether_they_are_right(shopkeeper: Visitor) -> None:
    db = db_of(shopkeeper)
    page = await shopkeeper.json(f"/item/shop.json?{CUSTOMER}")
    assert ([each["of"] for each in page["guards"]], page["findings"]) == (["email"], [])
    guard = await shopkeeper.json(page["guards"][0]["address"].replace("?", ".json?"))
    assert (guard["kind"], guard["edit_address"]) == ("UniqueGuard", "")
    await db.create(Address(id="c1", name="Ada"))
    await db.update(Customer.by_id("c1"), attr(Customer.name).set("Grace"))
    page = await shopkeeper.json("/item/shop.json?pk=customer%23c1&sk=address")
    assert page["copies"][0]["of"] == "Customer.name"
    assert page["findings"][0].startswith("copy.behind")


async def test_changes_that_the_stream_still_holds(shopkeeper: Visitor) -> None:
    await db_of(shopkeeper).update(Order.of_customer("c1", "o1"), attr(Order.count).set(5))
    page = await shopkeeper.json(f"/item/shop.json?{ORDER}&changes=1")
    assert [change["what"] for change in page["changes"]["found"]] == ["modified", "inserted"]
    assert {"name": "count", "before": 0, "after": 5} in page["changes"]["found"][0]["differences"]
    without = await shopkeeper.json(f"/item/shop.json?{ORDER}")
    assert without["changes"] is None
    assert (without["cost"]["requests"], page["cost"]["requests"]) == (1, 6)  # no reading after the one that found none


async def test_an_item_that_is_not_there(shopkeeper: Visitor) -> None:
    assert "no item lies under this key" in await shopkeeper.page("/item/shop?pk=customer%23c2&sk=customer", 404)
    await shopkeeper.page("/item/shop?sk=customer", 400)


# --- editing ----------------------------------------------------------------------------------------------------------
async def test_an_edit_shows_the_difference_first(shopkeeper: Visitor) -> None:
    form = await form_of(shopkeeper, ORDER, note="changed")
    answer = await shopkeeper.send(f"/item/shop/edit?{ORDER}", form)
    assert "changed" in shown(answer.text)
    assert (await order(shopkeeper)).note == "a\nb"


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("note", "two\r\nlines", "two\nlines"),
        ("note", "", ""),
        ("state", "SENT", State.SENT),
        ("total", "2.75", Decimal("2.75")),
        ("count", " 7 ", 7),
        ("paid", "true", True),
        ("sent_at", "2026-01-01T09:30:00Z", AT),
        ("lines", '["y", "z"]', ["y", "z"]),
        ("tags", '["u"]', {"u"}),
    ],
)
async def test_each_type_is_written_as_itself(shopkeeper: Visitor, name: str, text: str, value: Any) -> None:
    before = await order(shopkeeper)
    form = await form_of(shopkeeper, ORDER, **{name: text})
    form.pop(f"none.{name}", None)
    answer = await confirmed(shopkeeper, f"/item/shop/edit?{ORDER}", form)
    assert answer.status_code == 303, shown(answer.text)
    after = await order(shopkeeper)
    assert getattr(after, name) == value
    for other in ("note", "state", "total", "count", "paid", "sent_at", "lines", "tags"):
        assert other == name or getattr(after, other) == getattr(before, other)
    assert await db_of(shopkeeper).check(shop) == []


async def test_nothing_is_written_that_was_not_changed(shopkeeper: Visitor) -> None:
    answer = await shopkeeper.send(f"/item/shop/edit?{ORDER}", await form_of(shopkeeper, ORDER))
    assert "Nothing would change" in shown(answer.text)


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("count", "many", "a whole number"),
        ("total", "", "a number"),
        ("state", "LOST", "one of OPEN, SENT"),
        ("lines", "[1]", "JSON"),
        ("lines", "[", "JSON"),
        ("sent_at", "tomorrow", "an instant"),
    ],
)
async def test_a_mistake_stands_beside_its_field(shopkeeper: Visitor, name: str, text: str, wanted: str) -> None:
    form = await form_of(shopkeeper, ORDER, **{name: text, "note": "kept"})
    form.pop(f"none.{name}", None)
    answer = await shopkeeper.send(f"/item/shop/edit?{ORDER}", form)
    assert answer.status_code == 400
    assert wanted in shown(answer.text)
    assert f'aria-describedby="p-{name}"' in answer.text
    assert ">\nkept</textarea>" in answer.text


@pytest.mark.parametrize("at", ["the form", "the confirmation"])
async def test_a_concurrent_change_is_refused_and_both_are_shown(shopkeeper: Visitor, at: str) -> None:
    path, form = f"/item/shop/edit?{ORDER}", await form_of(shopkeeper, ORDER, note="mine")
    if at == "the confirmation":
        answer = await shopkeeper.send(path, form)
        form |= {unescape(name): unescape(value) for name, value in _HIDDEN.findall(answer.text)}
    await db_of(shopkeeper).update(Order.of_customer("c1", "o1"), attr(Order.note).set("theirs"))
    answer = await shopkeeper.send(path, form)
    assert answer.status_code == 409
    assert cells_of(answer.text, "note") == ["a b", "theirs", "mine"]
    assert cells_of(answer.text, "count") == ["0", "0", "0"]
    assert answer.text.count("changed by the other") == 1
    assert (await order(shopkeeper)).note == "theirs"


async def test_a_change_between_reading_and_writing_is_refused(
    shopkeeper: Visitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The condition of the write holds it, not the look before it."""
    db = db_of(shopkeeper)
    update = db.update

    async def late(target: Any, *updates: Any, **options: Any) -> Any:
        await update(Order.of_customer("c1", "o1"), attr(Order.count).set(9))
        return await update(target, *updates, **options)

    form = await form_of(shopkeeper, ORDER, note="mine", confirmed="1")
    monkeypatch.setattr(db, "update", late)
    answer = await shopkeeper.send(f"/item/shop/edit?{ORDER}", form)
    assert answer.status_code == 409
    assert ((await order(shopkeeper)).note, (await order(shopkeeper)).count) == ("a\nb", 9)
    assert cells_of(answer.text, "count") == ["0", "9", "0"]


async def test_a_conflict_without_what_was_seen_shows_the_rest(shopkeeper: Visitor) -> None:
    form = await form_of(shopkeeper, ORDER, note="mine") | {"seen": "x"}
    damaged = await shopkeeper.send(f"/item/shop/edit?{ORDER}", form | {"seen_values": "["})
    assert damaged.status_code == 400
    del form["seen_values"]
    answer = await shopkeeper.send(f"/item/shop/edit?{ORDER}", form)
    assert (answer.status_code, cells_of(answer.text, "note")) == (409, ["a b", "mine"])


async def test_a_conflict_keeps_what_is_covered(shopkeeper: Visitor) -> None:
    form = await form_of(shopkeeper, CUSTOMER, name="Grace", phone="0123")
    assert "0123" not in form["seen_values"]
    await db_of(shopkeeper).update(Customer.by_id("c1"), attr(Customer.name).set("Eve"))
    answer = await shopkeeper.send(f"/item/shop/edit?{CUSTOMER}", form)
    assert answer.status_code == 409
    assert cells_of(answer.text, "phone") == [COVERED] * 3
    assert cells_of(answer.text, "revision") == ["1", "2", "1"]
    assert "the other changed is covered" not in answer.text


async def test_nobody_can_try_values_of_what_is_covered(shopkeeper: Visitor) -> None:
    """What an item was is in its form as a digest with a secret of the studio: the same item has another elsewhere."""
    form = await form_of(shopkeeper, CUSTOMER)
    async with visiting(db_of(shopkeeper), shop, write=True) as another:
        elsewhere = await form_of(another, CUSTOMER)
    assert (form["seen_values"], len(form["seen"])) == (elsewhere["seen_values"], 64)
    assert form["seen"] != elsewhere["seen"]


async def test_a_conflict_over_what_is_covered_says_so(shopkeeper: Visitor) -> None:
    key = "pk=customer%23c1&sk=address"
    await db_of(shopkeeper).create(Address(id="c1", city="Bath"))
    form = await form_of(shopkeeper, key, city="Rome")
    place = {"pk": {"S": "customer#c1"}, "sk": {"S": "address"}}
    update = {"UpdateExpression": "SET #0 = :0", "ExpressionAttributeNames": {"#0": "undeclared"}}
    update |= {"ExpressionAttributeValues": {":0": {"S": "x"}}}
    await db_of(shopkeeper).port.send(TableCall("UpdateItem", {"TableName": "shop", "Key": place} | update))
    answer = await shopkeeper.send(f"/item/shop/edit?{key}", form)
    assert cells_of(answer.text, "city") == ["Bath", "Bath", "Rome"]
    assert "What the other changed is covered, or is not declared by the class" in shown(answer.text)


async def test_attributes_may_be_called_as_parts_of_the_form(shopkeeper: Visitor) -> None:
    await db_of(shopkeeper).create(Odd(id="1"))
    key = "pk=odd%231&sk=odd"
    answer = await confirmed(shopkeeper, f"/item/shop/edit?{key}", await form_of(shopkeeper, key, k="b", seen="b"))
    assert answer.status_code == 303, shown(answer.text)
    assert await db_of(shopkeeper).get(Odd.by_id("1")) == Odd(id="1", k="b", seen="b")


async def test_the_next_page_says_once_what_a_write_took(shopkeeper: Visitor) -> None:
    form = await form_of(shopkeeper, ORDER, note="new")
    answer = await confirmed(shopkeeper, f"/item/shop/edit?{ORDER}", form)
    assert "Done. It took" not in await shopkeeper.page("/patterns")
    page = shown(await shopkeeper.page(answer.headers["location"]))
    assert "Done. It took 2 requests · 1 read unit · 2 write units" in page
    assert "Done. It took" not in await shopkeeper.page(answer.headers["location"])


async def test_what_a_write_took_is_kept_from_scripts_and_other_sites(shopkeeper: Visitor) -> None:
    answer = await confirmed(shopkeeper, f"/item/shop/edit?{ORDER}", await form_of(shopkeeper, ORDER, note="new"))
    after = await shopkeeper.client.get(answer.headers["location"])
    for cookie in (answer.headers["set-cookie"], after.headers["set-cookie"]):
        assert cookie.startswith("singletable_spent=")
        assert all(part in cookie.lower() for part in ("httponly", "samesite=strict", "path=/"))


async def test_what_a_write_took_is_for_its_page_alone(shopkeeper: Visitor) -> None:
    answer = await confirmed(shopkeeper, f"/item/shop/edit?{ORDER}", await form_of(shopkeeper, ORDER, note="new"))
    said, _, signed = answer.cookies["singletable_spent"].partition(".")
    shopkeeper.client.cookies.delete("singletable_spent")
    for forged in (f"{said}.{signed[:-1]}", f"x{said}.{signed}", f".{signed}", said, "."):
        shopkeeper.client.cookies.set("singletable_spent", forged, domain="127.0.0.1")
        assert "Done. It took" not in await shopkeeper.page(answer.headers["location"])


async def test_the_librarys_rules_hold(shopkeeper: Visitor) -> None:
    """Guards move with their value, another's value is refused, writes are counted, and index keys follow."""
    db, path = db_of(shopkeeper), f"/item/shop/edit?{CUSTOMER}"
    await db.create(Customer(id="c2", email="bob@example.org"))
    answer = await confirmed(shopkeeper, path, await form_of(shopkeeper, CUSTOMER, email="bob@example.org"))
    assert answer.status_code == 409
    assert "another item has this value" in answer.text
    answer = await confirmed(shopkeeper, path, await form_of(shopkeeper, CUSTOMER, email="grace@example.org"))
    assert answer.status_code == 303
    found = await customer(shopkeeper)
    assert (found.email, found.revision, found.phone) == ("grace@example.org", 2, "0123")
    await db.create(Customer(id="c3", email="ada@example.org"))
    assert await db.check(shop) == []


async def test_what_is_covered_is_not_in_the_form(shopkeeper: Visitor) -> None:
    html = await shopkeeper.page(f"/item/shop/edit?{CUSTOMER}")
    assert "0123" not in html
    form = await form_of(shopkeeper, CUSTOMER, phone="999", name="Grace")
    await confirmed(shopkeeper, f"/item/shop/edit?{CUSTOMER}", form)
    found = await customer(shopkeeper)
    assert (found.phone, found.name) == ("0123", "Grace")


async def test_a_text_that_a_browser_would_change_is_kept(shopkeeper: Visitor) -> None:
    text = "a\rb\x1b[31m\u2028c\n\n"
    await db_of(shopkeeper).update(Order.of_customer("c1", "o1"), attr(Order.note).set(text))
    form = await form_of(shopkeeper, ORDER, count="3")
    assert (await confirmed(shopkeeper, f"/item/shop/edit?{ORDER}", form)).status_code == 303
    assert (await order(shopkeeper)).note == text


async def test_an_item_of_no_class_is_not_edited(shopkeeper: Visitor) -> None:
    item = {"pk": {"S": "x"}, "sk": {"S": "y"}, "_type": {"S": "unknown"}, "secret": {"S": "shy"}}
    await db_of(shopkeeper).port.send(TableCall("PutItem", {"TableName": "shop", "Item": item}))
    page = await shopkeeper.json("/item/shop.json?pk=x&sk=y")
    assert (page["kind"], page["edit_address"]) == ("unknown", "")
    assert "shy" not in str(page)  # nobody can tell whether it is personal
    await shopkeeper.page("/item/shop/edit?pk=x&sk=y", 400)


# --- deleting ---------------------------------------------------------------------------------------------------------
async def test_delete_asks_first(shopkeeper: Visitor) -> None:
    path, form = f"/item/shop/delete?{CUSTOMER}", await form_of(shopkeeper, CUSTOMER)
    sent = {name: form[name] for name in ("seen", "seen_values", "form_token")}
    answer = await shopkeeper.send(path, sent)
    assert "Delete Customer?" in shown(answer.text)
    assert (await customer(shopkeeper)).id == "c1"
    answer = await confirmed(shopkeeper, path, sent)
    assert answer.headers["location"] == "/partition/shop?pk=customer%23c1"
    await db_of(shopkeeper).create(Customer(id="c4", email="ada@example.org"))  # its guard is gone, too
    assert await db_of(shopkeeper).check(shop) == []


async def test_what_was_changed_since_is_not_deleted(shopkeeper: Visitor) -> None:
    form = await form_of(shopkeeper, ORDER)
    await db_of(shopkeeper).update(Order.of_customer("c1", "o1"), attr(Order.count).set(5))
    sent = {"seen": form["seen"], "form_token": form["form_token"], "confirmed": "1"}
    answer = await shopkeeper.send(f"/item/shop/delete?{ORDER}", sent)
    assert answer.status_code == 409
    assert (await order(shopkeeper)).count == 5


# --- who may ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("path", ["/item/shop/edit", "/item/shop/delete"])
async def test_a_studio_that_only_reads_writes_nothing(shopkeeper: Visitor, path: str) -> None:
    form = await form_of(shopkeeper, ORDER, note="changed", confirmed="1")
    async with visiting(db_of(shopkeeper), shop) as reader:
        form["form_token"] = await reader.token()
        reader.sent.clear()
        answer = await reader.send(f"{path}?{ORDER}", form)
        assert answer.status_code == 403
        assert "read-only" in answer.text
        assert reader.sent == []
        assert (await reader.json(f"/item/shop.json?{ORDER}"))["edit_address"] == ""


async def test_each_write_is_logged_without_values(shopkeeper: Visitor, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "singletable.studio")
    await confirmed(shopkeeper, f"/item/shop/edit?{CUSTOMER}", await form_of(shopkeeper, CUSTOMER, name="Grace"))
    said = [record.getMessage() for record in caplog.records if record.levelno == logging.INFO]
    assert [re.sub("[0-9a-f]{16}", "HASH", text) for text in said] == ["owner: update Customer (HASH) in table shop"]


async def test_a_mounted_studio_asks_for_each_class(shopkeeper: Visitor) -> None:

    def user_of(request: Any) -> str | None:
        user: str | None = request.headers.get("x-user")
        return user

    def may(user: str, kind: type[Any], right: str) -> bool:
        return kind is Order or (right == "read" and kind is Customer and user == "ada")

    made = studio(db_of(shopkeeper), shop, authenticate=user_of, authorise=may, write=True)
    async with client_of(made, "https://shop.example.org") as client:
        client.headers["origin"] = "https://shop.example.org"
        for user, kind, page, edit in (
            ("ada", CUSTOMER, 200, 403),
            ("ada", ORDER, 200, 200),
            ("bob", CUSTOMER, 404, 404),
            ("bob", ORDER, 200, 200),
        ):
            headers = {"x-user": user}
            assert (await client.get(f"/item/shop?{kind}", headers=headers)).status_code == page
            assert (await client.get(f"/item/shop/edit?{kind}", headers=headers)).status_code == edit
        listed = (await client.get("/partition/shop.json?pk=customer%23c1", headers={"x-user": "bob"})).json()
        assert {item["kind"] for item in listed["groups"][0]["items"]} == {"Order"}
        assert (await client.get("/patterns/shop/Customer/by_id?id=c1", headers={"x-user": "bob"})).status_code == 404
        begin = (await client.get("/partition/shop.json", headers={"x-user": "bob"})).json()
        assert {each["kind"] for part in begin["some"] for each in part["classes"]} == {"Order"}
        assert {each["kind"] for part in begin["declared"] for each in part["classes"]} == {"Order"}


@dataclass
class Parcel:
    weight: int


depot = Table("depot")


class Sent(Entity, table=depot, type="sent"):
    id: str
    parcel: Parcel

    @depot.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"sent#{id}", "sent"


def test_an_attribute_that_holds_names_of_a_newer_program_cant_be_changed() -> None:
    """Its form as JSON would lose them."""
    model = model_of(Sent)
    item: Any = read_item(encode(model.item(Sent(id="1", parcel=Parcel(2)))))
    (edit,) = (each for each in fields_of(model, model.load(item), covered=False) if each.name == "parcel")
    assert edit.form == "json"
    item["parcel"]["M"]["colour"] = {"S": "red"}
    (edit,) = (each for each in fields_of(model, model.load(item), covered=False) if each.name == "parcel")
    assert (edit.form, edit.why_fixed) == ("fixed", WHY_UNDECLARED)
