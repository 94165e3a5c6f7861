"""What can go wrong with a request, as values. `lost` ones leave the caller without an answer that can be believed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Delay:
    """The answer comes, later."""

    seconds: float


@dataclass(frozen=True)
class DropBefore:
    """The connection is cut; the engine never saw the request."""


@dataclass(frozen=True)
class ApplyThenCut:
    """The engine did it; the connection is cut instead of an answer."""


@dataclass(frozen=True)
class ApplyThenHang:
    """The engine did it; nothing comes until the caller's patience ends."""


@dataclass(frozen=True)
class ApplyThen500:
    """The engine did it; the answer says InternalServerError."""


@dataclass(frozen=True)
class ApplyThen500ThenLateDuplicate:
    """As ApplyThen500, and the same bytes reach the engine again after `after` further requests.

    Only of a request that was applied. One that was refused may be taken later, by a service too: no token is kept of
    a cancelled transaction, and nothing that the caller could send would prevent it.
    """

    after: int = 1


@dataclass(frozen=True)
class Throttle:
    """Refused for its rate, before the engine saw it."""

    code: str = "ProvisionedThroughputExceededException"
    message: str = "The level of configured provisioned throughput for the table was exceeded."
    reason: str = ""
    resource: str = ""
    """The limit that was passed, and the ARN of what has it, as the service says them."""


@dataclass(frozen=True)
class Unprocessed:
    """A batch of which the last `count` requests are left undone; None for all."""

    count: int | None = None


@dataclass(frozen=True)
class PartialPage:
    """A query or scan ends its page after `count` items looked at, as after 1 MB."""

    count: int = 1


@dataclass(frozen=True)
class CancelTransaction:
    """TransactionCanceledException with these reasons, one an action; the engine never saw it."""

    reasons: tuple[str, ...]


@dataclass(frozen=True)
class TransactionInProgress:
    """The same token is said to be at work still; the engine never saw this try."""


@dataclass(frozen=True)
class Conflict:
    """Another writer holds an item: for a transaction a cancellation, for another write an error. The engine never saw
    it. `elsewhere`: the writer is in another Region, of a table that is strongly consistent over several.
    """

    elsewhere: bool = False


@dataclass(frozen=True)
class TruncateBody:
    """The engine did it; half of the answer's body comes, then the connection is cut."""


@dataclass(frozen=True)
class BadChecksum:
    """The engine did it; the answer's checksum is not its body's."""


@dataclass(frozen=True)
class StaleRead:
    """GetItem and BatchGetItem answer with images `back` versions old; consistent ones only if it is asked for.

    A real service never answers a consistent read so: `even_consistent` stands for a write by another that came right
    after the read. `only_there` never answers that an item is not there.
    """

    back: int = 1
    even_consistent: bool = False
    only_there: bool = False


@dataclass(frozen=True)
class IndexLag:
    """A query of an index is answered as if the last `writes` writes had not reached it yet."""

    writes: int = 1


@dataclass(frozen=True)
class IndexFrozen:
    """A query of an index is answered as the partition was when this first happened, however long ago.

    Of half of the partitions nothing has reached the index yet.
    """


@dataclass(frozen=True)
class NotThereYet:
    """A read of the table that is not consistent is answered by a replica that has none of the items yet."""


@dataclass(frozen=True)
class ChargeWhole:
    """A read of one item costs all of the item, as on AWS, whatever part of it is asked for."""


@dataclass(frozen=True)
class Refuse:
    """The service answers an error of this code, before the engine saw the request."""

    code: str
    message: str = ""
    status: int = 400


Action = (
    Delay
    | DropBefore
    | ApplyThenCut
    | ApplyThenHang
    | ApplyThen500
    | ApplyThen500ThenLateDuplicate
    | Throttle
    | Unprocessed
    | PartialPage
    | CancelTransaction
    | TransactionInProgress
    | Conflict
    | TruncateBody
    | BadChecksum
    | StaleRead
    | IndexLag
    | IndexFrozen
    | NotThereYet
    | ChargeWhole
    | Refuse
)

LOSSES: tuple[Action, ...] = (
    DropBefore(),
    ApplyThenCut(),
    ApplyThenHang(),
    ApplyThen500(),
    TruncateBody(),
    BadChecksum(),
)
"""After each of these the caller can't know whether its request was applied."""
