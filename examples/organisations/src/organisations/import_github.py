"""Import an organisation from a GitHub organisation file: afterwards it is what the file says.

Only what differs is written, so an import that was broken off is finished by the next, and a second import of the same
file writes nothing. Users who are there already keep their details; other organisations are not touched. It is bulk
work without conditions: not meant to run beside changes of the same organisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeVar

from organisations.copies import member_of
from organisations.errors import Refused
from organisations.github_file import OrganisationFile
from organisations.groups import ADMINS, OWNERS, parse, scope_of
from organisations.members import group_member
from organisations.model import (
    GroupMember,
    Organisation,
    OrganisationDetails,
    OrganisationMember,
    OrganisationService,
    User,
    UserOrganisation,
)
from singletable import Database, Entity, KeyOf, key_of

T = TypeVar("T")

BATCH = 200
"""Writes between two signs of progress: 8 requests, one round trip."""

Write = Entity | KeyOf[Any]
"""An entity to put, or a key to delete."""

Progress = Callable[[int, int], None]
"""Called with the number of writes done and the number of all."""


@dataclass(frozen=True)
class There:
    """What of a file's organisation and people is stored already."""

    users: dict[str, User]
    details: OrganisationDetails | None
    user_sides: dict[str, UserOrganisation]
    group_members: list[GroupMember]

    @property
    def members(self) -> dict[str, OrganisationMember]:
        return {m.email: m for m in self.details.members} if self.details else {}

    @property
    def services(self) -> dict[str, OrganisationService]:
        return {s.service_id: s for s in self.details.services} if self.details else {}

    def records(self) -> Iterable[Entity]:
        yield from self.users.values()
        yield from self.user_sides.values()
        if self.details is not None:
            yield from (self.details.organisation, *self.details.members, *self.details.services)
        yield from self.group_members


@dataclass(frozen=True)
class Plan:
    """The writes that make the stored organisation what the file says, in phases that leave no part unfinished unseen:
    the memberships of groups come between the services, by which they are found again, and the members; the
    organisation's own record, without which there is none, comes after all of them."""

    phases: Sequence[Sequence[Write]]

    @property
    def total(self) -> int:
        return sum(len(phase) for phase in self.phases)


def import_file(db: Database, file: OrganisationFile, now: datetime, progress: Progress) -> None:
    """Make the organisation what the file says.

    Reads its people, 100 a request, its partition, and the groups of each service; writes what differs, 25 a request:
    for a new organisation a record a service, 3 a person and one for each of their groups, 1 W for each KB and 1 W more
    for a person. TooLarge where somebody's groups pass DynamoDB's 400 KB. Refused while it is being deleted.
    """
    wanted = plan(file, read_there(db, file), now)
    done = 0
    progress(0, wanted.total)
    for part in (part for phase in wanted.phases for part in _parts(phase)):
        _write(db, part)
        progress(done := done + len(part), wanted.total)


def _write(db: Database, part: Sequence[Write]) -> None:
    """In a batch, but for the organisation, which counts its writes."""
    batch = [write for write in part if isinstance(write, Entity) and not isinstance(write, Organisation)]
    db.write_many(puts=batch, deletes=[write for write in part if not isinstance(write, Entity)])
    for organisation in (write for write in part if isinstance(write, Organisation)):
        db.put(organisation)


def read_there(db: Database, file: OrganisationFile) -> There:
    id = file.organisation_id
    details = db.get(OrganisationDetails.by_id(id).consistent())
    if details is not None and details.organisation.deleted_at is not None:
        raise Refused(f"organisation {id!r} is being deleted: import it when that is done")
    people = {*file.spellings, *(m.email for m in details.members)} if details else set(file.spellings)
    users = db.get_many([User.by_email(p) for p in people], consistent=True)
    user_sides = db.get_many([UserOrganisation.of_user(p, id) for p in people], consistent=True)
    services = {*file.services, *(s.service_id for s in details.services)} if details else file.services
    scopes = [scope_of(service_id) for service_id in (None, *sorted(services))]
    grants = [found for scope in scopes for found in db.all(GroupMember.of_scope(id, scope).consistent())]
    return There({u.email: u for u in users}, details, {s.email: s for s in user_sides}, grants)


def plan(file: OrganisationFile, there: There, now: datetime) -> Plan:
    """What has to be written; computed from the file and what is there alone."""
    users = {p: there.users.get(p) or _user(p, shown, now) for p, shown in file.spellings.items()}
    groups = file.groups_by_person()
    wanted: Sequence[Sequence[Entity]] = (
        [*users.values(), *(_service(file, id, there.services.get(id)) for id in sorted(file.services))],
        _group_members(file, there, now),
        [_member(file, users[p], groups[p], there.members.get(p), now) for p in users],
        [_organisation(file, there)],
        [_user_side(file, p, there.user_sides.get(p), now) for p in users],
    )
    stored = {_place(entity): entity for entity in there.records()}
    kept = {_place(entity) for phase in wanted for entity in phase}
    gone = [entity for place, entity in stored.items() if place not in kept and not isinstance(entity, User)]
    first, given, *rest = [[e for e in phase if stored.get(_place(e)) != e] for phase in wanted]
    taken = [key_of(entity) for entity in gone if isinstance(entity, GroupMember)]
    left = [key_of(entity) for entity in gone if not isinstance(entity, GroupMember)]
    return Plan([first, given, taken, *rest, left])


def _group_members(file: OrganisationFile, there: There, now: datetime) -> list[GroupMember]:
    """Who is in which group; those that are there stay as they are, with whoever gave them."""
    old = {_place(found): found for found in there.group_members}
    new = [
        group_member(file.organisation_id, person, parse(text), None, now)
        for person, texts in file.groups_by_person().items()
        for text in texts
    ]
    return [old.get(_place(found), found) for found in new]


def _user(email: str, shown: str, now: datetime) -> User:
    return User(email=email, created_at=now, shown_as=None if shown == email else shown)


def _member(
    file: OrganisationFile, user: User, groups: set[str], old: OrganisationMember | None, now: datetime
) -> OrganisationMember:
    accepted_at = old.accepted_at if old is not None else None
    made = member_of(file.organisation_id, user, groups, accepted_at or now)
    return made if old is None or old.groups != groups else replace(made, changed_by=old.changed_by)


def _user_side(file: OrganisationFile, email: str, old: UserOrganisation | None, now: datetime) -> UserOrganisation:
    if old is None:
        old = UserOrganisation(
            email=email, organisation_id=file.organisation_id, organisation_name=file.name, invited_at=now
        )
    return replace(old, organisation_name=file.name, accepted_at=old.accepted_at or now, open_since=None)


def _service(file: OrganisationFile, service_id: str, old: OrganisationService | None) -> OrganisationService:
    made = OrganisationService(organisation_id=file.organisation_id, service_id=service_id, service_name=service_id)
    return made if old is None or old.service_name != service_id else replace(made, changed_by=old.changed_by)


def _organisation(file: OrganisationFile, there: There) -> Organisation:
    owners, admins = set(file.groups.get(OWNERS, ())), set(file.groups.get(ADMINS, ()))
    if there.details is not None:
        return replace(there.details.organisation, organisation_name=file.name, owners=owners, admins=admins)
    return Organisation(
        organisation_id=file.organisation_id,
        organisation_name=file.name,
        owners=owners,
        admins=admins,
        copies=len(file.spellings),
    )


def _place(entity: Entity) -> tuple[str, str]:
    key = key_of(entity)
    return key.partition, key.low


def _parts(writes: Sequence[T]) -> Iterable[Sequence[T]]:
    return (writes[start : start + BATCH] for start in range(0, len(writes), BATCH))
