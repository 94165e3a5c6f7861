"""What must hold of the whole table, whatever was done to it: for tests, and for whoever wants to know."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from organisations.errors import Invalid
from organisations.groups import ADMINS, OWNERS, Group, group_at, parse
from organisations.model import (
    GroupMember,
    Organisation,
    OrganisationMember,
    OrganisationService,
    User,
    UserOrganisation,
)
from singletable import Database

Pair = tuple[str, str]


@dataclass(frozen=True)
class Records:
    """Everything, by key."""

    users: dict[str, User]
    organisations: dict[str, Organisation]
    members: dict[Pair, OrganisationMember]
    sides: dict[Pair, UserOrganisation]
    services: dict[Pair, OrganisationService]
    group_members: list[GroupMember]


def check(db: Database) -> list[str]:
    """What is wrong, as sentences; empty when all holds. Six scans: it costs six times the table's size."""
    records = Records(
        {u.email: u for u in db.scan(User, consistent=True)},
        {o.organisation_id: o for o in db.scan(Organisation, consistent=True)},
        {(m.organisation_id, m.email): m for m in db.scan(OrganisationMember, consistent=True)},
        {(s.organisation_id, s.email): s for s in db.scan(UserOrganisation, consistent=True)},
        {(s.organisation_id, s.service_id): s for s in db.scan(OrganisationService, consistent=True)},
        list(db.scan(GroupMember, consistent=True)),
    )
    found = _pairs(records), _roles(records), _groups(records), _group_members(records), _copies(records)
    return [wrong for each in found for wrong in each]


def _pairs(records: Records) -> Iterator[str]:
    """Both sides of a membership or invitation are there, or neither; both accepted, or neither."""
    for pair in records.members.keys() ^ records.sides.keys():
        yield f"{pair}: one side is missing"
    for pair in records.members.keys() & records.sides.keys():
        if (records.members[pair].accepted_at is None) != (records.sides[pair].accepted_at is None):
            yield f"{pair}: only one side is accepted"
        if (records.sides[pair].open_since is None) != (records.sides[pair].accepted_at is not None):
            yield f"{pair}: listed as an open invitation, or missing in that list"
    for organisation_id, email in records.members.keys() | records.services.keys():
        if organisation_id not in records.organisations:
            yield f"{email}: belongs to {organisation_id}, which is not there"


def _roles(records: Records) -> Iterator[str]:
    """An organisation has an owner, and its sets name the members who are owners and admins."""
    for id, organisation in records.organisations.items():
        if not organisation.owners:
            yield f"{id}: has no owner"
        for group, stored in ((OWNERS, organisation.owners), (ADMINS, organisation.admins)):
            holders = {m.email for (of, _), m in records.members.items() if of == id and group.text in m.groups}
            if holders != stored:
                yield f"{id}: its {group.name}s are {sorted(holders)}, its record says {sorted(stored)}"


def _groups(records: Records) -> Iterator[str]:
    """Nobody holds a group before accepting, and no group is of a service that is not there."""
    for pair, member in records.members.items():
        if member.groups and member.accepted_at is None:
            yield f"{pair}: holds groups, and has not accepted"
        if member.waiting and member.accepted_at is not None:
            yield f"{pair}: has accepted, and groups still wait"
        yield from (f"{pair}: {wrong}" for wrong in _wrong_texts(records, member))


def _wrong_texts(records: Records, member: OrganisationMember) -> Iterator[str]:
    for text in member.groups | member.waiting:
        try:
            service_id = parse(text).service_id
        except Invalid as error:
            yield str(error)
            continue
        if service_id is not None and (member.organisation_id, service_id) not in records.services:
            yield f"in a group of service {service_id}, which is not there"


def _group_members(records: Records) -> Iterator[str]:
    """Each membership of a group has its record, and each record its membership."""
    of_members = {
        (organisation_id, email, parse(text))
        for (organisation_id, email), member in records.members.items()
        for text in member.groups
    }
    of_groups = {(g.organisation_id, g.email, group_at(g.scope, g.group)) for g in records.group_members}
    yield from (f"{_said(one)}: has no record of its own" for one in of_members - of_groups)
    yield from (f"{_said(one)}: is recorded, and is not the member's" for one in of_groups - of_members)


def _said(membership: tuple[str, str, Group]) -> str:
    organisation_id, email, group = membership
    return f"{(organisation_id, email)}: {group.text}"


def _copies(records: Records) -> Iterator[str]:
    """Copies are as their sources."""
    for pair, side in records.sides.items():
        organisation = records.organisations.get(side.organisation_id)
        if organisation is not None and organisation.organisation_name != side.organisation_name:
            yield f"{pair}: an old name of the organisation"
    for pair, member in records.members.items():
        user = records.users.get(member.email)
        if member.accepted_at is None or user is None:
            continue
        if any(getattr(user, n) != getattr(member, n) for n in ("first_name", "last_name", "phone", "shown_as")):
            yield f"{pair}: old details of the user"
