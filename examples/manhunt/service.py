"""Every query and action of the application, with what it guarantees and costs.

A domain is a tenant: what it doesn't own is to it what nobody has. Requests are those of a call that succeeds without
meeting another writer; units are DynamoDB's, for items of up to 1 KB written and 4 KB read (W: write units, R: read).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from examples.manhunt import contacts, queries, searches
from examples.manhunt.errors import NoConversation
from examples.manhunt.messages import DEFAULT_MESSAGE
from examples.manhunt.model import (
    Contact,
    ContactDetails,
    ContactMethod,
    Conversation,
    Kind,
    Resolution,
    Search,
    SearchDetails,
    Status,
)
from examples.manhunt.queries import EVER, Window
from singletable import Database, Page, attr

ANSWER_SECONDS = 600
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Service:
    """The actions over a database, by its clock. The source of ids is an argument: nobody can guess the next."""

    db: Database
    new_id: Callable[[], str] = field(default=random_id)

    def now(self) -> datetime:
        """Rounded down, so that nothing is early by it."""
        return EPOCH + timedelta(microseconds=int(self.db.port.now() * 1_000_000))

    # --- the nine queries, one request each ---------------------------------------------------------------------------
    def search_by_id(self, domain_id: str, search_id: str) -> Search:
        """0.5 R. NoSuchSearch."""
        return queries.search_by_id(self.db, domain_id, search_id)

    def search_with_attempts(self, domain_id: str, search_id: str) -> SearchDetails:
        """0.5 R for each 4 KB of the search and its attempts. NoSuchSearch."""
        return queries.search_with_attempts(self.db, domain_id, search_id)

    def contact_by_id(self, domain_id: str, contact_id: str) -> Contact:
        """0.5 R. NoSuchContact."""
        return queries.contact_by_id(self.db, domain_id, contact_id)

    def contact_with_methods(self, domain_id: str, contact_id: str) -> ContactDetails:
        """0.5 R for each 4 KB of the contact and its methods. NoSuchContact."""
        return queries.contact_with_methods(self.db, domain_id, contact_id)

    def contacts_of_domain(self, domain_id: str, *, limit: int = 25, after: str | None = None) -> Page[Contact]:
        """By name. 0.5 R for each 4 KB of the page."""
        return queries.contacts_of_domain(self.db, domain_id, limit, after)

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
        where it is empty, to tell a contact without searches from none. NoSuchContact."""
        return queries.searches_of_contact(self.db, domain_id, contact_id, window, newest_first, limit, after)

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
        return queries.searches_with_status(self.db, domain_id, contact_id, status, window, newest_first, limit, after)

    # --- contacts -----------------------------------------------------------------------------------------------------
    def create_contact(self, domain_id: str, name: str) -> Contact:
        """1 request, 2 W. Invalid."""
        contact = contacts.new_contact(domain_id, self.new_id(), name, self.now())
        self.db.create(contact)
        return contact

    def rename_contact(self, domain_id: str, contact_id: str, name: str) -> Contact:
        """1 request and a read of what the index key is made of. NoSuchContact, Invalid."""
        return contacts.rename(self.db, domain_id, contact_id, name)

    def delete_contact(self, domain_id: str, contact_id: str) -> None:
        """With its methods, in one transaction. Searches that are open go on by their own plan. 2 requests: 1 R for
        each 4 KB, 2 W an item. NoSuchContact."""
        contacts.delete(self.db, domain_id, contact_id)

    def add_method(
        self,
        domain_id: str,
        contact_id: str,
        kind: Kind,
        destination: str,
        *,
        order: int = 0,
        wait_seconds: int = 0,
        enabled: bool = True,
    ) -> ContactMethod:
        """1 request: a transaction of 2 items. NoSuchContact, TooManyMethods, Invalid."""
        method = ContactMethod(
            contact_id=contact_id,
            method_id=self.new_id(),
            kind=kind,
            destination=destination,
            order=order,
            wait_seconds=wait_seconds,
            enabled=enabled,
        )
        contacts.add_method(self.db, domain_id, method)
        return method

    def change_method(
        self,
        domain_id: str,
        contact_id: str,
        method_id: str,
        *,
        destination: str | None = None,
        order: int | None = None,
        wait_seconds: int | None = None,
        enabled: bool | None = None,
    ) -> ContactMethod:
        """Whatever is not None; searches that are open keep their copy. 2 requests: 1 R for each 4 KB of the contact,
        then a transaction of 2 items. NoSuchContact, NoSuchMethod, Invalid."""
        method = contacts.method_of(contacts.details(self.db, domain_id, contact_id), method_id)
        given = {"destination": destination, "order": order, "wait_seconds": wait_seconds, "enabled": enabled}
        said = {name: value for name, value in given.items() if value is not None}
        if not said:
            return method
        for name, value in said.items():
            setattr(method, name, value)
        updates = [attr(getattr(ContactMethod, name)).set(value) for name, value in said.items()]
        contacts.change_method(self.db, domain_id, method, *updates)
        return method

    def delete_method(self, domain_id: str, contact_id: str, method_id: str) -> None:
        """1 request: a transaction of 2 items. NoSuchContact, NoSuchMethod."""
        contacts.delete_method(self.db, domain_id, contact_id, method_id)

    # --- searches -----------------------------------------------------------------------------------------------------
    def open_search(
        self,
        domain_id: str,
        contact_id: str,
        metadata: Mapping[str, str],
        *,
        message: str = DEFAULT_MESSAGE,
        answer_seconds: int = ANSWER_SECONDS,
    ) -> Search:
        """Begin to look for a contact. The plan, its enabled methods in order, is copied into the search; the
        transaction holds that it is still theirs. Without any the search has failed at once, and says so.

        2 requests: 1 R for each 4 KB of the contact; then 6 W for the search in its two indexes and 2 W for the check.
        NoSuchContact, Invalid, Contended.
        """
        return searches.open_search(
            self.db, self.now(), self.new_id(), domain_id, contact_id, message, metadata, answer_seconds
        )

    def answer(self, search_id: str, step: int, *, how: str, by: str = "", said: str = "") -> Search:
        """The attempt number `step` was answered: the search ends, for good, and the attempt says how.

        What led here is the proof that it may: a signed link, a reply from the number, a key on the call. 2 requests
        and a read of the outcome. NoSuchSearch, NoSuchAttempt, AlreadyEnded.
        """
        search = searches.read(self.db, search_id)
        resolution = Resolution(by or search.contact_name, how, said)
        return searches.end(self.db, search, Status.ANSWERED, resolution, self.now(), answered=step)

    def answer_from(self, number: str, *, how: str, said: str = "") -> Search:
        """A reply from a telephone number answers the last attempt whose text went there. NoConversation, and as
        `answer`, with a request more."""
        conversation = self.db.get(Conversation.with_number(number).consistent())
        if conversation is None:
            raise NoConversation
        return self.answer(conversation.search_id, conversation.step, how=how, said=said)

    def cancel(self, domain_id: str, search_id: str, *, by: str, reason: str = "") -> Search:
        """End a search that is not needed any more. 2 requests: 1 R, then one conditional update of the search and its
        index entries. NoSuchSearch, AlreadyEnded."""
        search = searches.read(self.db, search_id, domain_id)
        return searches.end(self.db, search, Status.CANCELLED, Resolution(by, "cancelled", reason), self.now())
