"""What an erasure promises where a table is larger than a page, others write, or it is killed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from singletable import ANY, Database, Entity, Key, Table, attr, field
from singletable.erasure import Erasure
from singletable.errors import NotFound
from singletable.operations import TransactWriteItems, UpdateItem
from tests.erasure.models import Customer, Order, Product, shop
from tests.erasure.test_erasure import ADA, fill
from tests.migrations.test_apply_lease import Pace
from tests.migrations.watching import Killed, before_each
from tests.support.engines import again, fresh

letters = Table("letters", indexes=["gsi1"])
MANY = 101
BODY = "x" * 25_000
"""Forty letters are a page."""


class Author(Entity, table=letters, type="author"):
    email: str
    name: str = field(default="", unique=True)

    @letters.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One."""
        return f"author#{email}", "author"


class Draft(Entity, table=letters, type="draft"):
    """In the partition of an author."""

    email: str
    number: int
    body: str = BODY

    @letters.key
    @staticmethod
    def of_author(email: str, number: int = ANY) -> Key:
        """The drafts of an author."""
        return f"author#{email}", f"draft#{number}"


class Letter(Entity, table=letters, type="letter"):
    """Found by a scan alone."""

    number: int
    author: str = field(belongs_to=Author.email)
    body: str = BODY

    @letters.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One."""
        return f"letter#{number}", "letter"


class Card(Entity, table=letters, type="card"):
    """Found by an index."""

    number: int
    author: str = field(belongs_to=Author.email)
    body: str = BODY

    @letters.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One."""
        return f"card#{number}", "card"

    @letters.index("gsi1")
    @staticmethod
    def of_author(author: str, number: int = ANY) -> Key:
        """The cards of an author."""
        return f"cards#{author}", f"{number}"


class Shelf(Entity, table=letters, type="shelf"):
    """It stays, without its author."""

    number: int
    of: str = field(default="", mentions=Author.email)
    body: str = BODY

    @letters.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One."""
        return f"shelf#{number}", "shelf"


@pytest.fixture(scope="module")
def large() -> Iterator[Database]:
    """Twelve pages of a scan, three of each query; guards come first in the order of keys."""
    with fresh() as db:
        db.create_table(letters)
        for number in range(MANY):
            db.create(Author(email=f"a{number}@x.org", name=f"n{number}"))
        for numbers, owner in ((range(MANY), "a1@x.org"), (range(MANY, MANY + 9), "a2@x.org")):
            db.write_many(puts=[Draft(number=n, email=owner) for n in numbers])
            db.write_many(puts=[Letter(number=n, author=owner) for n in numbers])
            db.write_many(puts=[Card(number=n, author=owner) for n in numbers])
        db.write_many(puts=[Shelf(number=n, of="a1@x.org") for n in range(MANY)])
        yield db


def test_all_that_belongs_goes_on_every_page(large: Database) -> None:
    one = Author.by_email("a1@x.org")
    plan = Erasure(large, letters).plan(one)
    wanted = {"Author": 1, "Draft": MANY, "Letter": MANY, "Card": MANY}
    assert (plan.deleted, plan.cleared) == (wanted, {"Shelf": MANY})
    receipt = Erasure(large, letters).apply(one)
    assert (receipt.deleted, receipt.cleared, receipt.kept) == (wanted, {"Shelf": MANY}, ())
    for kind in (Draft, Letter, Card):
        assert len(list(large.scan(kind))) == 9
    assert {each.of for each in large.scan(Shelf)} == {""}
    assert large.check(letters) == []


def test_all_that_a_query_of_several_pages_names_goes(large: Database) -> None:
    with fresh() as db:
        db.create_table(letters)
        db.write_many(puts=[Card(number=n, author="a3@x.org") for n in range(MANY)])
        assert Erasure(db, letters).plan(Card.of_author("a3@x.org")).deleted == {"Card": MANY}
        assert Erasure(db, letters).apply(Card.of_author("a3@x.org")).deleted == {"Card": MANY}
        assert list(db.scan(Card)) == []


def test_what_is_written_to_a_mention_meanwhile_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the search and the write that clears it. It is read again, and cleared then."""
    with fresh() as db:
        fill(db)
        tea, written = Product.by_name("tea"), list[Any]()

        def write(operation: Any) -> None:
            if isinstance(operation, UpdateItem) and not written:
                written.append(operation)
                with again(db) as other:
                    other.update(tea, attr(Product.buyers).set(["carl", "ada", "dora"]))

        with monkeypatch.context() as patched:
            before_each(db, patched, write)
            Erasure(db, shop).apply(ADA)
        assert written
        found = db.get(tea)
        assert found is not None
        assert found.buyers == ["carl", "dora"]


def test_a_killed_erasure_finds_what_came_while_it_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Orders refer to an attribute of the subject: they are found as long as it is there, so it goes last."""
    with fresh() as db:
        fill(db)
        added, ended = list[Any](), False

        def add_then_kill(operation: Any) -> None:
            nonlocal ended
            if ended:
                raise Killed
            if type(operation).__name__ == "DeleteItem" and not added:
                added.append(operation)
                with again(db) as other:
                    other.put(Order(number=900, customer="ada"))
            ended = isinstance(operation, TransactWriteItems)  # the subject, with its unique value

        with monkeypatch.context() as patched:
            before_each(db, patched, add_then_kill)
            with pytest.raises(Killed):
                Erasure(db, shop).apply(ADA)
        assert added
        assert db.get(ADA) is None
        with monkeypatch.context() as patched:
            Pace(db, patched)
            try:
                Erasure(db, shop).apply(ADA)
            except NotFound:
                assert db.get(Customer.by_email("bob@example.org")) is not None
        assert db.get(Order.by_number(900)) is None
        assert [order for order in db.scan(Order) if order.customer == "ada"] == []
