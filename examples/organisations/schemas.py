"""What goes in and out over HTTP. Input forbids what it does not name: nothing of a record is set in passing."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from examples.organisations.groups import Group
from examples.organisations.model import Organisation, User, UserOrganisation
from examples.organisations.views import Person, Profile, Roster, ServiceRoster

Name = Annotated[str, Field(min_length=1, max_length=200)]
Text = Annotated[str, Field(max_length=200)]
Address = Annotated[str, Field(min_length=1, max_length=254)]


class Input(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


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
    groups: Annotated[list[GroupIn], Field(min_length=1, max_length=50)]


class InviteIn(Input):
    email: Address
    groups: Annotated[list[GroupIn], Field(max_length=50)] = []


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

    @classmethod
    def of(cls, organisation: Organisation) -> OrganisationOut:
        return cls(organisation_id=organisation.organisation_id, name=organisation.organisation_name)


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
