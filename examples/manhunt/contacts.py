"""Contacts and their methods. Each change of the methods counts on the contact, in the same transaction."""

from __future__ import annotations

from datetime import datetime

from examples.manhunt.destinations import check_destination
from examples.manhunt.errors import Contended, Invalid, Missing, NoSuchContact, NoSuchMethod, TooManyMethods
from examples.manhunt.model import Contact, ContactDetails, ContactMethod, Kind
from singletable import Condition, Database, NotFound, SingletableError, TransactionCancelled, Update, attr

TRIES = 10
MAX_METHODS = 40
"""A plan is a part of one item, and all of it may be tried in one transaction."""
MAX_NAME = 200
MAX_ORDER = 1_000_000
WEEK_SECONDS = 7 * 24 * 3600
CONTACT_SORT = "contact"
"""Where the contact itself lies among its methods: no method has that id."""


def check_name(name: str) -> None:
    if not 0 < len(name) <= MAX_NAME or not name.isprintable():
        raise Invalid(f"a name has 1 to {MAX_NAME} printable characters")


def check_method(kind: Kind, destination: str, order: int, wait_seconds: int) -> None:
    check_destination(kind, destination)
    if not 0 <= wait_seconds <= WEEK_SECONDS:
        raise Invalid(f"a wait is 0 to {WEEK_SECONDS} seconds, which is a week")
    if abs(order) > MAX_ORDER:
        raise Invalid(f"an order is a number of at most {MAX_ORDER}")


def details(db: Database, domain_id: str, contact_id: str) -> ContactDetails:
    """A contact with its methods, as they were last written."""
    found = db.get(ContactDetails.by_id(contact_id).consistent())
    if found is None or found.contact.domain_id != domain_id:
        raise NoSuchContact(contact_id)
    return found


def rename(db: Database, domain_id: str, contact_id: str, name: str) -> Contact:
    check_name(name)
    own = attr(Contact.domain_id) == domain_id
    try:
        return db.update(Contact.by_id(contact_id), attr(Contact.name).set(name), where=own)
    except SingletableError as error:
        raise _or_missing(error, contact_id) from error


def delete(db: Database, domain_id: str, contact_id: str) -> None:
    """With all methods; again from the start where they changed in between."""
    for _ in range(TRIES):
        found = details(db, domain_id, contact_id)
        try:
            with db.transaction() as tx:
                tx.delete(Contact.by_id(contact_id), where=attr(Contact.edits) == found.contact.edits)
                for method in found.methods:
                    tx.delete(ContactMethod.of_contact(contact_id, method.method_id))
        except TransactionCancelled:
            continue
        return
    raise Contended(f"contact {contact_id!r}")


def add_method(db: Database, domain_id: str, method: ContactMethod) -> None:
    check_method(method.kind, method.destination, method.order, method.wait_seconds)
    contact_id = method.contact_id
    room = (attr(Contact.domain_id) == domain_id) & (attr(Contact.method_count) < MAX_METHODS)
    try:
        with db.transaction() as tx:
            tx.update(Contact.by_id(contact_id), _edited(), attr(Contact.method_count).add(1), where=room)
            tx.create(method)
    except TransactionCancelled as cancelled:
        contact = _stored(cancelled)
        if contact is not None and contact.domain_id == domain_id:
            raise TooManyMethods(contact_id, MAX_METHODS) from cancelled
        raise NoSuchContact(contact_id) from cancelled


def change_method(db: Database, domain_id: str, method: ContactMethod, *updates: Update) -> None:
    """`method` is as it will be."""
    check_method(method.kind, method.destination, method.order, method.wait_seconds)
    key = ContactMethod.of_contact(method.contact_id, method.method_id)
    try:
        with db.transaction() as tx:
            tx.update(Contact.by_id(method.contact_id), _edited(), where=_own(domain_id))
            tx.update(key, *updates)
    except TransactionCancelled as cancelled:
        raise _missing(cancelled, method.contact_id, method.method_id) from cancelled


def delete_method(db: Database, domain_id: str, contact_id: str, method_id: str) -> None:
    if method_id == CONTACT_SORT:
        raise NoSuchMethod(contact_id, method_id)
    key = ContactMethod.of_contact(contact_id, method_id)
    try:
        with db.transaction() as tx:
            fewer = attr(Contact.method_count).add(-1)
            tx.update(Contact.by_id(contact_id), _edited(), fewer, where=_own(domain_id))
            tx.delete(key, where=attr(ContactMethod.kind).exists())
    except TransactionCancelled as cancelled:
        raise _missing(cancelled, contact_id, method_id) from cancelled


def method_of(found: ContactDetails, method_id: str) -> ContactMethod:
    for method in found.methods:
        if method.method_id == method_id:
            return method
    raise NoSuchMethod(found.contact.contact_id, method_id)


def new_contact(domain_id: str, contact_id: str, name: str, now: datetime) -> Contact:
    check_name(name)
    return Contact(contact_id=contact_id, domain_id=domain_id, name=name, created_at=now)


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
