"""Import an organisation from a GitHub organisation file: afterwards it is what the file says.

Only what differs is written, so an import that was broken off is finished by the next, and a second import of the same
file writes nothing. Users who are there already keep their details; other organisations are not touched. It is bulk
work without conditions: not meant to run beside changes of the same organisation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from examples.organisations.copies import member_of
from examples.organisations.github_file import OrganisationFile
from examples.organisations.groups import OWNERS
from examples.organisations.model import (
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

Progress = Callable[[int, int], None]
"""Called with the number of writes done and the number of all."""


@dataclass(frozen=True)
class There:
    """What of a file's organisation and people is stored already."""

    users: dict[str, User]
    details: OrganisationDetails | None
    user_sides: dict[str, UserOrganisation]

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


@dataclass(frozen=True)
class Plan:
    """The writes that make the stored organisation what the file says, in an order that leaves no part unfinished
    unseen: the organisation's own record, without which there is none, comes after its members and services."""

    puts: Sequence[Entity]
    deletes: Sequence[KeyOf[Entity]]


def import_file(db: Database, file: OrganisationFile, now: datetime, progress: Progress) -> None:
    """Make the organisation what the file says.

    Reads its people, 100 a request, and its partition; writes what differs, 25 a request: for a new organisation
    2 records a service and 3 a person, 1 W for each KB. TooLarge where somebody's groups pass DynamoDB's 400 KB.
    """
    wanted = plan(file, read_there(db, file), now)
    total, done = len(wanted.puts) + len(wanted.deletes), 0
    progress(0, total)
    for puts in _parts(wanted.puts):
        _put(db, puts)
        progress(done := done + len(puts), total)
    for deletes in _parts(wanted.deletes):
        db.write_many(deletes=deletes)
        progress(done := done + len(deletes), total)


def _put(db: Database, puts: Sequence[Entity]) -> None:
    """In a batch, but for the organisation, which counts its writes."""
    db.write_many(puts=[entity for entity in puts if not isinstance(entity, Organisation)])
    for organisation in (entity for entity in puts if isinstance(entity, Organisation)):
        db.put(organisation)


def read_there(db: Database, file: OrganisationFile) -> There:
    details = db.get(OrganisationDetails.by_id(file.organisation_id).consistent())
    people = {*file.spellings, *(m.email for m in details.members)} if details else set(file.spellings)
    users = db.get_many([User.by_email(p) for p in people], consistent=True)
    sides = [UserOrganisation.of_user(p, file.organisation_id) for p in people]
    user_sides = db.get_many(sides, consistent=True)
    return There({u.email: u for u in users}, details, {s.email: s for s in user_sides})


def plan(file: OrganisationFile, there: There, now: datetime) -> Plan:
    """What has to be written; computed from the file and what is there alone."""
    users = {p: there.users.get(p) or _user(p, shown, now) for p, shown in file.spellings.items()}
    groups = file.groups_by_person()
    members = [_member(file, users[p], groups[p], there.members.get(p), now) for p in users]
    services = [_service(file, id) for id in sorted(file.services)]
    sides = [_user_side(file, p, there.user_sides.get(p), now) for p in users]
    ordered: list[Entity] = [*users.values(), *members, *services, _organisation(file, there), *sides]
    stored = {_place(entity): entity for entity in there.records()}
    kept = {_place(entity) for entity in ordered}
    gone = [entity for place, entity in stored.items() if place not in kept and not isinstance(entity, User)]
    return Plan([e for e in ordered if stored.get(_place(e)) != e], [key_of(e) for e in gone])


def _user(email: str, shown: str, now: datetime) -> User:
    return User(email=email, created_at=now, shown_as=None if shown == email else shown)


def _member(
    file: OrganisationFile, user: User, groups: set[str], old: OrganisationMember | None, now: datetime
) -> OrganisationMember:
    accepted_at = old.accepted_at if old is not None else None
    return member_of(file.organisation_id, user, groups, accepted_at or now)


def _user_side(file: OrganisationFile, email: str, old: UserOrganisation | None, now: datetime) -> UserOrganisation:
    if old is None:
        old = UserOrganisation(
            email=email, organisation_id=file.organisation_id, organisation_name=file.name, invited_at=now
        )
    return replace(old, organisation_name=file.name, accepted_at=old.accepted_at or now)


def _service(file: OrganisationFile, service_id: str) -> OrganisationService:
    return OrganisationService(organisation_id=file.organisation_id, service_id=service_id, service_name=service_id)


def _organisation(file: OrganisationFile, there: There) -> Organisation:
    owners = set(file.groups.get(OWNERS, ()))
    if there.details is not None:
        return replace(there.details.organisation, organisation_name=file.name, owners=owners)
    copies = len(file.spellings)
    return Organisation(organisation_id=file.organisation_id, organisation_name=file.name, owners=owners, copies=copies)


def _place(entity: Entity) -> tuple[str, str]:
    key = key_of(entity)
    return key.partition, key.low


def _parts(writes: Sequence[T]) -> Iterable[Sequence[T]]:
    return (writes[start : start + BATCH] for start in range(0, len(writes), BATCH))
