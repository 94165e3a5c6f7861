"""A request and its answer, as bytes: all that the wire knows of DynamoDB's data operations."""

from __future__ import annotations

from msgspec import Struct


class Request(Struct, frozen=True, gc=False):
    """One call of the service.

    `repeatable` is true when a second application changes nothing that the first did not: such a request is sent
    again when its answer was lost. Any other is sent once, and a lost answer is `OutcomeUnknown`.
    """

    operation: str
    """The action's name: `GetItem`."""
    body: bytes
    """The JSON text."""
    table: str
    """For errors; several names are joined by a comma."""
    repeatable: bool = True
    tokened: bool = False
    """A transaction with a client token: repeated with these very bytes until a definite answer comes."""
    answers_nothing: bool = False
    """The call has no output: its success may come with an empty body."""


class Response(Struct, frozen=True, gc=False):
    """A definite answer: of success (status 200), or of an error that no retry can mend."""

    status: int
    body: bytes
    unsettled: bool = False
    """An earlier try of the same request was lost on the way and may have been applied."""
    request_id: str = ""
