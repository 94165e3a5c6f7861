"""Every query and action of the application, with what it guarantees and costs.

A domain is a tenant: what it doesn't own is to it what nobody has. Requests are those of a call that succeeds without
meeting another writer; units are DynamoDB's, for items of up to 1 KB written and 4 KB read (W: write units, R: read).
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

from examples.manhunt import contacts, searches
from examples.manhunt.errors import NoConversation
from examples.manhunt.messages import DEFAULT_MESSAGE
from examples.manhunt.model import (
    Contact,
    ContactMethod,
    Conversation,
    Kind,
    Resolution,
    Search,
    Status,
)
from examples.manhunt.queries import Queries
from singletable import attr

ANSWER_SECONDS = 600
EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)


def random_id() -> str:
    return str(uuid.uuid4())


@dataclass(frozen=True)
class Service(Queries):
    """The queries, and the actions by the database's clock. The source of ids is an argument: none can be guessed."""

    new_id: Callable[[], str] = field(default=random_id)

    def now(self) -> datetime:
        """Rounded down, so that nothing is early by it."""
        return EPOCH + timedelta(microseconds=int(self.db.port.now() * 1_000_000))

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
