"""What the application refuses, by what a caller can do about it.

ApplicationError
├── Invalid      the input: an address, a group, a file                        (also ValueError; HTTP 422)
├── Missing      there is none, or none that the caller may know of            (HTTP 404)
├── NotAllowed   a member asks for what owners, or admins, do                  (HTTP 403)
└── Refused      the organisation as it stands says no                         (HTTP 409)
"""

from __future__ import annotations

from examples_shared.errors import ApplicationError, Changed, Difference, Invalid, Missing, Refused
from organisations.roles import Capability, roles_with

__all__ = [
    "AlreadyAccepted",
    "ApplicationError",
    "BeingDeleted",
    "Changed",
    "Contended",
    "Difference",
    "IdTaken",
    "Invalid",
    "LastOwner",
    "Missing",
    "NoOpenInvitation",
    "NoSuchJob",
    "NoSuchMember",
    "NoSuchOrganisation",
    "NoSuchService",
    "NoSuchUser",
    "NotAccepted",
    "NotAllowed",
    "NotRegistered",
    "Refused",
]


class NoSuchOrganisation(Missing):
    def __init__(self, organisation_id: str) -> None:
        super().__init__(f"there is no organisation {organisation_id!r}")


class NoSuchUser(Missing):
    def __init__(self, email: str) -> None:
        super().__init__(f"there is no user {email!r}, and no invitation of one")


class NoSuchMember(Missing):
    def __init__(self, organisation_id: str, email: str) -> None:
        super().__init__(f"{email!r} is not a member of organisation {organisation_id!r}")


class NoSuchService(Missing):
    def __init__(self, organisation_id: str, service_id: str) -> None:
        super().__init__(f"organisation {organisation_id!r} has no service {service_id!r}")


class NoOpenInvitation(Missing):
    """Never made, declined, or withdrawn."""

    def __init__(self, organisation_id: str, email: str) -> None:
        super().__init__(f"there is no open invitation of {email!r} to organisation {organisation_id!r}")


class NoSuchJob(Missing):
    def __init__(self, job_id: str) -> None:
        super().__init__(f"there is no job {job_id!r}")


class NotAllowed(ApplicationError):
    """Says who is."""

    def __init__(self, organisation_id: str, email: str | None, capability: Capability) -> None:
        who = " and ".join(f"{role.value}s" for role in roles_with(capability))
        super().__init__(f"in organisation {organisation_id!r} only {who} {capability.value}: {email!r} may not")


class NotAccepted(Refused):
    """Only a member holds groups: an invitation offers them."""

    def __init__(self, organisation_id: str, email: str) -> None:
        super().__init__(
            f"{email!r} has not accepted the invitation to organisation {organisation_id!r}, and holds no groups "
            "before: invite again with the groups, and accepting brings them"
        )


class AlreadyAccepted(Refused):
    def __init__(self, organisation_id: str, email: str) -> None:
        super().__init__(f"{email!r} is a member of organisation {organisation_id!r} already")


class NotRegistered(Refused):
    def __init__(self, email: str) -> None:
        super().__init__(f"{email!r} has not registered: that comes first")


class LastOwner(Refused):
    def __init__(self, organisation_id: str, email: str) -> None:
        super().__init__(f"{email!r} is the last owner of organisation {organisation_id!r}: make another one first")


class BeingDeleted(Refused):
    def __init__(self, organisation_id: str, service_id: str) -> None:
        super().__init__(
            f"service {service_id!r} of organisation {organisation_id!r} is being deleted: "
            "finish that by deleting it again"
        )


class IdTaken(Refused):
    def __init__(self, organisation_id: str) -> None:
        super().__init__(f"an organisation has the id {organisation_id!r} already; nothing was written")


class Contended(Refused):
    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was changed by others between each read and write; try again")
