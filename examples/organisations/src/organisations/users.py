"""Users: their details, with the copies in their organisations, and what they are in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from organisations.addresses import address, spelling
from organisations.base import TRIES, Actions
from organisations.copies import MAX_COPIES, copied, details_are, refresh_names
from organisations.errors import Contended, NoSuchUser
from organisations.model import OrganisationMember, User, UserDetails, UserOrganisation
from organisations.views import Profile, profile
from singletable import AlreadyExists, Condition, ConditionFailed, NotFound, TransactionCancelled, Update, attr


@dataclass(frozen=True)
class Users(Actions):
    def put_user(
        self,
        email: str,
        *,
        first_name: str = "",
        last_name: str = "",
        phone: str = "",
        check: Callable[[User | None], object] | None = None,
    ) -> User:
        """Register a user, or change their details; `createdAt` stays as it was. Up to 99 copies change in the same
        write; more follow by the table's stream.

        `check` sees the details as they are stored, which are held then, and raises where they are not to be changed.

        2 requests: R by the size of the partition, then 1 W, or 2 W + 3 W for each organisation the user is in.
        """
        given = User(
            email=address(email),
            first_name=first_name,
            last_name=last_name,
            phone=phone,
            shown_as=spelling(email),
            created_at=self.now(),
        )
        for _ in range(TRIES):
            details = self.db.get(UserDetails.by_email(given.email).consistent())
            assert details is not None  # every part of it may be absent
            joined = [m for m in details.memberships if m.accepted_at is not None]
            old = details.user
            if check is not None:
                check(old)
            user = given if old is None else replace(given, created_at=old.created_at, copies=old.copies)
            try:
                self._write_user(old, user, joined if len(joined) <= MAX_COPIES else [], is_held=check is not None)
            except (TransactionCancelled, AlreadyExists, ConditionFailed, NotFound):
                continue
            return user
        raise Contended(f"the user {given.email!r}")

    def get_user(self, email: str) -> User:
        """1 request, 1 R. NoSuchUser."""
        user = self.db.get(User.by_email(address(email)).consistent())
        if user is None:
            raise NoSuchUser(email)
        return user

    def user_details(self, email: str) -> Profile:
        """A user, registered or only invited, with organisations and invitations. 1 request: a consistent query; 1 R
        for each 4 KB of the partition. NoSuchUser where there is none of it."""
        key = address(email)
        details = self.db.get(UserDetails.by_email(key).consistent())
        if details is None or (details.user is None and not details.memberships):
            raise NoSuchUser(email)
        return profile(key, details)

    def refresh_user(self, email: str) -> Profile:
        """user_details, with the organisations' names read from their source and written back where they differ, under
        the copy's old value; organisations that are being deleted are left out. 2 round trips: the query and 1 R an
        organisation; then 1 W for each that differs (2 for an invitation)."""
        found = self.user_details(email)
        fresh = refresh_names(self.db, [*found.organisations, *found.invitations])
        organisations = tuple(side for side in fresh if side.accepted_at is not None)
        return replace(found, organisations=organisations, invitations=tuple(s for s in fresh if s.accepted_at is None))

    # --- writes -------------------------------------------------------------------------------------------------------
    def _write_user(
        self, old: User | None, user: User, joined: Sequence[UserOrganisation], *, is_held: bool = False
    ) -> None:
        """The record and its copies; alone, for half the units, where there are none."""
        if old is None and not joined:
            return self.db.create(user)
        key, changes = User.by_email(user.email), _changes(user)
        held: Condition | None = None
        if old is not None:
            held = attr(User.copies) == old.copies
            held = held & details_are(old) if is_held else held
        if old is not None and not joined:
            self.db.update(key, *changes, where=held)
            return None
        with self.db.transaction() as tx:
            if old is None:
                tx.create(user)
            else:
                tx.update(key, *changes, where=held)
            for m in joined:
                tx.update(OrganisationMember.of_organisation(m.organisation_id, user.email), *copied(user))
        return None


def _changes(user: User) -> tuple[Update, ...]:
    return (
        attr(User.first_name).set(user.first_name),
        attr(User.last_name).set(user.last_name),
        attr(User.phone).set(user.phone),
        attr(User.shown_as).set(user.shown_as),
    )
