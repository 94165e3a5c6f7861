"""What the application refuses, by what a caller can do about it.

ApplicationError
├── Invalid      the input: a file, a role, a number                           (also ValueError; HTTP 422)
├── Missing      there is none                                                 (HTTP 404)
├── NotAllowed   the caller's roles don't give the capability                  (HTTP 403)
└── Refused      the graph as it stands says no                                (HTTP 409)
    ├── AlreadyThere
    └── Changed  somebody else changed the same meanwhile
"""

from __future__ import annotations

from examples_shared import errors
from examples_shared.errors import ApplicationError, Changed, Difference, Invalid, Refused
from goals.capabilities import Capability, holders

__all__ = ["AlreadyThere", "ApplicationError", "Changed", "Difference", "Invalid", "Missing", "NotAllowed", "Refused"]


class Missing(errors.Missing):
    """There is none."""

    def __init__(self, what: str, id: str) -> None:
        super().__init__(f"there is no {what} {id!r}")
        self.what = what


class NotAllowed(ApplicationError):
    """It takes another role, or another user."""

    @classmethod
    def without(cls, user_id: str, capability: Capability, id: str) -> NotAllowed:
        return cls(f"{user_id!r} may not {capability.value} {id!r}: it takes {holders(capability)}")


class AlreadyThere(Refused):
    """The edge or node is there: change it instead."""
