"""The events of one call: one for each try, then one for its end.

Made for a call that somebody hears, and for one whose first try failed: its retries are in the log.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, TypeVar

from singletable.errors import SingletableError, TooLarge
from singletable.events import FirstAnswered, Listeners, RequestEnded, RequestTried
from singletable.flow import NO_FACTS, NOTHING_CONSUMED, Consumed, Operation, OperationFacts, Request, Response

if TYPE_CHECKING:
    from singletable.flow import TableNames
    from singletable.wire.endpoints import Endpoint
    from singletable.wire.retry import FailedTry

T = TypeVar("T")
_OK = 200


class CallEvents:
    """One call, while it goes on."""

    def __init__(
        self,
        events: Listeners,
        endpoint: Endpoint,
        names: TableNames,
        monotonic: Callable[[], float],
        operation: Operation[Any] | None,
    ) -> None:
        self._events, self._endpoint, self._names, self._monotonic = events, endpoint, names, monotonic
        self._operation = operation
        self._began = self._tried_at = monotonic()
        self._request: Request | None = None
        self._attempts = self._bytes_out = self._bytes_in = 0
        self._waited = self._wait = 0.0
        self._request_id = ""

    def carrying(self, operation: Operation[T]) -> tuple[Operation[T], Request]:
        """The operation with the context of a trace in what it writes, where it writes what may have one; and its
        request. It has none where an item, or a transaction, would be too large with it: the write comes first.

        The stored text is another one in each request: so a change that was made without a context is known by having
        the one of the change before.
        """
        give: Callable[[Callable[[str], str | None]], Operation[T]] | None = getattr(operation, "carrying", None)
        if give is None:
            return operation, operation.request(self._names)

        @cache
        def context_of(table: str) -> str | None:
            context = self._events.context("change", type(operation).__name__, table)
            return None if context is None else context.text_of_change(token_urlsafe(3))

        with suppress(TooLarge):
            carried = give(context_of)
            return carried, carried.request(self._names)
        return operation, operation.request(self._names)

    def began(self, at: float) -> None:
        """A try begins, or began: the first one with the call."""
        self._tried_at = at
        self._began = min(self._began, at)

    def tried(
        self,
        request: Request,
        outcome: Response | FailedTry | BaseException,
        retry_in: float | None = None,
        *,
        ended_at: float | None = None,
    ) -> None:
        """Emit the event of a try, which ended now if not `ended_at`: in an exception where its caller was cancelled.
        `retry_in` is the wait before the next one."""
        ended_at = self._monotonic() if ended_at is None else ended_at
        self._request = request
        self._attempts += 1
        self._bytes_out += len(request.body)
        name, why, size, self._request_id = _facts_of(outcome)
        self._bytes_in += size
        self._events.emit(
            RequestTried(
                **self._place(request),
                attempt=self._attempts,
                waited=self._wait,
                milliseconds=1000 * (ended_at - self._tried_at),
                bytes_out=len(request.body),
                bytes_in=size,
                outcome=name,
                why=why,
                request_id=self._request_id,
                retry_in=retry_in,
            )
        )
        self._wait = retry_in or 0.0
        self._waited += self._wait

    def first_answered(self, request: Request, started: float, opened_at: float, fetching_seconds: float) -> None:
        """Emit the event of a database's first answer, which came now."""
        now = self._monotonic()
        self._events.emit(
            FirstAnswered(
                operation=request.operation,
                endpoint=self._endpoint.url,
                region=self._endpoint.region,
                milliseconds=1000 * (now - started),
                credentials_milliseconds=1000 * fetching_seconds,
                since_connect=now - opened_at,
            )
        )

    def ended(
        self, value: Any = None, consumed: Consumed = NOTHING_CONSUMED, error: BaseException | None = None
    ) -> None:
        """Emit the event of the end, if anything was sent."""
        request = self._request
        if request is None:
            return
        facts = getattr(self._operation, "facts", None)
        about: OperationFacts = NO_FACTS if facts is None else facts(value)
        self._events.emit(
            RequestEnded(
                **self._place(request),
                index=about.index,
                patterns=about.patterns,
                items=about.items,
                read_units=consumed.read_units,
                write_units=consumed.write_units,
                attempts=self._attempts,
                waited=self._waited,
                milliseconds=1000 * (self._monotonic() - self._began),
                bytes_out=self._bytes_out,
                bytes_in=self._bytes_in,
                outcome=_outcome(error),
                why=error.what if isinstance(error, SingletableError) else "",
                request_id=self._request_id,
                key_hash=error.key_hash if isinstance(error, SingletableError) else "",
                partitions=self._partitions() if self._events.wants_partitions else (),
            )
        )

    def _partitions(self) -> tuple[str, ...]:
        """The hashes of the partitions that the operation names, each once."""
        partitions = getattr(self._operation, "partitions", list[Any])()
        return tuple(dict.fromkeys(self._events.hash_of(*one) for one in partitions))

    def _place(self, request: Request) -> dict[str, Any]:
        return {
            "operation": request.operation,
            "table": request.table,
            "called": self._names.of_all(request.table),
            "endpoint": self._endpoint.url,
            "region": self._endpoint.region,
        }


def _facts_of(outcome: Response | FailedTry | BaseException) -> tuple[str, str, int, str]:
    """The outcome of a try, the trouble in words, the bytes of the answer, and the request's id."""
    if isinstance(outcome, BaseException):
        return _outcome(outcome), "", 0, ""
    if isinstance(outcome, Response):
        return "ok" if outcome.status == _OK else "error", "", len(outcome.body), outcome.request_id
    return outcome.verdict.name.lower().replace("_", " "), outcome.what, outcome.bytes_in, outcome.request_id


def _outcome(error: BaseException | None) -> str:
    if error is None:
        return "ok"
    if isinstance(error, SingletableError):
        return error.code
    return "failed" if isinstance(error, Exception) else "cancelled"
