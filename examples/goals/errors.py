"""What the application refuses, by what a caller can do about it.

ApplicationError
├── Invalid      the input: a file, a role, a number                           (also ValueError; HTTP 422)
├── Missing      there is none                                                 (HTTP 404)
├── NotALead     somebody asks for what the leads of a goal do                 (HTTP 403)
└── Refused      the graph as it stands says no                                (HTTP 409)
"""

from __future__ import annotations

from examples.shared import errors
from examples.shared.errors import ApplicationError, Invalid, Refused

__all__ = ["AlreadyThere", "ApplicationError", "Invalid", "Missing", "NotALead", "Refused"]


class Missing(errors.Missing):
    """There is none."""

    def __init__(self, what: str, id: str) -> None:
        super().__init__(f"there is no {what} {id!r}")


class NotALead(ApplicationError):
    def __init__(self, goal_id: str, user_id: str) -> None:
        super().__init__(f"{user_id!r} does not lead goal {goal_id!r}")


class AlreadyThere(Refused):
    """The edge or node is there: change it instead."""
