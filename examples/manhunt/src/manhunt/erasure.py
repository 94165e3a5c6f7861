"""The erasure of a contact: methods, searches with attempts and tasks, and whom a number's reply would answer."""

from __future__ import annotations

from dataclasses import dataclass

from manhunt.base import Base
from manhunt.errors import NoSuchContact
from manhunt.model import Contact, ContactDetails, manhunt, tasks
from singletable import NotFound
from singletable.erasure import Erasure, Receipt


@dataclass(frozen=True)
class Erasures(Base):
    """What only the operator does."""

    def erase_contact(self, domain_id: str, contact_id: str, *, by: str = "") -> Receipt:
        """A contact, for good; searches that are open end with it. Stages and rotas that name its id pass over it, and
        what somebody did in an incident stays there under the name that they gave.

        Called again after a crash it goes on. It reads the table three times or more, as what answers a telephone
        number is found by nothing else, and writes each item. NoSuchContact.
        """
        found = self.db.get(Contact.by_id(contact_id).consistent())
        if found is not None and found.domain_id != domain_id:
            raise NoSuchContact(contact_id)
        try:
            return Erasure(self.db, manhunt, tasks).apply(ContactDetails.by_id(contact_id), by=by)
        except NotFound:
            raise NoSuchContact(contact_id) from None
