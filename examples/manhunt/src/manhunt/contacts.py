"""Contacts and their methods. Each change of the methods counts on the contact, in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass

from manhunt.base import TRIES, WEEK_SECONDS, Base, Check
from manhunt.destinations import check_destination
from manhunt.errors import Contended, Invalid, Missing, NoSuchContact, NoSuchMethod, TooManyMethods
from manhunt.model import Contact, ContactDetails, ContactMethod, Kind, QuietHours
from manhunt.zones import check_quiet
from singletable import (
    Condition,
    ConditionFailed,
    Database,
    NotFound,
    SingletableError,
    TransactionCancelled,
    Update,
    attr,
)

MAX_METHODS = 40
"""A plan is a part of one item, and all of it may be tried in one transaction."""
MAX_NAME = 200
MAX_ORDER = 1_000_000
CONTACT_SORT = "contact"
"""Where the contact itself lies among its methods: no method has that id."""


def check_name(name: str, field: str = "name") -> None:
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise Invalid(f"a name has 1 to {MAX_NAME} printable characters", field)


def check_method(kind: Kind, destination: str, order: int, wait_seconds: int) -> None:
    check_destination(kind, destination)
    if not 0 <= wait_seconds <= WEEK_SECONDS:
        raise Invalid(f"a wait is 0 to {WEEK_SECONDS} seconds, which is a week", "wait_seconds")
    if abs(order) > MAX_ORDER:
        raise Invalid(f"an order is a number of at most {MAX_ORDER}", "order")


def details(db: Database, domain_id: str, contact_id: str) -> ContactDetails:
    """A contact with its methods, as they were last written."""
    found = db.get(ContactDetails.by_id(contact_id).consistent())
    if found is None or found.contact.domain_id != domain_id:
        raise NoSuchContact(contact_id)
    return found


@dataclass(frozen=True)
class Contacts(Base):
    """The actions on contacts and their methods."""

    def create_contact(self, domain_id: str, name: str) -> Contact:
        """1 request, 2 W. Invalid."""
        check_name(name)
        contact = Contact(contact_id=self.new_id(), domain_id=domain_id, name=name, created_at=self.now())
        self.db.create(contact)
        return contact

    def rename_contact(self, domain_id: str, contact_id: str, name: str, check: Check[Contact] = None) -> Contact:
        """1 request and a read of what the index key is made of; with a check 1 more. NoSuchContact, Invalid."""
        check_name(name)
        return self._update(domain_id, contact_id, attr(Contact.name).set(name), check=check)

    def set_quiet_hours(
        self, domain_id: str, contact_id: str, quiet: QuietHours | None, check: Check[Contact] = None
    ) -> Contact:
        """Searches that are not urgent take no step in them; those that are open keep what they began with. 1 request,
        2 W; with a check 1 more. NoSuchContact, Invalid."""
        if quiet is not None:
            check_quiet(quiet)
        hours = attr(Contact.quiet).remove() if quiet is None else attr(Contact.quiet).set(quiet)
        return self._update(domain_id, contact_id, hours, _edited(), check=check)

    def _update(self, domain_id: str, contact_id: str, *updates: Update, check: Check[Contact]) -> Contact:
        for _ in range(TRIES):
            held = _own(domain_id)
            if check is not None:
                found = self.db.get(Contact.by_id(contact_id).consistent())
                if found is None or found.domain_id != domain_id:
                    raise NoSuchContact(contact_id)
                check(found)
                held &= (attr(Contact.name) == found.name) & (attr(Contact.edits) == found.edits)
            try:
                return self.db.update(Contact.by_id(contact_id), *updates, where=held)
            except SingletableError as error:
                if check is None or not isinstance(error, ConditionFailed):
                    raise _or_missing(error, contact_id) from error
        raise Contended(f"contact {contact_id!r}")

    def delete_contact(self, domain_id: str, contact_id: str) -> None:
        """With its methods, in one transaction; again from the start where they changed in between. Searches that are
        open go on by their own plan, and stages and rotas that name the contact pass over it. 2 requests: 1 R for each
        4 KB, 2 W an item. NoSuchContact."""
        for _ in range(TRIES):
            found = details(self.db, domain_id, contact_id)
            try:
                with self.db.transaction() as tx:
                    tx.delete(Contact.by_id(contact_id), where=attr(Contact.edits) == found.contact.edits)
                    for method in found.methods:
                        tx.delete(ContactMethod.of_contact(contact_id, method.method_id))
            except TransactionCancelled:
                continue
            return
        raise Contended(f"contact {contact_id!r}")

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
        check_method(kind, destination, order, wait_seconds)
        room = _own(domain_id) & (attr(Contact.method_count) < MAX_METHODS)
        try:
            with self.db.transaction() as tx:
                tx.update(Contact.by_id(contact_id), _edited(), attr(Contact.method_count).add(1), where=room)
                tx.create(method)
        except TransactionCancelled as cancelled:
            contact = _stored(cancelled)
            if contact is not None and contact.domain_id == domain_id:
                raise TooManyMethods(contact_id, MAX_METHODS) from cancelled
            raise NoSuchContact(contact_id) from cancelled
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
        check: Check[ContactMethod] = None,
    ) -> ContactMethod:
        """Whatever is not None; searches that are open keep their copy. 2 requests: 1 R for each 4 KB of the contact,
        then a transaction of 2 items. NoSuchContact, NoSuchMethod, Invalid, Contended."""
        found = details(self.db, domain_id, contact_id)
        method = method_of(found, method_id)
        if check is not None:
            check(method)
        given = {"destination": destination, "order": order, "wait_seconds": wait_seconds, "enabled": enabled}
        said = {name: value for name, value in given.items() if value is not None}
        if not said:
            return method
        for name, value in said.items():
            setattr(method, name, value)
        check_method(method.kind, method.destination, method.order, method.wait_seconds)
        updates = [attr(getattr(ContactMethod, name)).set(value) for name, value in said.items()]
        held = _own(domain_id) if check is None else _own(domain_id) & (attr(Contact.edits) == found.contact.edits)
        try:
            with self.db.transaction() as tx:
                tx.update(Contact.by_id(contact_id), _edited(), where=held)
                tx.update(ContactMethod.of_contact(contact_id, method_id), *updates)
        except TransactionCancelled as cancelled:
            if check is not None and _stored(cancelled) is not None:
                raise Contended(f"contact {contact_id!r}") from cancelled
            raise _missing(cancelled, contact_id, method_id) from cancelled
        return method

    def delete_method(self, domain_id: str, contact_id: str, method_id: str) -> None:
        """1 request: a transaction of 2 items. NoSuchContact, NoSuchMethod."""
        if method_id == CONTACT_SORT:
            raise NoSuchMethod(contact_id, method_id)
        try:
            with self.db.transaction() as tx:
                fewer = attr(Contact.method_count).add(-1)
                tx.update(Contact.by_id(contact_id), _edited(), fewer, where=_own(domain_id))
                is_there = attr(ContactMethod.kind).exists()
                tx.delete(ContactMethod.of_contact(contact_id, method_id), where=is_there)
        except TransactionCancelled as cancelled:
            raise _missing(cancelled, contact_id, method_id) from cancelled


def method_of(found: ContactDetails, method_id: str) -> ContactMethod:
    for method in found.methods:
        if method.method_id == method_id:
            return method
    raise NoSuchMethod(found.contact.contact_id, method_id)


def _own(domain_id: str) -> Condition:
    return attr(Contact.domain_id) == domain_id


def _edited() -> Update:
    return attr(Contact.edits).add(1)


def _stored(cancelled: TransactionCancelled) -> Contact | None:
    """The contact as it stands, where it was the one that said no."""
    for failure in cancelled.failures:
        stored: object = getattr(failure.error, "stored", None)
        if isinstance(stored, Contact):
            return stored
    return None


def _missing(cancelled: TransactionCancelled, contact_id: str, method_id: str) -> Missing:
    if any(failure.key.kinds[0] is Contact for failure in cancelled.failures):
        return NoSuchContact(contact_id)
    return NoSuchMethod(contact_id, method_id)


def _or_missing(error: SingletableError, contact_id: str) -> Exception:
    """What the refusal of an update means: the contact is not there, or another domain's."""
    refused = isinstance(error, NotFound) or hasattr(error, "stored")
    return NoSuchContact(contact_id) if refused else error
