"""The records of the application in one table of one index, and the two partitions that are read whole."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import Enum

from singletable import ANY, Collection, Condition, Entity, Key, Table, attr, collect, copy_of, field
from singletable.tasks import Tasks

organisations = Table(
    "organisations",
    key=("id", "rng"),
    indexes={"lists": ("listId", "listRng")},
    type_attribute="typ",
    version_attribute="v",
    separator="/",
    stream="new_and_old",
)
tasks = Tasks(organisations, index="lists")
"""What is done later: mail, a name's many copies, the deletion of an organisation."""


@dataclass(frozen=True)
class Departure:
    """Who went last, and by whom: the record of a member can't say so any more when it is gone."""

    email: str
    by: str | None
    at: datetime
    was_invited: bool = False
    """It was an open invitation that ended."""


class User(Entity, table=organisations, type="user"):
    """Somebody who has registered."""

    email: str = field(personal=True)
    """The address or login in lower case: one person, whatever the case."""
    first_name: str = field(default="", personal=True, name="firstName")
    last_name: str = field(default="", personal=True, name="lastName")
    phone: str = field(default="", personal=True)
    created_at: datetime = field(name="createdAt")
    shown_as: str | None = field(default=None, personal=True, name="shownAs")
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
    owners: set[str] = field(default_factory=set[str], mentions=User.email)
    """The members in the group `owner`, changed with their records in one transaction: it can't be emptied."""
    admins: set[str] = field(default_factory=set[str], mentions=User.email)
    """The members in the group `admin`, changed in the same way."""
    copies: int = 0
    """As User.copies, for the name."""
    revision: int = field(version=True, default=0)
    """How often it was written: which name a copy has, where changes bring it."""
    deleted_at: datetime | None = field(default=None, name="deletedAt")
    """Set while the organisation is being deleted: from then on it is hidden, and nothing of it changes any more."""
    changed_by: str | None = field(default=None, mentions=User.email, name="changedBy")
    """Whoever changed the record last; nobody is the operator, here and in the other records."""
    departure: Departure | None = field(default=None, mentions=User.email)

    @organisations.key
    @staticmethod
    def by_id(organisation_id: str) -> Key:
        """One organisation."""
        return f"organisation/{organisation_id}", "organisation"


class UserOrganisation(Entity, table=organisations, type="userOrganisation"):
    """The user's side of a membership, or of an invitation: that is one nobody has accepted yet."""

    email: str = field(belongs_to=User.email)
    organisation_id: str = field(belongs_to=Organisation.organisation_id, name="organisationId")
    organisation_name: str = copy_of(Organisation.organisation_name, name="organisationName")
    invited_at: datetime = field(name="invitedAt")
    invited_by: str | None = field(default=None, mentions=User.email, name="invitedBy")
    accepted_at: datetime | None = field(default=None, name="acceptedAt")
    open_since: datetime | None = field(default=None, name="openSince")
    """invited_at, while the invitation is open: the index lists no others."""
    mailed_at: datetime | None = field(default=None, name="mailedAt")
    """When the invitation's mail was handed in."""

    @organisations.key
    @staticmethod
    def of_user(email: str, organisation_id: str = ANY) -> Key:
        """The organisations and invitations of a user."""
        return f"user/{email}", f"userOrganisation/{organisation_id}"

    @organisations.index("lists")
    @staticmethod
    def open_of_organisation(organisation_id: str, open_since: datetime = ANY, email: str = ANY) -> Key:
        """The open invitations of an organisation, oldest first."""
        return f"invitations/{organisation_id}", f"{open_since}/{email}"


class OrganisationMember(Entity, table=organisations, type="organisationMember"):
    """The organisation's side of a membership or invitation, with a copy of the user's details."""

    organisation_id: str = field(name="organisationId")
    email: str = field(belongs_to=User.email)
    first_name: str = field(default="", personal=True, name="firstName")
    last_name: str = field(default="", personal=True, name="lastName")
    phone: str = field(default="", personal=True)
    created_at: datetime | None = field(default=None, name="createdAt")
    shown_as: str | None = field(default=None, personal=True, name="shownAs")
    groups: set[str] = field(default_factory=set[str])
    """The texts of `groups.Group`; none before the invitation is accepted."""
    waiting: set[str] = field(default_factory=set[str])
    """The groups an invitation offers: they become `groups` when it is accepted, and mean nothing until then."""
    accepted_at: datetime | None = field(default=None, name="acceptedAt")
    changed_by: str | None = field(default=None, mentions=User.email, name="changedBy")
    """Whoever last changed groups or offers."""

    @organisations.key
    @staticmethod
    def of_organisation(organisation_id: str, email: str = ANY) -> Key:
        """The members of an organisation and those invited to it."""
        return f"organisation/{organisation_id}", f"organisationMember/{email}"

    @organisations.index("lists")
    @staticmethod
    def of_person(email: str, accepted_at: datetime = ANY, organisation_id: str = ANY) -> Key:
        """The memberships of a person in all organisations, with their groups; invitations are left out."""
        return f"person/{email}", f"{accepted_at}/{organisation_id}"


class GroupMember(Entity, table=organisations, type="groupMember"):
    """One person in one group: the other direction of a member's set, written and deleted in one transaction with it.

    Its key is the index by which a group finds its members, and it says who gave the group and when.
    """

    organisation_id: str = field(belongs_to=Organisation.organisation_id, name="organisationId")
    scope: str
    """`Group.scope`: the organisation itself, or one of its services."""
    group: str
    """`Group.key`: the name, without slashes."""
    email: str = field(belongs_to=User.email)
    given_by: str | None = field(default=None, mentions=User.email, name="givenBy")
    given_at: datetime = field(name="givenAt")

    @organisations.key
    @staticmethod
    def of_scope(organisation_id: str, scope: str, group: str = ANY, email: str = ANY) -> Key:
        """The people in the groups of a service, or of the organisation itself: by group, then by address."""
        return f"groupsOf/{organisation_id}/{scope}", f"groupMember/{group}/{email}"


class OrganisationService(Entity, table=organisations, type="organisationService"):
    organisation_id: str = field(name="organisationId")
    service_id: str = field(name="serviceId")
    service_name: str = field(name="serviceName")
    deleted_at: datetime | None = field(default=None, name="deletedAt")
    """Set while the service is being deleted: from then on nobody sees it or gets into its groups."""
    changed_by: str | None = field(default=None, mentions=User.email, name="changedBy")

    @organisations.key
    @staticmethod
    def of_organisation(organisation_id: str, service_id: str = ANY) -> Key:
        """The services of an organisation."""
        return f"organisation/{organisation_id}", f"organisationService/{service_id}"


class JobKind(Enum):
    RENAME = "rename"
    MESSAGE = "message"
    DELETE = "delete"


class Job(Entity, table=organisations, type="job"):
    """Work on many records, done by tasks: how far it is, and where it goes on after a crash."""

    job_id: str = field(name="jobId")
    organisation_id: str = field(belongs_to=Organisation.organisation_id, name="organisationId")
    kind: JobKind
    started_at: datetime = field(name="startedAt")
    started_by: str | None = field(default=None, mentions=User.email, name="startedBy")
    total: int | None = None
    """How many records or people there are; none until that is known."""
    listed: int = 0
    """Of a message: the people who have been found so far."""
    done: int = 0
    refused: int = 0
    """Of a message: mails refused for good, and people who left the group before theirs went out."""
    position: str = field(default="", personal=True)
    """The last address of which everything is done; none where all is, so that no finished job names somebody."""
    ended_at: datetime | None = field(default=None, name="endedAt")
    text: str = ""
    """Of a message: what it says."""
    group: str = ""
    """Of a message: the text of the group that it goes to."""

    @property
    def is_done(self) -> bool:
        return self.ended_at is not None or (self.total is not None and self.done + self.refused >= self.total)

    @organisations.key
    @staticmethod
    def by_id(job_id: str) -> Key:
        """One job."""
        return f"job/{job_id}", "job"


class TrailEntry(Entity, table=organisations, type="trailEntry"):
    """What happened in an organisation, written by the table's stream."""

    organisation_id: str = field(belongs_to=Organisation.organisation_id, name="organisationId")
    at: datetime
    sequence: str
    """The change's place in the stream: an entry that is written again is the same one."""
    what: str
    by: str | None = field(default=None, mentions=User.email)
    whom: str | None = field(default=None, mentions=User.email)
    service: str | None = None
    given: set[str] = field(default_factory=set[str])
    taken: set[str] = field(default_factory=set[str])
    name: str | None = None

    @organisations.key
    @staticmethod
    def of_organisation(organisation_id: str, at: datetime = ANY, sequence: str = ANY) -> Key:
        """What happened in an organisation, oldest first."""
        return f"trail/{organisation_id}", f"trailEntry/{at}/{sequence}"


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
ORGANISATION_KEPT: Condition = ~attr(Organisation.deleted_at).exists()
