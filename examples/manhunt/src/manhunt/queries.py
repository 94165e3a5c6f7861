"""The nine queries, by name: each is one request. Whoever asks is a domain: to it only what it owns is there.

A list that comes back empty says nothing of whose it is: then, and only then, the contact is read as well.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from manhunt.base import Base
from manhunt.errors import Invalid, NoSuchContact, NoSuchSearch
from manhunt.model import Contact, ContactDetails, Search, SearchDetails, Status
from singletable import ANY, Page, Query, after, before, between


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
            raise Invalid("there is no time between the two moments", "until")
        return between(self.after + TICK, self.before - TICK)


TICK = timedelta(microseconds=1)
"""The smallest step of a stored time."""
EVER = Window()


@dataclass(frozen=True)
class Queries(Base):
    """The queries over a database. R: read units, for items of up to 4 KB."""

    def search_by_id(self, domain_id: str, search_id: str) -> Search:
        """0.5 R. NoSuchSearch."""
        found = self.db.get(Search.by_id(search_id))
        if found is None or found.domain_id != domain_id:
            raise NoSuchSearch(search_id)
        return found

    def search_with_attempts(self, domain_id: str, search_id: str) -> SearchDetails:
        """0.5 R for each 4 KB of the search and its attempts. NoSuchSearch."""
        found = self.db.get(SearchDetails.by_id(search_id))
        if found is None or found.search.domain_id != domain_id:
            raise NoSuchSearch(search_id)
        return found

    def contact_by_id(self, domain_id: str, contact_id: str) -> Contact:
        """0.5 R. NoSuchContact."""
        found = self.db.get(Contact.by_id(contact_id))
        if found is None or found.domain_id != domain_id:
            raise NoSuchContact(contact_id)
        return found

    def contact_with_methods(self, domain_id: str, contact_id: str) -> ContactDetails:
        """0.5 R for each 4 KB of the contact and its methods. NoSuchContact."""
        found = self.db.get(ContactDetails.by_id(contact_id))
        if found is None or found.contact.domain_id != domain_id:
            raise NoSuchContact(contact_id)
        return found

    def contacts_of_domain(self, domain_id: str, *, limit: int = 25, after: str | None = None) -> Page[Contact]:
        """By name. 0.5 R for each 4 KB of the page."""
        return self.db.page(Contact.by_domain(domain_id), limit=limit, after=after, principal=domain_id)

    def searches_of_contact(
        self,
        domain_id: str,
        contact_id: str,
        *,
        window: Window = EVER,
        newest_first: bool = False,
        limit: int = 25,
        after: str | None = None,
    ) -> Page[Search]:
        """By time; with a window, before or after a date. 0.5 R for each 4 KB of the page; 0.5 R and a request more
        where it is empty, to tell a contact without searches from a missing one. NoSuchContact."""
        query = Search.by_contact(contact_id, started_at=window.range)
        return self._page(domain_id, contact_id, query.newest_first() if newest_first else query, limit, after)

    def searches_with_status(
        self,
        domain_id: str,
        contact_id: str,
        status: Status,
        *,
        window: Window = EVER,
        newest_first: bool = False,
        limit: int = 25,
        after: str | None = None,
    ) -> Page[Search]:
        """By status, and then as searches_of_contact."""
        query = Search.by_status(status, contact_id, started_at=window.range)
        return self._page(domain_id, contact_id, query.newest_first() if newest_first else query, limit, after)

    def some_searches(
        self,
        domain_id: str,
        contact_id: str,
        status: Status | None,
        *,
        window: Window = EVER,
        newest_first: bool = False,
        limit: int = 25,
        after: str | None = None,
    ) -> Page[Search]:
        """Those with a status, or all where it is None: one of the two queries above."""
        if status is None:
            return self.searches_of_contact(
                domain_id, contact_id, window=window, newest_first=newest_first, limit=limit, after=after
            )
        return self.searches_with_status(
            domain_id, contact_id, status, window=window, newest_first=newest_first, limit=limit, after=after
        )

    def _page(
        self, domain_id: str, contact_id: str, query: Query[Search], limit: int, after: str | None
    ) -> Page[Search]:
        found = self.db.page(query, limit=limit, after=after, principal=domain_id)
        if any(search.domain_id != domain_id for search in found.items):
            raise NoSuchContact(contact_id)
        if not found.items:
            self.contact_by_id(domain_id, contact_id)
        return found
