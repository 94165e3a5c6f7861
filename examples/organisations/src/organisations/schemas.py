"""What goes in and out over HTTP. Input forbids what it does not name: nothing of a record is set in passing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from examples_shared import bodies
from organisations.groups import Group, group_at, parse
from organisations.invitations import OpenInvitation
from organisations.members import MAX_GROUPS
from organisations.messages import MAX_CHARACTERS
from organisations.model import GroupMember, Job, Organisation, TrailEntry, User, UserOrganisation
from organisations.permissions import Decision, Reach
from organisations.roles import CAPABILITIES, Capability, Role
from organisations.views import Person, Profile, Roster, ServiceRoster
from singletable import Page

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=200)]
Address = Annotated[str, Field(min_length=1, max_length=254)]


class Input(bodies.Input):
    model_config = ConfigDict(strict=True)


class UserIn(Input):
    first_name: Text = ""
    last_name: Text = ""
    phone: Text = ""


class NameIn(Input):
    name: Name


class GroupIn(Input):
    """A group of the organisation, or of one of its services."""

    name: Name
    service_id: Name | None = None

    def group(self) -> Group:
        return Group(self.name, self.service_id)


class GroupsIn(Input):
    groups: Annotated[list[GroupIn], Field(min_length=1, max_length=MAX_GROUPS)]


class InviteIn(Input):
    email: Address
    groups: Annotated[list[GroupIn], Field(max_length=MAX_GROUPS, default_factory=list[GroupIn])]


class MessageIn(Input):
    group: GroupIn
    text: Annotated[str, Field(min_length=1, max_length=MAX_CHARACTERS)]


class UserOut(BaseModel):
    email: str
    shown: str
    first_name: str
    last_name: str
    phone: str
    created_at: datetime

    @classmethod
    def of(cls, user: User) -> UserOut:
        return cls(
            email=user.email,
            shown=user.shown_as or user.email,
            first_name=user.first_name,
            last_name=user.last_name,
            phone=user.phone,
            created_at=user.created_at,
        )


class MembershipOut(BaseModel):
    organisation_id: str
    organisation_name: str
    invited_at: datetime
    accepted_at: datetime | None

    @classmethod
    def of(cls, membership: UserOrganisation) -> MembershipOut:
        return cls(
            organisation_id=membership.organisation_id,
            organisation_name=membership.organisation_name,
            invited_at=membership.invited_at,
            accepted_at=membership.accepted_at,
        )


class ProfileOut(BaseModel):
    user: UserOut | None
    organisations: list[MembershipOut]
    invitations: list[MembershipOut]

    @classmethod
    def of(cls, profile: Profile) -> ProfileOut:
        return cls(
            user=UserOut.of(profile.user) if profile.user is not None else None,
            organisations=[MembershipOut.of(m) for m in profile.organisations],
            invitations=[MembershipOut.of(m) for m in profile.invitations],
        )


class OrganisationOut(BaseModel):
    organisation_id: str
    name: str
    job_id: str | None = None
    """The job that brings a new name to its copies; look at it under /jobs/{job_id}."""

    @classmethod
    def of(cls, organisation: Organisation, job: Job | None = None) -> OrganisationOut:
        return cls(
            organisation_id=organisation.organisation_id,
            name=organisation.organisation_name,
            job_id=None if job is None else job.job_id,
        )


class JobOut(BaseModel):
    job_id: str
    kind: str
    done: int
    refused: int
    total: int | None
    is_done: bool

    @classmethod
    def of(cls, job: Job) -> JobOut:
        return cls(
            job_id=job.job_id,
            kind=job.kind.value,
            done=job.done,
            refused=job.refused,
            total=job.total,
            is_done=job.is_done,
        )


class GroupOut(BaseModel):
    name: str
    service_id: str | None

    @classmethod
    def of(cls, group: Group) -> GroupOut:
        return cls(name=group.name, service_id=group.service_id)


class GrantOut(BaseModel):
    group: GroupOut
    given_by: str | None
    """Nobody where it was the operator, as by an import."""
    since: datetime


class DecisionOut(BaseModel):
    may: bool
    grants: list[GrantOut] | None = None
    """The groups that say yes, where an explanation was asked for."""

    @classmethod
    def of(cls, decision: Decision) -> DecisionOut:
        grants = [GrantOut(group=GroupOut.of(g.group), given_by=g.by, since=g.since) for g in decision.grants]
        return cls(may=decision.may, grants=grants)


class HolderOut(BaseModel):
    """Somebody in a group."""

    email: str
    group: str
    given_by: str | None
    since: datetime


class HoldersOut(BaseModel):
    people: list[HolderOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[GroupMember]) -> HoldersOut:
        people = [
            HolderOut(email=m.email, group=group_at(m.scope, m.group).name, given_by=m.given_by, since=m.given_at)
            for m in page
        ]
        return cls(people=people, after=page.cursor)


class ReachOut(BaseModel):
    organisation_id: str
    since: datetime
    groups: list[str]
    services: dict[str, list[str]]

    @classmethod
    def of(cls, reach: Reach) -> ReachOut:
        services = {id: list(groups) for id, groups in reach.services.items()}
        return cls(
            organisation_id=reach.organisation_id, since=reach.since, groups=list(reach.groups), services=services
        )


class RoleOut(BaseModel):
    role: str
    may: dict[str, str]
    """Capabilities, each in words."""

    @classmethod
    def of(cls, role: Role) -> RoleOut:
        return cls(role=role.value, may={c.name.lower(): c.value for c in Capability if c in CAPABILITIES[role]})


class InvitationOut(BaseModel):
    email: str
    invited_at: datetime
    invited_by: str | None
    mailed_at: datetime | None
    groups: list[GroupOut]


class InvitationsOut(BaseModel):
    invitations: list[InvitationOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[OpenInvitation]) -> InvitationsOut:
        found = [
            InvitationOut(
                email=one.side.email,
                invited_at=one.side.invited_at,
                invited_by=one.side.invited_by,
                mailed_at=one.side.mailed_at,
                groups=[GroupOut.of(group) for group in one.groups],
            )
            for one in page
        ]
        return cls(invitations=found, after=page.cursor)


class TrailEntryOut(BaseModel):
    at: datetime
    what: str
    by: str | None
    whom: str | None
    service_id: str | None
    name: str | None
    given: list[GroupOut]
    taken: list[GroupOut]

    @classmethod
    def of(cls, entry: TrailEntry) -> TrailEntryOut:
        return cls(
            at=entry.at,
            what=entry.what,
            by=entry.by,
            whom=entry.whom,
            service_id=entry.service,
            name=entry.name,
            given=[GroupOut.of(parse(text)) for text in sorted(entry.given)],
            taken=[GroupOut.of(parse(text)) for text in sorted(entry.taken)],
        )


class TrailOut(BaseModel):
    entries: list[TrailEntryOut]
    after: str | None

    @classmethod
    def of(cls, page: Page[TrailEntry]) -> TrailOut:
        return cls(entries=[TrailEntryOut.of(entry) for entry in page], after=page.cursor)


class PersonOut(BaseModel):
    email: str
    shown: str
    first_name: str
    last_name: str
    phone: str

    @classmethod
    def of(cls, person: Person) -> PersonOut:
        return cls(
            email=person.email,
            shown=person.shown,
            first_name=person.first_name,
            last_name=person.last_name,
            phone=person.phone,
        )


class ServiceOut(BaseModel):
    name: str
    groups: dict[str, list[str]]

    @classmethod
    def of(cls, service: ServiceRoster) -> ServiceOut:
        return cls(
            name=service.name, groups={name: [p.shown for p in people] for name, people in service.groups.items()}
        )


class RosterOut(BaseModel):
    """Groups hold people as they are shown; `members` has their details, once each."""

    organisation: OrganisationOut
    members: list[PersonOut]
    groups: dict[str, list[str]]
    services: dict[str, ServiceOut]

    @classmethod
    def of(cls, roster: Roster) -> RosterOut:
        return cls(
            organisation=OrganisationOut.of(roster.organisation),
            members=[PersonOut.of(person) for person in roster.members],
            groups={name: [p.shown for p in people] for name, people in roster.groups.items()},
            services={id: ServiceOut.of(service) for id, service in roster.services.items()},
        )
