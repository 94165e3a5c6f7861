"""A partition of several classes: mixed in key order, or grouped by a Collection of five child classes."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from singletable import ANY, Collection, Entity, Key, Table, after, attr, collect, key_of
from singletable.errors import Corrupt, InvalidRequest
from singletable.schema import needs_type_filter
from tests.support.models import EPOCH, Device, Everything, Invoice, Membership, Note, Photo, User, membership
from tests.support.raw import put_raw
from tests.support.shells import Shell

ADA = User(email="ada@example.org", name="Ada")
MEMBERS = [membership(n) for n in range(3)]
NOTES = [Note(email=ADA.email, written_at=EPOCH + timedelta(seconds=n), text=str(n)) for n in range(4)]
INVOICES = [Invoice(email=ADA.email, number=n, total=Decimal(n)) for n in (2, 10, 300)]
DEVICES = [Device(email=ADA.email, device_id=UUID(int=n)) for n in (1, 2)]
PHOTO = Photo(email=ADA.email, content=b"\x89PNG")
ALL: list[Entity] = [ADA, *MEMBERS, *NOTES, *INVOICES, *DEVICES, PHOTO]


class OnePhoto(Collection):
    """A user who must have a photo."""

    user: User
    photo: Photo

    by_email = collect(User.by_email)


class OneMembership(Collection):
    user: User
    membership: Membership | None

    by_email = collect(User.by_email)


boxes = Table("boxes")


class Box(Entity, table=boxes, type="box"):
    """Has an attribute of the name that other libraries store a class's type under."""

    id: str
    type: str

    @boxes.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"box#{id}", "box"


class Label(Entity, table=boxes, type="label"):
    id: str
    number: int

    @boxes.key
    @staticmethod
    def of_box(id: str, number: int = ANY) -> Key:
        return f"box#{id}", f"label#{number:02}"


class Cover(Entity, table=boxes, type="cover"):
    id: str

    @boxes.key
    @staticmethod
    def of_box(id: str) -> Key:
        return f"box#{id}", "a cover"


class Labelled(Collection):
    box: Box
    labels: list[Label]

    by_id = collect(Box.by_id)
    of_label = collect(Label.of_box)


@pytest.mark.parametrize("own", ["box", "label", "else"])
async def test_an_attribute_of_the_name_type_is_no_type(shell: Shell, own: str) -> None:
    box, labels = Box(id=own, type=own), [Label(id=own, number=n) for n in (1, 2)]
    await shell.write_many(puts=[box, *labels])
    assert await shell.get(Labelled.by_id(own)) == Labelled(box=box, labels=labels)


@pytest.fixture
async def filled(shell: Shell) -> Shell:
    await shell.write_many(puts=ALL)
    await shell.write_many(puts=[replace(ADA, email="ada@example.org.uk"), membership(1, "a")])
    return shell


async def test_a_collection_of_five_child_classes_is_one_request(filled: Shell) -> None:
    with filled.meter() as meter:
        found = await filled.get(Everything.by_email(ADA.email))
    assert found == Everything(
        user=ADA, memberships=MEMBERS, notes=NOTES, invoices=INVOICES, devices=DEVICES, photo=PHOTO
    )
    assert (meter.requests, meter.read_units) == (1, 0.5)


async def test_consistent_costs_twice(filled: Shell) -> None:
    with filled.meter() as meter:
        assert await filled.get(Everything.by_email(ADA.email).consistent()) is not None
    assert meter.read_units == 1


async def test_children_may_be_missing_and_the_one_it_needs_may_not(shell: Shell) -> None:
    await shell.put(ADA)
    assert await shell.get(Everything.by_email(ADA.email)) == Everything(
        user=ADA, memberships=[], notes=[], invoices=[], devices=[], photo=None
    )
    assert await shell.get(OnePhoto.by_email(ADA.email)) is None
    await shell.delete(key_of(ADA))
    await shell.put(PHOTO)
    assert await shell.get(Everything.by_email(ADA.email)) is None


async def test_two_where_one_is_declared(filled: Shell) -> None:
    with pytest.raises(Corrupt, match=r"3 items where OneMembership\.membership holds one"):
        await filled.get(OneMembership.by_email(ADA.email))


async def test_more_than_a_megabyte_of_children(shell: Shell) -> None:
    notes = [replace(NOTES[0], written_at=EPOCH + timedelta(minutes=n), text="x" * 300_000) for n in range(8)]
    await shell.write_many(puts=[ADA, PHOTO, *notes])
    found = await shell.get(Everything.by_email(ADA.email))
    assert found is not None
    assert (found.user, found.notes, found.photo) == (ADA, notes, PHOTO)


async def test_max_pages_bounds_the_requests_of_a_collection(shell: Shell) -> None:
    notes = [replace(NOTES[0], written_at=EPOCH + timedelta(minutes=n), text="x" * 300_000) for n in range(8)]
    await shell.write_many(puts=[ADA, PHOTO, *notes])
    with shell.meter() as meter, pytest.raises(InvalidRequest, match="more than 2 pages"):
        await shell.get(Everything.by_email(ADA.email), max_pages=2)
    assert (meter.requests, 200 < meter.read_units < 260) == (2, True)
    found = await shell.get(Everything.by_email(ADA.email), max_pages=3)
    assert found is not None
    assert found.notes == notes


async def test_a_collections_entities_are_read_by_pages(filled: Shell) -> None:
    query = Everything.by_email(ADA.email).query
    first = await filled.page(query, limit=10)
    rest = await filled.page(query, limit=10, after=first.cursor)
    assert [*first, *rest] == [*DEVICES, *INVOICES, *MEMBERS, *NOTES, PHOTO, ADA]
    assert (len(first), rest.cursor) == (10, None)


async def test_a_mixed_query_is_in_key_order(filled: Shell) -> None:
    query = User.by_email(ADA.email).also(Membership).also(Note).also(Invoice).also(Device).also(Photo)
    with filled.meter() as meter:
        found = await filled.all(query)
    assert found == [*DEVICES, *INVOICES, *MEMBERS, *NOTES, PHOTO, ADA]
    assert meter.requests == 1
    assert await filled.all(query.newest_first()) == [*DEVICES, *INVOICES, *MEMBERS, *NOTES, PHOTO, ADA][::-1]


async def test_a_mixed_query_holds_only_the_classes_it_names(filled: Shell) -> None:
    assert await filled.all(User.by_email(ADA.email).also(Note)) == [*NOTES, ADA]
    assert [item async for item in filled.iter(User.by_email(ADA.email).also(Device))] == [*DEVICES, ADA]


async def test_a_partition_that_another_class_joins_is_read_without_others(shell: Shell) -> None:
    box, labels = Box(id="mixed", type="b"), [Label(id="mixed", number=n) for n in (1, 2)]
    await shell.write_many(puts=[Cover(id="mixed"), box, *labels])
    every = Label.of_box("mixed")
    assert await shell.all(every) == labels
    assert await shell.all(every.also(Box)) == [box, *labels]
    assert [needs_type_filter(query) for query in (every, every.also(Box))] == [False, True], "the others are not sent"


@pytest.mark.parametrize("number", [1, after(1)], ids=["a value", "a range"])
def test_a_part_of_a_partition_is_joined_by_no_other_class(number: Any) -> None:
    """The whole partition is read: the value would be dropped."""
    message = r"Label.of_box: also\(...\) reads the whole partition, and number is given.* Leave number out"
    with pytest.raises(InvalidRequest, match=message):
        Label.of_box("mixed", number).also(Box)
    with pytest.raises(InvalidRequest, match="a collection reads the whole partition, and number is given"):
        Labelled.of_label("mixed", number)
    assert Label.of_box("mixed", ANY).also(Box).also(Cover).kinds == (Label, Box, Cover)


async def test_a_mixed_page_is_full_though_others_lie_between(filled: Shell) -> None:
    query = Device.of_user(ADA.email).also(Note)
    first = await filled.page(query, limit=3)
    rest = await filled.page(query, limit=3, after=first.cursor)
    assert [*first, *rest] == [*DEVICES, *NOTES]


async def test_a_mixed_query_may_filter_by_the_attributes_of_one_class(filled: Shell) -> None:
    query = User.by_email(ADA.email).also(Note)
    assert await filled.all(query.where(attr(Note.text) == "2")) == [NOTES[2]]


async def test_an_item_of_no_class_in_the_partition_is_left_out(filled: Shell) -> None:
    await put_raw(filled.port, User, {"pk": {"S": f"user#{ADA.email}"}, "sk": {"S": "n"}, "_type": {"S": "alien"}})
    await put_raw(filled.port, User, {"pk": {"S": f"user#{ADA.email}"}, "sk": {"S": "m"}})
    assert await filled.all(User.by_email(ADA.email).also(Photo)) == [PHOTO, ADA]
    assert await filled.get(Everything.by_email(ADA.email)) is not None
