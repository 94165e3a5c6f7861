"""Contacts and methods, alone and while others change them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from examples.manhunt.tests.support import DOMAIN, OTHER, USUAL, contact_with
from manhunt import Service
from manhunt.check import check
from manhunt.errors import Contended, Missing
from manhunt.model import Kind, Search
from singletable import AlreadyExists, Database, TransactionCancelled


class Overtaken:
    """A port with something that happens just before its n-th request, once or each time."""

    def __init__(self, db: Database, at: int, hook: Callable[[], object], *, always: bool = False) -> None:
        self._port, self._at, self._hook, self._always, self._sent = db.port, at, hook, always, 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._port, name)

    async def send(self, operation: object) -> object:
        if self._sent == self._at or (self._always and self._sent % 2 == self._at):
            self._hook()
        self._sent += 1
        return await self._port.send(operation)  # type: ignore[arg-type]


def overtaken(app: Service, at: int, hook: Callable[[], object], *, always: bool = False) -> Service:
    port: object = Overtaken(app.db, at, hook, always=always)
    return Service(Database(port, app.db.target))  # type: ignore[arg-type]


def test_the_plan_is_the_one_at_the_commit(app: Service) -> None:
    """An edit between the read and the write of an opening: read again, and the plan is the new one."""
    contact = contact_with(app, (Kind.EMAIL, 0))

    def edit() -> None:
        app.add_method(DOMAIN, contact.contact_id, Kind.SMS, "+15551234567", order=1)

    search = overtaken(app, 1, edit).open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    assert [method.kind for method in search.plan] == [Kind.EMAIL, Kind.SMS]
    assert app.search_by_id(DOMAIN, search.search_id).plan == search.plan


def test_a_contact_that_never_rests_is_contended(app: Service) -> None:
    contact = contact_with(app, (Kind.EMAIL, 0))
    (method,) = app.contact_with_methods(DOMAIN, contact.contact_id).methods

    def edit() -> None:
        app.change_method(DOMAIN, contact.contact_id, method.method_id, order=1)

    with pytest.raises(Contended):
        overtaken(app, 1, edit, always=True).open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    assert app.searches_of_contact(DOMAIN, contact.contact_id).items == []


def test_a_contact_that_is_deleted_meanwhile_is_missing(app: Service) -> None:
    contact = contact_with(app, *USUAL)
    gone = overtaken(app, 1, lambda: app.delete_contact(DOMAIN, contact.contact_id))
    with pytest.raises(Missing):
        gone.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    assert list(app.db.scan(Search)) == []
    assert check(app.db) == []


def test_deleting_takes_what_was_added_meanwhile(app: Service) -> None:
    contact = contact_with(app, *USUAL)

    def add() -> None:
        app.add_method(DOMAIN, contact.contact_id, Kind.SMS, "+15551234567")

    overtaken(app, 1, add).delete_contact(DOMAIN, contact.contact_id)
    assert check(app.db) == []
    with pytest.raises(Missing):
        app.contact_by_id(DOMAIN, contact.contact_id)


def test_ids_are_never_taken_twice(app: Service) -> None:
    first = Service(app.db, new_id=lambda: "same")
    contact = first.create_contact(DOMAIN, "Ada")
    with pytest.raises(AlreadyExists):
        first.create_contact(DOMAIN, "Grace")
    app.add_method(DOMAIN, contact.contact_id, Kind.EMAIL, "ada@example.org")
    first.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    with pytest.raises(TransactionCancelled):
        first.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    assert app.contact_by_id(DOMAIN, "same").name == "Ada"
    assert app.search_by_id(DOMAIN, "same").contact_id == "same"


def test_another_domain_changes_nothing(app: Service) -> None:
    contact = contact_with(app, *USUAL)
    (method, *_) = app.contact_with_methods(DOMAIN, contact.contact_id).methods
    before = app.contact_with_methods(DOMAIN, contact.contact_id)
    for refused in (
        lambda: app.rename_contact(OTHER, contact.contact_id, "Eve"),
        lambda: app.delete_contact(OTHER, contact.contact_id),
        lambda: app.add_method(OTHER, contact.contact_id, Kind.SMS, "+15551234567"),
        lambda: app.change_method(OTHER, contact.contact_id, method.method_id, enabled=False),
        lambda: app.delete_method(OTHER, contact.contact_id, method.method_id),
        lambda: app.delete_method(DOMAIN, contact.contact_id, "contact"),
        lambda: app.open_search(OTHER, contact.contact_id, {"summary": "x"}),
    ):
        with pytest.raises(Missing):
            refused()
    assert app.contact_with_methods(DOMAIN, contact.contact_id) == before
