"""The erasure of a contact: nothing of them is left, and nothing of anybody else is touched."""

from __future__ import annotations

import pytest

from examples.manhunt.tests.support import DESTINATIONS, DOMAIN, OTHER, USUAL, World, contact_with
from manhunt.errors import NoSuchContact
from manhunt.model import ContactDetails, Kind, manhunt, tasks
from tests.support.raw import all_items


def test_a_contact_who_is_looked_for(world: World) -> None:
    app, db = world.app, world.db
    ada, bob = contact_with(app, *USUAL, name="Ada"), contact_with(app, (Kind.EMAIL, 0), name="Bob")
    theirs = app.open_search(DOMAIN, bob.contact_id, {"summary": "x"})
    ended = app.open_search(DOMAIN, ada.contact_id, {"summary": "x"})
    world.drain()
    app.cancel(DOMAIN, ended.search_id, by="operator", reason="x")
    app.open_search(DOMAIN, ada.contact_id, {"summary": "y"})
    world.drain()
    before = db.get(ContactDetails.by_id(bob.contact_id)), app.search_by_id(DOMAIN, theirs.search_id)
    with pytest.raises(NoSuchContact):
        app.erase_contact(OTHER, ada.contact_id)
    receipt = app.erase_contact(DOMAIN, ada.contact_id, by="operator")
    assert receipt.kept == ()
    assert receipt.deleted.keys() >= {"Contact", "ContactMethod", "Search", "SearchAttempt", "Conversation", "task"}
    assert (receipt.deleted["Contact"], receipt.deleted["ContactMethod"], receipt.deleted["Search"]) == (1, 3, 2)
    left = repr([item for item in db.run(all_items(db.port, "manhunt")) if item["PK"]["S"] != "_migration"])
    for text in (ada.contact_id, "Ada", DESTINATIONS[Kind.SMS]):
        assert text not in left
    assert (db.get(ContactDetails.by_id(bob.contact_id)), app.search_by_id(DOMAIN, theirs.search_id)) == before
    assert db.check(manhunt, tasks) == []
    with pytest.raises(NoSuchContact):
        app.erase_contact(DOMAIN, ada.contact_id)


def test_what_is_personal_is_covered(world: World) -> None:
    contact = contact_with(world.app, *USUAL, name="Ada")
    search = world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    details = world.db.get(ContactDetails.by_id(contact.contact_id))
    for shown in (repr(contact), repr(search), repr(details)):
        assert "Ada" not in shown
        assert "example.org" not in shown
        assert "1555" not in shown
