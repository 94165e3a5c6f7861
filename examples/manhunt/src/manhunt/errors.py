"""What the application refuses, below the errors that all applications share.

ApplicationError
├── Invalid        a destination, a template, a wait
├── Missing        NoSuchContact, NoSuchMethod, NoSuchSearch, NoSuchAttempt, NoConversation, BadLink, NoSuchRota,
│                  NoSuchOverride, NoSuchPolicy, NoSuchIncident
└── Refused        AlreadyEnded, TooManyMethods, Contended, NotNow
"""

from __future__ import annotations

from examples_shared.errors import (
    ApplicationError,
    Invalid,
    Missing,
    Refused,
    Rejected,
    Unanswered,
    Undeliverable,
)

__all__ = [
    "AlreadyEnded",
    "ApplicationError",
    "BadLink",
    "Contended",
    "Invalid",
    "Missing",
    "NoConversation",
    "NoSuchAttempt",
    "NoSuchContact",
    "NoSuchIncident",
    "NoSuchMethod",
    "NoSuchOverride",
    "NoSuchPolicy",
    "NoSuchRota",
    "NoSuchSearch",
    "NotNow",
    "Refused",
    "Rejected",
    "TooManyMethods",
    "Unanswered",
    "Undeliverable",
]


class NoSuchContact(Missing):
    def __init__(self, contact_id: str) -> None:
        super().__init__(f"there is no contact {contact_id!r}")


class NoSuchMethod(Missing):
    def __init__(self, contact_id: str, method_id: str) -> None:
        super().__init__(f"contact {contact_id!r} has no method {method_id!r}")


class NoSuchSearch(Missing):
    def __init__(self, search_id: str) -> None:
        super().__init__(f"there is no search {search_id!r}")


class NoSuchAttempt(Missing):
    def __init__(self, search_id: str, step: int) -> None:
        super().__init__(f"search {search_id!r} has tried no method number {step}")


class NoSuchRota(Missing):
    def __init__(self, rota_id: str) -> None:
        super().__init__(f"there is no rota {rota_id!r}")


class NoSuchOverride(Missing):
    def __init__(self, rota_id: str, override_id: str) -> None:
        super().__init__(f"rota {rota_id!r} has no override {override_id!r}")


class NoSuchPolicy(Missing):
    def __init__(self, policy_id: str) -> None:
        super().__init__(f"there is no policy {policy_id!r}")


class NoSuchIncident(Missing):
    def __init__(self, incident_id: str) -> None:
        super().__init__(f"there is no incident {incident_id!r}")


class NoConversation(Missing):
    def __init__(self) -> None:
        super().__init__("no search has sent a text to this number")


class BadLink(Missing):
    """Changed, cut off, of another purpose, or too old."""

    def __init__(self) -> None:
        super().__init__("this link is not good, or not any more")


class AlreadyEnded(Refused):
    """`status` and `by` say how."""

    def __init__(self, search_id: str, status: str, by: str) -> None:
        super().__init__(f"search {search_id!r} has ended: {status} by {by}")
        self.status, self.by = status, by


class NotNow(Refused):
    """An incident is not in a state for what was asked; `status` and `by` say which."""

    def __init__(self, incident_id: str, status: str, by: str) -> None:
        super().__init__(f"incident {incident_id!r} is {status}{f' by {by}' if by else ''}")
        self.status, self.by = status, by


class TooManyMethods(Refused):
    def __init__(self, contact_id: str, limit: int) -> None:
        super().__init__(f"contact {contact_id!r} has {limit} methods, which is the most: delete one first")


class Contended(Refused):
    def __init__(self, what: str) -> None:
        super().__init__(f"{what} was changed by others between each read and write; try again")
