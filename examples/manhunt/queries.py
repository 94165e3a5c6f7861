"""The nine queries, by name: each is one request. Who asks is a domain: to it there is nothing but what it owns.

A list that comes back empty says nothing of whose it is: then, and only then, the contact is read as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from examples.manhunt.errors import Invalid, NoSuchContact, NoSuchSearch
from examples.manhunt.model import Contact, ContactDetails, Search, SearchDetails, Status
from singletable import ANY, Database, Page, Query, after, before, between


@dataclass(frozen=True)
class Window:
    """A part of the time, without the two moments themselves; open where None."""

    after: datetime | None = None
    before: datetime | None = None

    @property
    def range(self) -> datetime:
        """As the argument of a query: a range, in the type of its bounds."""
        if self.after is None:
            return ANY if self.before is None else before(self.before)
        if self.before is None:
            return after(self.after)
        if self.before - self.after < 2 * TICK:
            raise Invalid("there is no time between the two moments")
        return between(self.after + TICK, self.before - TICK)


TICK = timedelta(microseconds=1)
"""The smallest step of a stored time."""
EVER = Window()


def search_by_id(db: Database, domain_id: str, search_id: str) -> Search:
    found = db.get(Search.by_id(search_id))
    if found is None or found.domain_id != domain_id:
        raise NoSuchSearch(search_id)
    return found


def search_with_attempts(db: Database, domain_id: str, search_id: str) -> SearchDetails:
    found = db.get(SearchDetails.by_id(search_id))
    if found is None or found.search.domain_id != domain_id:
        raise NoSuchSearch(search_id)
    return found


def contact_by_id(db: Database, domain_id: str, contact_id: str) -> Contact:
    found = db.get(Contact.by_id(contact_id))
    if found is None or found.domain_id != domain_id:
        raise NoSuchContact(contact_id)
    return found


def contact_with_methods(db: Database, domain_id: str, contact_id: str) -> ContactDetails:
    found = db.get(ContactDetails.by_id(contact_id))
    if found is None or found.contact.domain_id != domain_id:
        raise NoSuchContact(contact_id)
    return found


def contacts_of_domain(db: Database, domain_id: str, limit: int, cursor: str | None) -> Page[Contact]:
    return db.page(Contact.by_domain(domain_id), limit=limit, after=cursor, principal=domain_id)


def searches_of_contact(
    db: Database, domain_id: str, contact_id: str, window: Window, newest_first: bool, limit: int, cursor: str | None
) -> Page[Search]:
    """By time; in a window, before or after a date."""
    query = Search.by_contact(contact_id, started_at=window.range)
    return _page(db, domain_id, contact_id, query, newest_first, limit, cursor)


def searches_with_status(
    db: Database,
    domain_id: str,
    contact_id: str,
    status: Status,
    window: Window,
    newest_first: bool,
    limit: int,
    cursor: str | None,
) -> Page[Search]:
    """By time; in a window, before or after a date."""
    query = Search.by_status(status, contact_id, started_at=window.range)
    return _page(db, domain_id, contact_id, query, newest_first, limit, cursor)


def _page(
    db: Database,
    domain_id: str,
    contact_id: str,
    query: Query[Search],
    newest_first: bool,
    limit: int,
    cursor: str | None,
) -> Page[Search]:
    asked = query.newest_first() if newest_first else query
    found = db.page(asked, limit=limit, after=cursor, principal=domain_id)
    if any(search.domain_id != domain_id for search in found.items):
        raise NoSuchContact(contact_id)
    if not found.items:
        contact_by_id(db, domain_id, contact_id)
    return found
