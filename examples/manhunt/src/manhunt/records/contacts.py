"""Contacts and the ways to reach them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from manhunt.records.table import manhunt
from singletable import ANY, Collection, Entity, Key, collect, field


class Kind(Enum):
    """The ways to reach somebody."""

    EMAIL = "email"
    SMS = "sms"
    VOICE = "voice"
    WEBHOOK = "webhook"


@dataclass(frozen=True)
class QuietHours:
    """The part of each day in which somebody is not to be called for what can wait."""

    starts: str
    """A time of the day as in `22:00`."""
    ends: str
    """Before `starts`: on the next day."""
    zone: str = "UTC"
    """As in `Europe/Berlin`."""


class Contact(Entity, table=manhunt, type="contact"):
    """Somebody who may be needed."""

    contact_id: str
    domain_id: str
    name: str = field(personal=True)
    created_at: datetime
    edits: int = 0
    """Raised by each change of the methods: a search that is being opened knows whether its plan is still theirs."""
    method_count: int = 0
    quiet: QuietHours | None = None

    @manhunt.key
    @staticmethod
    def by_id(contact_id: str) -> Key:
        """A contact by its id."""
        return f"{contact_id}", "contact"

    @manhunt.index("GSI1")
    @staticmethod
    def by_domain(domain_id: str, name: str = ANY) -> Key:
        """The contacts of a domain, by name."""
        return f"{domain_id}", f"{name}"


class ContactMethod(Entity, table=manhunt, type="contactMethod"):
    """One way to reach a contact."""

    contact_id: str
    method_id: str
    kind: Kind
    destination: str = field(personal=True)
    order: int
    """Methods are tried from the lowest; of equals, by id."""
    wait_seconds: int = 0
    """After the method before; 0 is together with it."""
    enabled: bool = True

    @manhunt.key
    @staticmethod
    def of_contact(contact_id: str, method_id: str = ANY) -> Key:
        """The methods of a contact, or one of them."""
        return f"{contact_id}", f"{method_id}"


class ContactDetails(Collection):
    """A contact by its id, with its methods."""

    contact: Contact
    methods: list[ContactMethod]

    by_id = collect(Contact.by_id)
