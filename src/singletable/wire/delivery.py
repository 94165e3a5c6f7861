"""From a request to its definite answer, over any transport: sign, send once, believe or not, and try again.

The first try that succeeds is the hot path and passes through `deliver` and `_try` only; all else is `_persist`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import TypeVar
from zlib import crc32

import msgspec

from singletable.flow.meter import ACTIVE, Rounds, count_answer, count_try, count_units
from singletable.flow.port import Operation
from singletable.flow.request import Request, Response
from singletable.flow.services import Service
from singletable.wire.credentials import Credentials, CredentialSource
from singletable.wire.endpoints import Endpoint
from singletable.wire.error_answers import (
    OF_THE_CLOCK,
    Fault,
    Verdict,
    date_of,
    named_in,
    read_fault,
    verdict_on,
    with_code,
)
from singletable.wire.exchange import Answer, AnswerLost, Exchange, Timeouts, Undelivered
from singletable.wire.idle_connections import MAX_IDLE_SECONDS
from singletable.wire.retry import Persistence, RetryBudget, RetryPolicy, Trouble
from singletable.wire.signature import Signer

T = TypeVar("T")

_OK = 200
_TOKEN_BYTES = 16
_TOLD = frozenset({Verdict.DENIED, Verdict.THROTTLED})
"""Their messages name a permission, a table or an index, never a value of an item."""
_QUOTES_THE_REQUEST = "IncompleteSignature"
"""The code whose message holds the Authorization header."""
_SKEW_SECONDS = 240.0
"""A signature is good for five minutes: a clock that is less wrong is not what was refused."""
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


class Delivery:
    """What a port knows besides its sockets. Threads and tasks share it."""

    def __init__(
        self,
        endpoint: Endpoint,
        credentials: CredentialSource,
        *,
        service: Service,
        policy: RetryPolicy,
        timeouts: Timeouts,
        now: Callable[[], float],
        monotonic: Callable[[], float],
        random: Callable[[], float],
        checksum: bool,
    ) -> None:
        self.endpoint = endpoint
        self.now = now
        self.monotonic = monotonic
        self.random = random
        self.timeouts = timeouts
        self.budget = RetryBudget()
        self._source = credentials
        self._service = service
        self._policy = policy
        self._checksum = checksum
        self._signer: Signer | None = None
        self._skew = 0.0
        """Seconds that the service's clock is ahead of this machine's, once it was found to be."""
        self._first_patience = min(timeouts.read, policy.deadline_seconds)

    async def send(self, exchange: Exchange, operation: Operation[T], rounds: Rounds | None = None) -> T:
        """An operation's value, its units counted. Raises the operation's errors and those of `deliver`."""
        request = operation.request()
        value, consumed = operation.answer(await self.deliver(exchange, request, rounds))
        if meters := ACTIVE.get():
            count_units(meters, request.operation, consumed.read_units, consumed.write_units)
        return value

    async def deliver(self, exchange: Exchange, request: Request, rounds: Rounds | None = None) -> Response:
        """The definite answer to a request, of success or of an error that is the operation's own.

        Raises `Throttled`, `TransactionConflict` and `Unavailable` when certainly nothing was written (or it only
        reads), `OutcomeUnknown` when something may have been, `Denied`, and `NotConfigured` without credentials.
        """
        started = self.monotonic()
        outcome = await self._try(exchange, request, 1, self._first_patience, rounds)
        if type(outcome) is Response:
            if self.budget.left < RetryBudget.CAPACITY:
                self.budget.refill(RetryBudget.SUCCESS)
            return outcome
        assert isinstance(outcome, Trouble)
        persistence = Persistence(request, self._policy, self.budget, self.random, started=started)
        return await self._persist(exchange, persistence, outcome, rounds)

    async def _persist(
        self, exchange: Exchange, persistence: Persistence, trouble: Trouble, rounds: Rounds | None
    ) -> Response:
        request = persistence.request
        while True:
            wait = persistence.wait_after(trouble, self.monotonic())
            if trouble.verdict is Verdict.REFRESH:
                await self._renew(exchange, persistence, trouble)
            await exchange.sleep(wait)
            patience = persistence.patience(self.monotonic(), self.timeouts.read)
            outcome = await self._try(exchange, request, persistence.tries + 1, patience, rounds, persistence.epoch)
            if isinstance(outcome, Response):
                persistence.succeeded()
                return msgspec.structs.replace(outcome, unsettled=persistence.unsettled)
            trouble = outcome

    async def _try(
        self,
        exchange: Exchange,
        request: Request,
        attempt: int,
        patience: float,
        rounds: Rounds | None,
        epoch: str = "",
    ) -> Response | Trouble:
        skew = self._skew
        now = self.now() + skew
        credentials = self._source.held(now)
        if credentials is None:
            credentials = await self._fetch(exchange, now)
        signer = self._signer
        if signer is None or signer.credentials is not credentials:
            signer = self._signer = self._signer_for(credentials)
        message = signer.head(request.operation, request.body, now) + request.body
        meters = ACTIVE.get()
        if meters:
            count_try(meters, request.operation, attempt, rounds, len(message))
        idle_limit = MAX_IDLE_SECONDS if request.repeatable or request.tokened else self._policy.careful_idle_seconds
        try:
            answer = await exchange.exchange(message, patience, idle_limit, epoch)
        except Undelivered as fault:
            what = f"Could not connect to {self.endpoint.url}: {fault}"
            return Trouble(_verdict_on(fault), what, cause=fault)
        except AnswerLost as fault:
            what = f"No answer from {self.endpoint.url}: {fault}"
            return Trouble(Verdict.LOST, what, fault.timed_out, cause=fault, epoch=fault.epoch)
        if meters:
            count_answer(meters, answer.bytes_in)
        if answer.status == _OK and self._is_whole(answer):
            return Response(_OK, answer.body, False, answer.request_id)
        return self._judge(answer, request, credentials, skew)

    def _is_whole(self, answer: Answer) -> bool:
        """Its body is what the service sent, as far as that can be known: by its checksum, else by being JSON."""
        body = answer.body
        if answer.checksum is not None and self._checksum:
            return str(crc32(body)) == answer.checksum and body != b""
        if answer.checksum is not None:
            return body[:1] == b"{" and body[-1:] == b"}"
        try:
            _check_json(body)
        except msgspec.DecodeError:
            return False
        return body[:1] == b"{"

    def _judge(self, answer: Answer, request: Request, signed_by: Credentials, skew: float) -> Response | Trouble:
        if answer.status == _OK and request.answers_nothing and not answer.body:
            return Response(_OK, b"{}", False, answer.request_id)
        body = self._told_by(answer)
        if body is None:
            what = f"The answer, of status {answer.status}, is damaged or is not DynamoDB's"
            return Trouble(Verdict.LOST, what, request_id=answer.request_id)
        fault = read_fault(body)
        verdict = verdict_on(answer.status, fault)
        if verdict is Verdict.ANSWER:
            return Response(answer.status, body, False, answer.request_id)
        what = _told(answer.status, fault, verdict)
        if fault is not None and fault.code in OF_THE_CLOCK and self._corrects_clock(answer, skew):
            verdict, what = Verdict.SKEWED, f"{what}; this machine's clock is {-self._skew:+.0f} s off"
        return Trouble(verdict, what, request_id=answer.request_id, signed_by=signed_by)

    def _corrects_clock(self, answer: Answer, signed_with: float) -> bool:
        """Whether the service's clock, of the answer's Date, is far from the one that signed; it is followed then."""
        date = date_of(answer.headers)
        if date is None:
            return False
        skew = date - self.now()
        if abs(skew - signed_with) < _SKEW_SECONDS:
            return False
        if abs(skew - self._skew) >= _SKEW_SECONDS:  # the first of many requests that were refused
            self._skew = skew
            _note_skew(self.endpoint.url, skew)
        return True

    def _told_by(self, answer: Answer) -> bytes | None:
        """An error's body, with the code in it wherever that stood; None for an answer that can't be believed."""
        code = named_in(answer.headers) if answer.status != _OK else ""
        if answer.body and not self._is_whole(answer):
            return None
        fault = read_fault(answer.body)
        if code and (fault is None or not fault.code):
            return with_code(answer.body, code)
        return answer.body or None

    async def _fetch(self, exchange: Exchange, now: float, *, renew: bool = False) -> Credentials:
        return await exchange.aside(lambda: self._source.fetch(now, renew=renew))

    async def _renew(self, exchange: Exchange, persistence: Persistence, trouble: Trouble) -> None:
        """Fetches credentials in place of the expired ones; raises `Denied` when the same come back."""
        now = self.now() + self._skew
        held = self._source.held(now)
        if held is not None and held != trouble.signed_by:
            return  # another request that they were refused to has fetched them
        if await self._fetch(exchange, now, renew=True) == trouble.signed_by:
            raise persistence.end(trouble, self.monotonic())

    def _signer_for(self, credentials: Credentials) -> Signer:
        endpoint, service = self.endpoint, self._service
        # Without TLS, and so without a tunnel, the proxy gets the request, and is told whose it is.
        proxy = None if endpoint.tls else endpoint.proxy
        place, lines = (f"{endpoint.url}/", proxy.header) if proxy is not None else ("/", "")
        return Signer(
            credentials,
            endpoint.region,
            endpoint.authority,
            service.name,
            service.target_prefix,
            place=place,
            unsigned_lines=lines,
        )


def _verdict_on(fault: Undelivered) -> Verdict:
    if fault.untrusted:
        return Verdict.UNTRUSTED
    if fault.forgotten:
        return Verdict.FORGOTTEN
    return Verdict.REFUSED if fault.refused else Verdict.UNDELIVERED


def _note_skew(url: str, skew: float) -> None:
    from logging import getLogger  # noqa: PLC0415 for a clock that is wrong only

    getLogger("singletable.wire").warning(
        "this machine's clock is %+.0f s off that of %s: requests are signed by the service's", -skew, url
    )


def fresh_token() -> str:
    """22 URL-safe characters: 128 random bits."""
    return secrets.token_urlsafe(_TOKEN_BYTES)


def _told(status: int, fault: Fault | None, verdict: Verdict) -> str:
    """What the service said, without what could hold an item's values or a signature's parts."""
    code = fault.code if fault and fault.code else "an error without a code"
    if fault and verdict in _TOLD and not fault.code.startswith(_QUOTES_THE_REQUEST):
        first_line = fault.message.partition("\n")[0].strip()
        return f"The service answered {code}: {first_line}" if first_line else f"The service answered {code}"
    return f"The service answered {code}, status {status}"
