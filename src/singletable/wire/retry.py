"""When a request is tried again, how long after, and with which error it ends: pure, so that time is an argument.

Two questions decide. Did this try certainly do nothing? Then it may be repeated. If not, does a second application
change anything? A lost answer to a write that isn't repeatable ends it at once, as `OutcomeUnknown`.
"""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct

from singletable.errors import (
    Denied,
    InvalidRequest,
    OutcomeUnknown,
    SingletableError,
    Throttled,
    TransactionConflict,
    Unavailable,
)
from singletable.flow.request import Request
from singletable.wire.credentials import Credentials
from singletable.wire.error_answers import Verdict

LONGEST_TRANSACTION_SECONDS = 300.0
"""Client tokens are remembered for ten minutes after the first try is done; half of it is left for that one."""

_READS = ("Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List")
_OPEN = frozenset({Verdict.LOST, Verdict.IN_PROGRESS})
_FINAL = frozenset({Verdict.DENIED, Verdict.UNTRUSTED, Verdict.REFUSED, Verdict.FORGOTTEN})
_ONCE = frozenset({Verdict.REFRESH, Verdict.SKEWED})
_ENDS: dict[Verdict, tuple[type[SingletableError], str]] = {
    Verdict.THROTTLED: (Throttled, "Retry later, or raise the capacity of the table or of its hot partition"),
    Verdict.CONFLICT: (TransactionConflict, "Read again and retry, or let fewer writers meet in one item"),
    Verdict.DENIED: (Denied, "Check the credentials, their permissions and this machine's clock"),
    Verdict.SKEWED: (Denied, "Set this machine's clock"),
    Verdict.REFRESH: (Denied, "Fetch new credentials"),
    Verdict.REFUSED: (Denied, "Check HTTPS_PROXY and its user, or name the host in NO_PROXY"),
    Verdict.UNTRUSTED: (Unavailable, "Give the authority that signed the certificate, as ca_file"),
}
_RETRY_LATER = (Unavailable, "Check the endpoint and the network, then retry")
_READ_FIRST = "Read what it writes before you repeat it"


class RetryPolicy(Struct, frozen=True):
    """How long to go on. Seconds throughout; the wait before a try is drawn evenly from 0 to its ceiling.

    Raises `InvalidRequest` for a transaction deadline over 300 s: its token would no longer protect it; and without a
    single attempt.
    """

    attempts: int = 10
    """HTTP tries of one request, the first included. A transaction in an unknown state goes on to its deadline."""
    base_seconds: float = 0.025
    """The ceiling of the first wait; it doubles each time."""
    cap_seconds: float = 5.0
    deadline_seconds: float = 30.0
    transaction_deadline_seconds: float = 30.0
    """For transactions with a client token, which can be settled for longer."""
    careful_idle_seconds: float = 15.0
    """A write that can't be repeated uses no connection that was idle for longer."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidRequest(f"attempts={self.attempts}", hint="Use 1 or more: the first try counts")
        if self.transaction_deadline_seconds > LONGEST_TRANSACTION_SECONDS:
            raise InvalidRequest(
                f"transaction_deadline_seconds={self.transaction_deadline_seconds:g} outlives the client token",
                hint=f"Use {LONGEST_TRANSACTION_SECONDS:g} at most",
            )

    def wait(self, retry: int, random: float) -> float:
        """Seconds before the `retry`-th retry, counted from 1; `random` is from 0 to 1."""
        return random * min(self.cap_seconds, self.base_seconds * 2.0 ** min(retry - 1, 60))

    def deadline_of(self, request: Request) -> float:
        """Seconds from the first try to giving up."""
        return self.transaction_deadline_seconds if request.tokened else self.deadline_seconds


class RetryBudget:
    """Tokens that retries use up and successes bring back, so that a service in trouble isn't buried by its clients.

    The figures are those of botocore's standard mode. Shared by a port's threads without a lock: a token lost to a
    race now and then changes nothing.
    """

    __slots__ = ("left",)

    CAPACITY = 500.0
    RETRY = 5.0
    TIMEOUT_RETRY = 10.0
    SUCCESS = 1.0

    def __init__(self) -> None:
        self.left = self.CAPACITY

    def spend(self, cost: float) -> bool:
        """False, and nothing spent, when too little is left."""
        if self.left < cost:
            return False
        self.left -= cost
        return True

    def refill(self, tokens: float) -> None:
        self.left = min(self.CAPACITY, self.left + tokens)


class Trouble(Struct, frozen=True):
    """A try that was not the end of its request."""

    verdict: Verdict
    what: str
    timed_out: bool = False
    request_id: str = ""
    signed_by: Credentials | None = None
    cause: BaseException | None = None
    epoch: str = ""
    """Of the service that the try may have reached, where it forgets tokens when it ends."""


class Persistence:
    """One request's way from its first trouble to an answer or an error."""

    def __init__(
        self,
        request: Request,
        policy: RetryPolicy,
        budget: RetryBudget,
        random: Callable[[], float],
        *,
        started: float,
    ) -> None:
        self.request = request
        self.tries = 0
        self.unsettled = False
        """An earlier try may have been applied."""
        self.epoch = ""
        """The only one in which the request may be sent again; any where it is empty."""
        self._policy = policy
        self._budget = budget
        self._random = random
        self._started = started
        self._deadline = started + policy.deadline_of(request)
        self._reads = request.operation.startswith(_READS)
        self._last_spent = 0.0
        self._once: set[Verdict] = set()

    def wait_after(self, trouble: Trouble, now: float) -> float:
        """Seconds to wait before the next try. Raises the error that the request ends with, where it ends."""
        self.tries += 1
        if trouble.verdict in _OPEN:
            self.unsettled = True
            if self.request.tokened:
                self.epoch = self.epoch or trouble.epoch
        if trouble.verdict in _FINAL:
            raise self.end(trouble, now)
        if trouble.verdict is Verdict.LOST and not self._may_repeat():
            raise self.end(trouble, now)
        if trouble.verdict in _ONCE:
            return self._again_at_once(trouble, now)
        wait = self._policy.wait(self.tries, self._random())
        if self._has_tried_enough() or now + wait >= self._deadline:
            raise self.end(trouble, now)
        cost = RetryBudget.TIMEOUT_RETRY if trouble.timed_out else RetryBudget.RETRY
        if not self._budget.spend(cost):
            raise self.end(trouble, now, because="the budget for retries is used up")
        self._last_spent = cost
        return wait

    def patience(self, now: float, read_seconds: float) -> float:
        """Seconds that the next try may take: never past the deadline."""
        return max(0.001, min(read_seconds, self._deadline - now))

    def succeeded(self) -> None:
        """A definite answer came: the last retry was worth its tokens, and they come back."""
        self._budget.refill(self._last_spent)

    def end(self, trouble: Trouble, now: float, *, because: str = "") -> SingletableError:
        """The error for giving up now. A write with an open try is of unknown outcome, whatever the last try said."""
        kind, hint = _ENDS.get(trouble.verdict, _RETRY_LATER)
        if self.unsettled and not self._reads:
            kind, hint = OutcomeUnknown, _READ_FIRST
        tried = "1 try" if self.tries == 1 else f"{self.tries} tries in {now - self._started:.1f} s"
        what = "; ".join(part for part in (f"{trouble.what} ({tried})", because) if part)
        error = kind(what, hint=hint, table=self.request.table or None, operation=self.request.operation)
        error.__cause__ = trouble.cause
        if trouble.request_id:
            error.add_note(f"AWS request id: {trouble.request_id}")
        return error

    def _may_repeat(self) -> bool:
        return self._reads or self.request.repeatable or self.request.tokened

    def _has_tried_enough(self) -> bool:
        may_be_settled = self.unsettled and self.request.tokened
        return self.tries >= self._policy.attempts and not may_be_settled

    def _again_at_once(self, trouble: Trouble, now: float) -> float:
        if trouble.verdict in self._once or now >= self._deadline:
            raise self.end(trouble, now)
        self._once.add(trouble.verdict)
        return 0.0
