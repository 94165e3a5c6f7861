"""A request and its response, as bytes: all that a transport knows of an operation."""

from __future__ import annotations

from msgspec import Struct


class Service(Struct, frozen=True):
    """One service: its name in signatures, the prefix of X-Amz-Target, the first part of its host."""

    name: str
    target_prefix: str
    host: str


DYNAMODB = Service("dynamodb", "DynamoDB_20120810", "dynamodb")
DYNAMODB_STREAMS = Service("dynamodb", "DynamoDBStreams_20120810", "streams.dynamodb")
SQS = Service("sqs", "AmazonSQS", "sqs")


class Request(Struct, frozen=True, gc=False):
    """One call of the service.

    `repeatable`: a second application would change nothing, so the request is sent again when its answer was lost. Any
    other request is sent once, and a lost answer raises `OutcomeUnknown`.
    """

    operation: str
    """The action's name: `GetItem`."""
    body: bytes
    """The JSON text."""
    table: str
    """The table's name, for errors; several names are joined by a comma."""
    repeatable: bool = True
    tokened: bool = False
    """A transaction with a client token: it is repeated with the same bytes until there is a definite answer."""
    answers_nothing: bool = False
    """The action has no output: a success may have an empty body."""

    def __repr__(self) -> str:
        """Without the body, as logs show it."""
        return f"<Request {self.operation} of {self.table}>"


class Response(Struct, frozen=True, gc=False):
    """A definite answer: success (status 200), or an error that a retry would not change."""

    status: int
    body: bytes
    unsettled: bool = False
    """The answer to an earlier try was lost: that try may have been applied."""
    request_id: str = ""

    def __repr__(self) -> str:
        """Without the body, as logs show it."""
        return f"<Response {self.status}>"
