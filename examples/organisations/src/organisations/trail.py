"""The trail of an organisation: what happened, who did it, when. The table's stream writes it, so that no action can
leave its entry out, and none costs more for it.

The old and the new state of a record say what changed; `changed_by` on it says who. A record that is deleted says
nothing any more: who goes is noted on the organisation's record, in the same transaction.
"""

from __future__ import annotations

from typing import Any

from organisations.model import Departure, Organisation, OrganisationMember, OrganisationService, TrailEntry
from singletable import Database
from singletable.streams import Changes, Inserted, Modified


def record_changes(changes: Changes, db: Database) -> None:
    """Declare the handlers that write the trail."""
    trail = Trail(db)
    changes.on(Organisation).inserted(trail.organisation_created)
    changes.on(Organisation).modified(trail.organisation_changed)
    changes.on(OrganisationService).inserted(trail.service_created)
    changes.on(OrganisationService).modified(trail.service_changed)
    changes.on(OrganisationMember).inserted(trail.member_inserted)
    changes.on(OrganisationMember).modified(trail.member_changed)


class Trail:
    """Handlers of changes; each writes an entry, or nothing where nothing worth one changed."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def organisation_created(self, change: Inserted[Organisation]) -> None:
        new = change.new
        self._write(change, new.organisation_id, "created", by=new.changed_by, name=new.organisation_name)

    def organisation_changed(self, change: Modified[Organisation]) -> None:
        old, new = change.old, change.new
        if new.deleted_at is not None and old.deleted_at is None:
            self._write(change, new.organisation_id, "deleted", by=new.changed_by, name=new.organisation_name)
        elif new.organisation_name != old.organisation_name:
            self._write(change, new.organisation_id, "renamed", by=new.changed_by, name=new.organisation_name)
        elif new.departure is not None and new.departure != old.departure:
            gone = new.departure
            self._write(change, new.organisation_id, _parting(gone), by=gone.by, whom=gone.email)

    def service_created(self, change: Inserted[OrganisationService]) -> None:
        self._service(change, change.new, "created a service")

    def service_changed(self, change: Modified[OrganisationService]) -> None:
        old, new = change.old, change.new
        if new.deleted_at is not None and old.deleted_at is None:
            self._service(change, new, "deleted a service")
        elif new.service_name != old.service_name:
            self._service(change, new, "renamed a service")

    def member_inserted(self, change: Inserted[OrganisationMember]) -> None:
        new = change.new
        if new.accepted_at is None:
            self._member(change, new, "invited", new.changed_by, given=new.waiting)
        else:
            self._member(change, new, "joined", new.changed_by, given=new.groups)

    def member_changed(self, change: Modified[OrganisationMember]) -> None:
        old, new = change.old, change.new
        if old.accepted_at is None and new.accepted_at is not None:
            self._member(change, new, "accepted", new.email, given=new.groups)
        elif new.groups != old.groups:
            self._member(change, new, "changed groups", new.changed_by, *_difference(old.groups, new.groups))
        elif new.waiting != old.waiting:
            self._member(change, new, "changed an offer", new.changed_by, *_difference(old.waiting, new.waiting))

    def _service(self, change: Any, service: OrganisationService, what: str) -> None:
        said = {"service": service.service_id, "name": service.service_name}
        self._write(change, service.organisation_id, what, by=service.changed_by, **said)

    def _member(
        self,
        change: Any,
        member: OrganisationMember,
        what: str,
        by: str | None,
        given: set[str],
        taken: set[str] | None = None,
    ) -> None:
        said: dict[str, Any] = {"whom": member.email, "given": given, "taken": taken or set[str]()}
        self._write(change, member.organisation_id, what, by=by, **said)

    def _write(self, change: Any, organisation_id: str, what: str, **said: Any) -> None:
        """1 W. Written again it is the same entry: its key is the change's place in the stream."""
        self._db.put(
            TrailEntry(organisation_id=organisation_id, at=change.time, sequence=change.sequence, what=what, **said)
        )


def _parting(gone: Departure) -> str:
    by_themself = gone.by == gone.email
    if gone.was_invited:
        return "declined" if by_themself else "withdrew the invitation"
    return "left" if by_themself else "removed"


def _difference(old: set[str], new: set[str]) -> tuple[set[str], set[str]]:
    """What is given, and what is taken."""
    return new - old, old - new
