"""The nine queries: by name, one request each, and what another domain's id or another record's gives."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta, timezone
from itertools import islice
from typing import Any

import pytest

from examples.manhunt.tests.support import DOMAIN, OTHER, USUAL, Clock, Outbox, World, contact_with, make_world
from examples_shared.testing.databases import fresh
from manhunt import Service, manhunt
from manhunt.errors import Invalid, Missing
from manhunt.model import Contact, Kind, Planned, Search, Status
from manhunt.queries import Window
from singletable import Database, InvalidCursor
from singletable.operations import batch_write
from singletable.schema.catalogue import catalogue
from singletable.schema.models import model_for

Budget = Callable[..., Any]
Ask = Callable[[str, str], object]


@pytest.fixture
def searches(world: World) -> list[Search]:
    """Six of one contact, a minute apart: two active, two cancelled, two answered; one of another contact."""
    contact = contact_with(world.app, *USUAL)
    found: list[Search] = []
    for _ in range(6):
        found.append(world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"}))
        world.later(60)
    for search in found[2:4]:
        world.app.cancel(DOMAIN, search.search_id, by="grace")
    for search in found[4:]:
        world.app.answer(search.search_id, 0, how="link")
    world.open(*USUAL)
    world.drain()
    return found


def ids(found: Any) -> list[str]:
    return [search.search_id for search in found]


def test_the_nine_by_name(world: World, searches: list[Search], budget: Budget) -> None:
    app, contact_id = world.app, searches[0].contact_id
    moment = searches[2].started_at
    with budget(requests=1, read_units=0.5):
        assert app.search_by_id(DOMAIN, searches[0].search_id).search_id == searches[0].search_id
    with budget(requests=1, read_units=0.5):
        whole = app.search_with_attempts(DOMAIN, searches[0].search_id)
    assert [attempt.step for attempt in whole.attempts] == [0, 1]
    with budget(requests=1, read_units=0.5):
        assert app.contact_by_id(DOMAIN, contact_id).name == "Ada"
    with budget(requests=1, read_units=0.5):
        assert len(app.contact_with_methods(DOMAIN, contact_id).methods) == 3
    with budget(requests=1, read_units=0.5):
        assert [c.name for c in app.contacts_of_domain(DOMAIN).items] == ["Ada", "Ada"]
    with budget(requests=1, read_units=1):
        assert ids(app.searches_of_contact(DOMAIN, contact_id).items) == ids(searches)
    with budget(requests=1, read_units=0.5):
        found = app.searches_of_contact(DOMAIN, contact_id, window=Window(before=moment))
    assert ids(found.items) == ids(searches[:2])
    with budget(requests=1, read_units=0.5):
        found = app.searches_with_status(DOMAIN, contact_id, Status.CANCELLED)
    assert ids(found.items) == ids(searches[2:4])
    with budget(requests=1, read_units=0.5):
        found = app.searches_with_status(DOMAIN, contact_id, Status.CANCELLED, window=Window(after=moment))
    assert ids(found.items) == ids(searches[3:4])


def test_windows_are_open_at_both_ends(world: World, searches: list[Search]) -> None:
    app, contact_id = world.app, searches[0].contact_id
    first, last = searches[1].started_at, searches[4].started_at
    for window, expected in (
        (Window(after=first), searches[2:]),
        (Window(before=last), searches[:4]),
        (Window(first, last), searches[2:4]),
        (Window(), searches),
    ):
        assert ids(app.searches_of_contact(DOMAIN, contact_id, window=window).items) == ids(expected)
    with pytest.raises(Invalid):
        app.searches_of_contact(DOMAIN, contact_id, window=Window(last, first))


def test_a_second_page_never_goes_back_in_time(world: World, searches: list[Search]) -> None:
    """The published reason for the second index: s1 and s2 on a page, s2 and s3 of different status, s1 < s3 < s2."""
    app, contact_id = world.app, searches[0].contact_id
    first = app.searches_of_contact(DOMAIN, contact_id, limit=2)
    world.app.cancel(DOMAIN, searches[0].search_id, by="grace")
    second = app.searches_of_contact(DOMAIN, contact_id, limit=4, after=first.cursor)
    assert ids([*first.items, *second.items]) == ids(searches)
    newest = app.searches_of_contact(DOMAIN, contact_id, newest_first=True)
    assert ids(newest.items) == ids(searches)[::-1]


def test_a_cursor_is_its_domains(world: World, searches: list[Search]) -> None:
    page = world.app.contacts_of_domain(DOMAIN, limit=1)
    with pytest.raises(InvalidCursor):
        world.app.contacts_of_domain(OTHER, limit=1, after=page.cursor)


def test_index_sort_keys_are_the_start_and_never_change(world: World, searches: list[Search]) -> None:
    """An index key is made of the start, and no write of the application changes that."""
    for search in searches:
        now = world.now(search)
        assert now.started_at == search.started_at
        assert (now.contact_id, now.search_id) == (search.contact_id, search.search_id)


def test_another_domains_id_and_another_records_are_missing(world: World, searches: list[Search]) -> None:
    """Every key of every record through every query: what isn't there, isn't of this type, or isn't the domain's."""
    app, search, contact_id = world.app, searches[0], searches[0].contact_id
    by_search: list[Ask] = [app.search_by_id, app.search_with_attempts]
    by_contact: list[Ask] = [app.contact_by_id, app.contact_with_methods, app.searches_of_contact]
    wrong = [(ask, DOMAIN, id) for ask in by_search for id in (contact_id, "nobody", DOMAIN)]
    wrong += [(ask, DOMAIN, id) for ask in by_contact for id in (search.search_id, "nobody", DOMAIN)]
    wrong += [(ask, OTHER, search.search_id) for ask in by_search] + [(ask, OTHER, contact_id) for ask in by_contact]
    for ask, domain, id in wrong:
        with pytest.raises(Missing):
            ask(domain, id)
    with pytest.raises(Missing):
        app.searches_with_status(OTHER, contact_id, Status.ACTIVE)
    with pytest.raises(Missing):
        app.cancel(OTHER, search.search_id, by="eve")
    assert app.contacts_of_domain(OTHER).items == []


def test_a_domain_that_is_called_as_a_contact_sees_none_of_its_searches(app: Service) -> None:
    """Index 1 holds contacts by domain and searches by contact: texts may be equal, types are not mixed."""
    contact = contact_with(app, *USUAL)
    app.open_search(DOMAIN, contact.contact_id, {"summary": "x"})
    assert app.contacts_of_domain(contact.contact_id).items == []
    named = app.create_contact(contact.contact_id, "Somebody")
    assert [c.contact_id for c in app.contacts_of_domain(contact.contact_id).items] == [named.contact_id]
    assert len(app.searches_of_contact(DOMAIN, contact.contact_id).items) == 1


def test_the_catalogue_names_them() -> None:
    """What `singletable patterns manhunt.model` shows."""
    found = {pattern.shown: pattern for pattern in catalogue(manhunt)}
    for shown in (
        "Search.by_id(search_id: str)",
        "SearchDetails.by_id(search_id: str)",
        "Contact.by_id(contact_id: str)",
        "ContactDetails.by_id(contact_id: str)",
        "Contact.by_domain(domain_id: str, name: str = ANY)",
        "Search.by_contact(contact_id: str, started_at: datetime = ANY)",
        "Search.by_status(status: Status, contact_id: str, started_at: datetime = ANY)",
    ):
        assert found[shown].requests.startswith("1 request")
    dated = found["Search.by_contact(contact_id: str, started_at: datetime = ANY)"]
    assert [p.name for p in dated.parameters if p.takes_range] == ["started_at"]
    by_status = found["Search.by_status(status: Status, contact_id: str, started_at: datetime = ANY)"]
    assert (dated.index, by_status.index) == ("GSI1", "GSI2")


def test_attributes_are_those_of_the_published_table(world: World, searches: list[Search]) -> None:
    definition = manhunt.definition
    assert (definition.key, definition.type_attribute) == (("PK", "SK"), "entityType")
    assert definition.index_keys("GSI1") == ("GSI1PK", "GSI1SK")
    assert definition.index_keys("GSI2") == ("GSI2PK", "GSI2SK")


# --- whatever else the table holds ------------------------------------------------------------------------------------
def others(first: int, last: int) -> Iterator[Contact | Search]:
    """Rows of other partitions: in the table and in both indexes."""
    start = datetime(2026, 1, 1, tzinfo=timezone.utc)
    plan = [Planned("m", Kind.EMAIL, "ada@example.org", 0)]
    for number in range(first, last):
        contact_id, domain_id = f"other-{number}", f"domain-{number % 100}"
        if number % 2:
            yield Contact(contact_id=contact_id, domain_id=domain_id, name=f"Other {number}", created_at=start)
            continue
        yield Search(
            search_id=f"search-{number}",
            domain_id=domain_id,
            contact_id=contact_id,
            contact_name="Other",
            started_at=start,
            message="$summary",
            metadata={"summary": "x"},
            plan=plan,
            answer_seconds=1,
            status=Status.CANCELLED,
        )


def fill(db: Database, first: int, last: int) -> None:
    """Past the verbs, which hold the type of each item: tens of thousands of transactions would take the time here."""
    for some in batched(others(first, last), 25 * 8):
        items = [model_for(entity).item(entity) for entity in some]
        calls = [batch_write(manhunt.name, items[at : at + 25]) for at in range(0, len(items), 25)]
        assert not any(db.run(db.port.send_all(calls)))


def batched(entities: Iterator[Contact | Search], size: int) -> Iterator[list[Contact | Search]]:
    while taken := list(islice(entities, size)):
        yield taken


@pytest.mark.parametrize("rows", [1_000, pytest.param(30_000, marks=[pytest.mark.soak, pytest.mark.timeout(900)])])
def test_they_cost_the_same_whatever_else_is_there(rows: int) -> None:
    with fresh() as db:
        db.create_table(manhunt)
        world = make_world(Service(db), Clock(), Outbox())
        contact = contact_with(world.app, *USUAL)
        searches = [world.app.open_search(DOMAIN, contact.contact_id, {"summary": "x"}) for _ in range(6)]
        world.app.cancel(DOMAIN, searches[1].search_id, by="grace")
        fill(db, 0, 100)
        few = measured(world, searches, db)
        fill(db, 100, rows)
        assert measured(world, searches, db) == few
        assert [requests for requests, _ in few] == [1] * 9


def measured(world: World, searches: list[Search], db: Database) -> list[tuple[int, float]]:
    """Requests and units of each of the nine."""
    app, contact_id, search_id = world.app, searches[0].contact_id, searches[0].search_id
    window = Window(before=searches[3].started_at + timedelta(seconds=1))
    asked: list[Callable[[], object]] = [
        lambda: app.search_by_id(DOMAIN, search_id),
        lambda: app.search_with_attempts(DOMAIN, search_id),
        lambda: app.contact_by_id(DOMAIN, contact_id),
        lambda: app.contact_with_methods(DOMAIN, contact_id),
        lambda: app.contacts_of_domain(DOMAIN),
        lambda: app.searches_of_contact(DOMAIN, contact_id),
        lambda: app.searches_of_contact(DOMAIN, contact_id, window=window),
        lambda: app.searches_with_status(DOMAIN, contact_id, Status.ACTIVE),
        lambda: app.searches_with_status(DOMAIN, contact_id, Status.CANCELLED, window=window),
    ]
    found: list[tuple[int, float]] = []
    for ask in asked:
        with db.meter() as meter:
            ask()
        found.append((meter.requests, meter.read_units))
    return found
