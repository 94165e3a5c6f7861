"""The erasure of a user: all that is theirs goes, and their address leaves what stays. The model says what that is."""

from __future__ import annotations

from dataclasses import dataclass

from organisations.addresses import address
from organisations.base import Actions
from organisations.changes import changes_of
from organisations.errors import LastOwner, NoSuchUser
from organisations.model import Organisation, UserDetails, organisations, tasks
from singletable import NotFound
from singletable.erasure import Erasure, ErasurePlan, Receipt


@dataclass(frozen=True)
class Erasures(Actions):
    def plan_erasure(self, email: str) -> ErasurePlan:
        """What `erase_user` would delete. It reads the table twice. NoSuchUser."""
        try:
            return self._erasure().plan(UserDetails.by_email(address(email)))
        except NotFound:
            raise NoSuchUser(email) from None

    def erase_user(self, email: str, *, by: str = "") -> Receipt:
        """A user, registered or only invited, with memberships, groups and mails that wait; the trail stays without the
        address. Called again after a crash it goes on. It reads the table four times or more, and writes each item.

        Let the worker finish first: a change that it has not handled yet would still be written into the trail.
        NoSuchUser; LastOwner, where an organisation would be without one: give it to somebody else, or delete it.
        """
        key = address(email)
        details = self.db.get(UserDetails.by_email(key).consistent())
        joined = [side.organisation_id for side in details.memberships] if details is not None else []
        for organisation in self.db.get_many([Organisation.by_id(each) for each in joined], consistent=True):
            if organisation.owners == {key}:
                raise LastOwner(organisation.organisation_id, key)
        try:
            return self._erasure().apply(UserDetails.by_email(key), by=by)
        except NotFound:
            raise NoSuchUser(email) from None

    def _erasure(self) -> Erasure:
        return Erasure(self.db, organisations, tasks, changes_of(self.db))
