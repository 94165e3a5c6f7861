"""The five records of the application in one table, and the two partitions that are read whole."""

from __future__ import annotations

from datetime import datetime

from singletable import ANY, Collection, Condition, Entity, Key, Table, attr, collect, copy_of, field

organisations = Table(
    "organisations",
    key=("id", "rng"),
    type_attribute="typ",
    version_attribute="v",
    separator="/",
    stream="new_and_old",
)


class User(Entity, table=organisations, type="user"):
    """Somebody who has registered."""

    email: str
    """The address or login in lower case: one person, whatever the case."""
    first_name: str = field(default="", name="firstName")
    last_name: str = field(default="", name="lastName")
    phone: str = ""
    created_at: datetime = field(name="createdAt")
    shown_as: str | None = field(default=None, name="shownAs")
    """The address as its owner writes it, where that is not lower case."""
    copies: int = 0
    """Raised by each write that copies these details: a change of them knows whether it has seen every copy."""

    @organisations.key
    @staticmethod
    def by_email(email: str) -> Key:
        """One user."""
        return f"user/{email}", "user"


class Organisation(Entity, table=organisations, type="organisation"):
    organisation_id: str = field(name="organisationId")
    organisation_name: str = field(name="organisationName")
    owners: set[str] = field(default_factory=set[str])
    """The members in the group `owner`, changed with their records in one transaction: it can't be emptied."""
    copies: int = 0
    """As User.copies, for the name."""
    revision: int = field(version=True, default=0)
    """How often it was written: which name a copy has, where changes bring it."""

    @organisations.key
    @staticmethod
    def by_id(organisation_id: str) -> Key:
        """One organisation."""
        return f"organisation/{organisation_id}", "organisation"


class UserOrganisation(Entity, table=organisations, type="userOrganisation"):
    """The user's side of a membership, or of an invitation: that is one nobody has accepted yet."""

    email: str
    organisation_id: str = field(name="organisationId")
    organisation_name: str = copy_of(Organisation.organisation_name, name="organisationName")
    invited_at: datetime = field(name="invitedAt")
    accepted_at: datetime | None = field(default=None, name="acceptedAt")

    @organisations.key
    @staticmethod
    def of_user(email: str, organisation_id: str = ANY) -> Key:
        """The organisations and invitations of a user."""
        return f"user/{email}", f"userOrganisation/{organisation_id}"


class OrganisationMember(Entity, table=organisations, type="organisationMember"):
    """The organisation's side of a membership or invitation, with a copy of the user's details."""

    organisation_id: str = field(name="organisationId")
    email: str
    first_name: str = field(default="", name="firstName")
    last_name: str = field(default="", name="lastName")
    phone: str = ""
    created_at: datetime | None = field(default=None, name="createdAt")
    shown_as: str | None = field(default=None, name="shownAs")
    groups: set[str] = field(default_factory=set[str])
    """The texts of `groups.Group`; none before the invitation is accepted."""
    waiting: set[str] = field(default_factory=set[str])
    """The groups an invitation offers: they become `groups` when it is accepted, and mean nothing until then."""
    accepted_at: datetime | None = field(default=None, name="acceptedAt")

    @organisations.key
    @staticmethod
    def of_organisation(organisation_id: str, email: str = ANY) -> Key:
        """The members of an organisation and those invited to it."""
        return f"organisation/{organisation_id}", f"organisationMember/{email}"


class OrganisationService(Entity, table=organisations, type="organisationService"):
    organisation_id: str = field(name="organisationId")
    service_id: str = field(name="serviceId")
    service_name: str = field(name="serviceName")
    deleted_at: datetime | None = field(default=None, name="deletedAt")
    """Set while the service is being deleted: from then on nobody sees it or gets into its groups."""

    @organisations.key
    @staticmethod
    def of_organisation(organisation_id: str, service_id: str = ANY) -> Key:
        """The services of an organisation."""
        return f"organisation/{organisation_id}", f"organisationService/{service_id}"


class UserDetails(Collection):
    """A user's partition. An address that was invited and never registered has no `user`."""

    user: User | None
    memberships: list[UserOrganisation]

    by_email = collect(User.by_email)


class OrganisationDetails(Collection):
    """An organisation's partition."""

    organisation: Organisation
    members: list[OrganisationMember]
    services: list[OrganisationService]

    by_id = collect(Organisation.by_id)


MEMBER_ACCEPTED: Condition = attr(OrganisationMember.accepted_at).exists()
MEMBER_INVITED: Condition = ~MEMBER_ACCEPTED
INVITATION_OPEN: Condition = ~attr(UserOrganisation.accepted_at).exists()
SERVICE_KEPT: Condition = ~attr(OrganisationService.deleted_at).exists()
