"""The actions on rotas. Each holds the revision that it read: of two edits at once one begins again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from manhunt.base import TRIES, Base
from manhunt.contacts import check_name
from manhunt.errors import Contended, Invalid, NoSuchContact, NoSuchOverride, NoSuchRota, Refused
from manhunt.model import Contact, Override, Rota
from manhunt.zones import OnCall, check_year, is_over, on_call_between, zone_of
from singletable import NotFound, Page, TransactionCancelled, Update, VersionMoved, attr
from singletable.records import Transaction

MAX_MEMBERS = 50
MAX_OVERRIDES = 100
MIN_TURN_SECONDS, MAX_TURN_SECONDS = 60, 366 * 24 * 3600
MAX_CALENDAR = timedelta(days=366)
KEPT = timedelta(days=30)
"""How long an override stays after it was over, to be seen in the calendar."""


@dataclass(frozen=True)
class Rotas(Base):
    """Who is on call when. A rota is one item: 1 R for each 4 KB, and 2 W a KB with its place in the index."""

    def create_rota(
        self,
        domain_id: str,
        name: str,
        members: Sequence[str],
        *,
        starts_at: datetime,
        turn_seconds: int,
        zone: str = "UTC",
    ) -> Rota:
        """The members take turns from `starts_at` on. 1 request: a transaction with a check of each member.
        NoSuchContact, Invalid."""
        check_rota(name, members, turn_seconds, zone, starts_at)
        rota = Rota(
            rota_id=self.new_id(),
            domain_id=domain_id,
            name=name,
            members=list(members),
            starts_at=starts_at,
            turn_seconds=turn_seconds,
            zone=zone,
        )
        self._with_contacts(domain_id, members, lambda tx: tx.create(rota))
        return rota

    def rota_by_id(self, domain_id: str, rota_id: str) -> Rota:
        """As it was last written. 1 request. NoSuchRota."""
        found = self.db.get(Rota.by_id(rota_id).consistent())
        if found is None or found.domain_id != domain_id:
            raise NoSuchRota(rota_id)
        return found

    def rotas_of_domain(self, domain_id: str, *, limit: int = 25, after: str | None = None) -> Page[Rota]:
        """By name. 1 request: 0.5 R for each 4 KB of the page."""
        return self.db.page(Rota.by_domain(domain_id), limit=limit, after=after, principal=domain_id)

    def calendar(self, domain_id: str, rota_id: str, since: datetime, until: datetime) -> list[OnCall]:
        """Who is on call from one moment to before another, in order, overrides included. 1 request. NoSuchRota,
        Invalid."""
        check_year(since, "since")
        if not since < until <= since + MAX_CALENDAR:
            raise Invalid(f"a calendar shows a time of up to {MAX_CALENDAR.days} days, from the earlier moment")
        rota = self.rota_by_id(domain_id, rota_id)
        if (until - since).total_seconds() / rota.turn_seconds > MAX_CALENDAR.days:
            raise Invalid(f"that would be more than {MAX_CALENDAR.days} turns: ask for less")
        return list(on_call_between(rota, since, until))

    def change_rota(
        self,
        domain_id: str,
        rota_id: str,
        *,
        name: str | None = None,
        members: Sequence[str] | None = None,
        starts_at: datetime | None = None,
        turn_seconds: int | None = None,
        zone: str | None = None,
    ) -> Rota:
        """Whatever is not None, as `edit_rota`."""
        given: dict[str, Any] = {"name": name, "starts_at": starts_at, "turn_seconds": turn_seconds, "zone": zone}
        given["members"] = list(members) if members is not None else None
        said = {field: value for field, value in given.items() if value is not None}
        return self.edit_rota(domain_id, rota_id, lambda rota: said)

    def edit_rota(self, domain_id: str, rota_id: str, changes: Callable[[Rota], Mapping[str, Any]]) -> Rota:
        """What `changes` makes of the rota as it stands, which is held. Searches that are open go on for whom they were
        opened. 3 requests. NoSuchRota, NoSuchContact, Invalid, Contended."""

        def edit(rota: Rota) -> tuple[list[Update], Sequence[str]]:
            said = changes(rota)
            checked = ("name", "members", "turn_seconds", "zone", "starts_at")
            check_rota(**{field: said.get(field, getattr(rota, field)) for field in checked})
            new = [id for id in said.get("members", ()) if id not in rota.members]  # who was deleted since stays in it
            return [attr(getattr(Rota, field)).set(value) for field, value in said.items()], new

        return self._edit(domain_id, rota_id, edit)

    def add_override(
        self, domain_id: str, rota_id: str, contact_id: str, starts_at: datetime, ends_at: datetime
    ) -> Override:
        """Somebody stands in from one moment until before another. 2 requests. NoSuchRota, NoSuchContact, Invalid,
        Refused, Contended."""
        check_year(starts_at, "starts_at")
        check_year(ends_at, "ends_at")
        if not starts_at < ends_at:
            raise Invalid("an override ends after it begins", "ends_at")
        made = Override(self.new_id(), contact_id, starts_at, ends_at)

        def edit(rota: Rota) -> tuple[list[Update], Sequence[str]]:
            kept = [other for other in rota.overrides if not is_over(other, self.now() - KEPT)]
            if len(kept) >= MAX_OVERRIDES:
                raise Refused(f"rota {rota_id!r} has {MAX_OVERRIDES} overrides, which is the most: delete one first")
            return [attr(Rota.overrides).set([*kept, made])], [contact_id]

        self._edit(domain_id, rota_id, edit)
        return made

    def delete_override(self, domain_id: str, rota_id: str, override_id: str) -> Rota:
        """2 requests. NoSuchRota, NoSuchOverride, Contended."""

        def edit(rota: Rota) -> tuple[list[Update], Sequence[str]]:
            rest = [other for other in rota.overrides if other.override_id != override_id]
            if len(rest) == len(rota.overrides):
                raise NoSuchOverride(rota_id, override_id)
            return [attr(Rota.overrides).set(rest)], ()

        return self._edit(domain_id, rota_id, edit)

    def delete_rota(self, domain_id: str, rota_id: str) -> None:
        """Stages that name it pass over it. 2 requests. NoSuchRota."""
        self.db.delete(Rota.by_id(self.rota_by_id(domain_id, rota_id).rota_id))

    def _edit(self, domain_id: str, rota_id: str, edit: Callable[[Rota], tuple[list[Update], Sequence[str]]]) -> Rota:
        """What an edit says of the rota as it stands, with the contacts that must be there."""
        for _ in range(TRIES):
            rota = self.rota_by_id(domain_id, rota_id)
            updates, contacts = edit(rota)
            if not updates:
                return rota
            try:
                self._with_contacts(domain_id, contacts, lambda tx: tx.update(rota, *updates))  # noqa: B023 run here
            except TransactionCancelled as cancelled:
                if any(isinstance(failure.error, VersionMoved | NotFound) for failure in cancelled.failures):
                    continue
                raise
            return self.rota_by_id(domain_id, rota_id)
        raise Contended(f"rota {rota_id!r}")

    def _with_contacts(self, domain_id: str, contacts: Sequence[str], write: Callable[[Transaction], None]) -> None:
        """A write in one transaction with checks that the contacts are there, and the domain's."""
        try:
            with self.db.transaction() as tx:
                write(tx)
                for contact_id in dict.fromkeys(contacts):
                    tx.check(Contact.by_id(contact_id), where=attr(Contact.domain_id) == domain_id)
        except TransactionCancelled as cancelled:
            missing = next((f.key for f in cancelled.failures if f.key.kinds[0] is Contact), None)
            if missing is None:
                raise
            raise NoSuchContact(missing.partition) from cancelled


def check_rota(name: str, members: Sequence[str], turn_seconds: int, zone: str, starts_at: datetime) -> None:
    check_name(name)
    check_year(starts_at, "starts_at")
    zone_of(zone)
    if not 0 < len(members) <= MAX_MEMBERS:
        raise Invalid(f"a rota has 1 to {MAX_MEMBERS} members")
    if not MIN_TURN_SECONDS <= turn_seconds <= MAX_TURN_SECONDS:
        raise Invalid("a turn is a minute to 366 days long", "turn_seconds")
