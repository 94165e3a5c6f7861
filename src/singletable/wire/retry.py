"""The rules of retries: which request, after which wait, and the final error. Pure: time is an argument.

Two questions decide. Did this try certainly change nothing? Then it may be repeated. If not, would a second application
change anything? A lost answer to a write that isn't repeatable ends the request at once, with `OutcomeUnknown`.
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
from singletable.flow import Request
from singletable.wire.credentials import Credentials
from singletable.wire.error_answers import THROTTLED_HINT, Verdict

MAX_TRANSACTION_SECONDS = 300.0
"""The service remembers a client token for ten minutes after the first try ends; half of that is left for the try."""

_READS = ("Get", "BatchGet", "TransactGet", "Query", "Scan", "Describe", "List")
_OPEN = frozenset({Verdict.LOST, Verdict.IN_PROGRESS, Verdict.DISK_FAILED})
_FINAL = frozenset(
    {
        Verdict.DENIED,
        Verdict.UNTRUSTED,
        Verdict.REFUSED,
        Verdict.FORGOTTEN,
        Verdict.DISK_FULL,
        Verdict.DISK_FAILED,
    }
)
_ONCE = frozenset({Verdict.REFRESH, Verdict.SKEWED})
_ENDS: dict[Verdict, tuple[type[SingletableError], str]] = {
    Verdict.THROTTLED: (Throttled, THROTTLED_HINT),
    Verdict.CONFLICT: (TransactionConflict, "Read again and retry, or let fewer writers meet in one item"),
    Verdict.DENIED: (Denied, "Check the credentials, their permissions and this machine's clock"),
    Verdict.SKEWED: (Denied, "Set this machine's clock"),
    Verdict.REFRESH: (Denied, "Renew the credentials"),
    Verdict.REFUSED: (Denied, "Check HTTPS_PROXY and its user, or name the host in NO_PROXY"),
    Verdict.DISK_FULL: (Unavailable, "Free space on the disk that holds the file, then retry"),
    Verdict.DISK_FAILED: (Unavailable, "Look at the disk that holds the file, and at the limit of a file's size"),
    Verdict.UNTRUSTED: (Unavailable, "Give the authority that signed the certificate, as ca_file"),
}
_RETRY_LATER = (Unavailable, "Check the endpoint and the network, then retry")
_READ_FIRST = "Read what it writes before you repeat it"


class RetryPolicy(Struct, frozen=True):
    """The time to retry for. All durations are in seconds; each wait is random, between 0 and its ceiling.

    Raises `InvalidRequest` for a transaction deadline over 300 s, as the client token would no longer protect it, and
    for fewer attempts than 1.
    """

    attempts: int = 10
    """Tries of one request, the first included. A transaction of unknown outcome is retried until its deadline."""
    base_seconds: float = 0.025
    """The ceiling of the first wait; it doubles with each retry."""
    cap_seconds: float = 5.0
    deadline_seconds: float = 30.0
    transaction_deadline_seconds: float = 30.0
    """The deadline of transactions with a client token, whose outcome can be determined for longer."""
    careful_idle_seconds: float = 15.0
    """A write that can't be repeated uses no connection that was idle for longer than this."""

    def __post_init__(self) -> None:
        if self.attempts < 1:
            raise InvalidRequest(f"attempts={self.attempts}", hint="Use 1 or more: the first try counts")
        if self.transaction_deadline_seconds > MAX_TRANSACTION_SECONDS:
            raise InvalidRequest(
                f"transaction_deadline_seconds={self.transaction_deadline_seconds:g} outlives the client token",
                hint=f"Use {MAX_TRANSACTION_SECONDS:g} at most",
            )

    def wait(self, retry: int, random: float) -> float:
        """Seconds before the `retry`-th retry, counted from 1; `random` is from 0 to 1."""
        return random * min(self.cap_seconds, self.base_seconds * 2.0 ** min(retry - 1, 60))

    def deadline_of(self, request: Request) -> float:
        """Seconds from the first try to giving up."""
        return self.transaction_deadline_seconds if request.tokened else self.deadline_seconds


class RetryBudget:
    """Tokens that retries spend and successes refund, so that clients don't overload a failing service.

    The figures are those of botocore's standard mode. A port's threads share it without a lock: a token that is lost
    to a race now and then makes no difference.
    """

    __slots__ = ("left",)

    CAPACITY = 500.0
    RETRY = 5.0
    TIMEOUT_RETRY = 10.0
    SUCCESS = 1.0

    def __init__(self) -> None:
        self.left = self.CAPACITY

    def spend(self, cost: float) -> bool:
        """Returns False, and spends nothing, when too few tokens are left."""
        if self.left < cost:
            return False
        self.left -= cost
        return True

    def refill(self, tokens: float) -> None:
        self.left = min(self.CAPACITY, self.left + tokens)


class FailedTry(Struct, frozen=True):
    """A try without a definite answer."""

    verdict: Verdict
    what: str
    timed_out: bool = False
    request_id: str = ""
    bytes_in: int = 0
    """The bytes of the answer's body, if there is one."""
    signed_by: Credentials | None = None
    cause: BaseException | None = None
    hint: str = ""
    """The remedy, where the answer says more than the verdict."""
    epoch: str = ""
    """The epoch of the service that the try may have reached, where a restart makes it forget tokens."""


class RetryState:
    """The retries of one request, from its first failed try to an answer or an error."""

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
        """The only epoch in which the request may be sent again; empty: any."""
        self._policy = policy
        self._budget = budget
        self._random = random
        self._started = started
        self._deadline = started + policy.deadline_of(request)
        self._reads = request.operation.startswith(_READS)
        self._last_spent = 0.0
        self._once: set[Verdict] = set()

    def wait_after(self, failed: FailedTry, now: float) -> float:
        """Seconds to wait before the next try. Raises the error of the request where it isn't retried."""
        self.tries += 1
        if failed.verdict in _OPEN:
            self.unsettled = True
            if self.request.tokened:
                self.epoch = self.epoch or failed.epoch
        if failed.verdict in _FINAL:
            raise self.end(failed, now)
        if failed.verdict is Verdict.LOST and not self._may_repeat():
            raise self.end(failed, now)
        if failed.verdict in _ONCE:
            return self._again_at_once(failed, now)
        wait = self._policy.wait(self.tries, self._random())
        if self._has_tried_enough() or now + wait >= self._deadline:
            raise self.end(failed, now)
        cost = RetryBudget.TIMEOUT_RETRY if failed.timed_out else RetryBudget.RETRY
        if not self._budget.spend(cost):
            raise self.end(failed, now, because="the retry budget is used up")
        self._last_spent = cost
        return wait

    def timeout(self, now: float, read_seconds: float) -> float:
        """Seconds that the next try may take, at most until the deadline."""
        return max(0.001, min(read_seconds, self._deadline - now))

    def succeeded(self) -> None:
        """Refund the last retry's tokens: it brought a definite answer."""
        self._budget.refill(self._last_spent)

    def end(self, failed: FailedTry, now: float, *, because: str = "") -> SingletableError:
        """The error for giving up now. Where any try of a write may have been applied, its outcome is unknown."""
        kind, hint = _ENDS.get(failed.verdict, _RETRY_LATER)
        hint = failed.hint or hint
        if self.unsettled and not self._reads:
            kind, hint = OutcomeUnknown, _READ_FIRST
        tried = "1 try" if self.tries == 1 else f"{self.tries} tries in {now - self._started:.1f} s"
        what = "; ".join(part for part in (f"{failed.what} ({tried})", because) if part)
        error = kind(what, hint=hint, table=self.request.table or None, operation=self.request.operation)
        error.__cause__ = failed.cause
        if failed.request_id:
            error.request_id = failed.request_id
            error.add_note(f"AWS request id: {failed.request_id}")
        return error

    def _may_repeat(self) -> bool:
        return self._reads or self.request.repeatable or self.request.tokened

    def _has_tried_enough(self) -> bool:
        may_be_settled = self.unsettled and self.request.tokened
        return self.tries >= self._policy.attempts and not may_be_settled

    def _again_at_once(self, failed: FailedTry, now: float) -> float:
        if failed.verdict in self._once or now >= self._deadline:
            raise self.end(failed, now)
        self._once.add(failed.verdict)
        return 0.0
