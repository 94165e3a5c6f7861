"""From a request to its definite answer, over any transport: sign, send, verify, retry.

A request whose first try succeeds passes through `deliver` and `_try` only: that is the hot path. `_retry` is the rest.
"""

from __future__ import annotations

from binascii import b2a_base64
from contextlib import suppress
from os import urandom
from sys import modules
from typing import TYPE_CHECKING, Any, TypeVar
from zlib import crc32

import msgspec

from singletable.errors import NotConfigured, SingletableError
from singletable.events import DEBUG, INFO, SILENT, SLOW_SECONDS
from singletable.flow import (
    ACTIVE,
    LEASES,
    OPERATIONS,
    Capability,
    Operation,
    Request,
    Response,
    RoundTrips,
    count_answer,
    count_throttle,
    count_try,
    count_units,
    lacking,
    note_estimate,
)
from singletable.wire.credentials import CachedCredentials, Credentials, CredentialSource
from singletable.wire.endpoints import Endpoint
from singletable.wire.error_answers import (
    CLOCK_CODES,
    Fault,
    Verdict,
    classify,
    code_in_header,
    describe,
    hint_of,
    read_fault,
    server_time,
    with_code,
)
from singletable.wire.exchange import AnswerLost, Exchange, HttpResponse, Undelivered
from singletable.wire.hosts import is_aws_host
from singletable.wire.idle_connections import MAX_IDLE_SECONDS
from singletable.wire.port_options import PortOptions
from singletable.wire.retry import FailedTry, RetryBudget, RetryState
from singletable.wire.service_clock import Clock, GivenClock, ServiceClock
from singletable.wire.signature import Signer

if TYPE_CHECKING:
    from singletable.wire.call_events import CallEvents

T = TypeVar("T")

_OK = 200
_TOKEN_BYTES, _TOKEN_CHARACTERS = 16, 22
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_SKEW_SECONDS = 240.0
"""A signature is valid for five minutes: a smaller error of the clock is not the reason of a refusal."""
_check_json = msgspec.json.Decoder(msgspec.Raw).decode


class Delivery:
    """A port without its connections: signer, retry budget, clock correction. Threads and tasks share it."""

    def __init__(self, endpoint: Endpoint, credentials: CredentialSource, options: PortOptions) -> None:
        self.endpoint = endpoint
        self.clock: Clock = _clock_for(endpoint, options)
        self.now = self.clock.now
        self.monotonic = options.monotonic
        self.random = options.random
        self.timeouts = options.timeouts
        self.budget = RetryBudget()
        self.lacks: frozenset[Capability] = frozenset()
        """The capabilities that the service is known to lack: no request is sent for them."""
        self._units_differ = options.traits.units_differ
        self._names = options.names
        self._events = options.events
        self._listens = options.events.listens
        self._levels = options.events.levels()
        self._source = credentials
        self._service = options.service
        self._policy = options.policy
        self._checksum = options.checksum
        self._signer: Signer | None = None
        self._opened_at: float | None = options.monotonic()
        """None once its first answer was told, or a try has failed before it."""
        self._fetching_seconds = 0.0
        self._first_timeout = min(options.timeouts.read, options.policy.deadline_seconds)

    async def send(self, exchange: Exchange, operation: Operation[T], round_trips: RoundTrips | None = None) -> T:
        """An operation's value; its units are metered. Raises the operation's errors and those of `deliver`."""
        levels = self._levels
        own = levels.own
        # No call here: a request pays nothing for events that nobody hears.
        heard = self._listens or (own.level or levels.library.level or levels.root.level) <= DEBUG
        call = self._call(operation) if heard or (own is SILENT.own and "logging" in modules) else None
        if call is not None and self._events.carrier is not None:
            operation, request = call.carrying(operation)
        else:
            request = operation.request(self._names)
        response: Response | None = None
        try:
            if self.lacks and (missing := OPERATIONS.get(request.operation)) in self.lacks:
                raise lacking(missing, operation=request.operation, table=request.table)
            response = await self.deliver(exchange, request, round_trips, operation, call)
            value, consumed = operation.answer(response)
        except BaseException as error:
            if isinstance(error, SingletableError):
                if response is not None:
                    error.request_id = response.request_id
                self._tell_of(error, operation)
                if response is not None and isinstance(error, NotConfigured):
                    self._tell_missing(error)
            if call is not None:
                call.ended(error=error)
            raise
        if meters := ACTIVE.get():
            count_units(meters, request.operation, consumed)
            if self._units_differ:
                note_estimate(request.operation, self._units_differ)
        if call is not None:
            call.ended(value, consumed)
        return value

    def _tell_of(self, error: SingletableError, operation: Operation[Any] | None) -> None:
        """The same, with the key of what the operation is about."""
        named = getattr(operation, "named_key", None)
        if error.key is None and named is not None:
            with suppress(Exception):  # of an application's class: the error is told without it
                error.key = named()
        self.tell(error)

    def tell(self, error: SingletableError) -> None:
        """Add to an error what it lacks of its place: names in the account, region, endpoint, its key's hash."""
        self._names.tell(error)
        for one in (error, *(failure.error for failure in getattr(error, "failures", ()))):
            one.hash_by(self._events.hash_of)
            if not one.endpoint:
                endpoint = self.endpoint
                one.region, one.region_from, one.endpoint = endpoint.region, endpoint.region_from, endpoint.url

    def _tell_missing(self, error: NotConfigured) -> None:
        """The table may be in another region. A table of leases is made by its first worker."""
        table = error.table or ""
        if not table or table.endswith(LEASES):
            return
        from singletable.events import TableMissing  # noqa: PLC0415 most programs never need it

        self._events.emit(
            TableMissing(
                operation=error.operation or "",
                table=table,
                called=error.called,
                endpoint=error.endpoint,
                region=error.region,
                region_from=error.region_from,
                why=error.what,
            )
        )

    def _call(self, operation: Operation[Any] | None) -> CallEvents | None:
        """The events of a call; None in a process without a file descriptor left, which an import needs."""
        try:
            from singletable.wire.call_events import CallEvents  # noqa: PLC0415 for who listens, and for retries
        except (ImportError, OSError):
            return None
        self._levels = self._events.levels()
        return CallEvents(self._events, self.endpoint, self._names, self.monotonic, operation)

    async def deliver(
        self,
        exchange: Exchange,
        request: Request,
        round_trips: RoundTrips | None = None,
        operation: Operation[Any] | None = None,
        call: CallEvents | None = None,
    ) -> Response:
        """The definite answer to a request: success, or an error that the operation itself raises.

        Raises `Throttled`, `TransactionConflict` and `Unavailable` if certainly nothing was written (or the request
        only reads), `OutcomeUnknown` if something may have been written, `Denied`, and `NotConfigured` without
        credentials.
        """
        started = self.monotonic()
        outcome = await self._try(exchange, request, 1, self._first_timeout, round_trips, call)
        if type(outcome) is Response:
            levels = self._levels
            level = levels.own.level or levels.library.level or levels.root.level
            if call is not None:
                call.tried(request, outcome)
            elif level <= INFO and self.monotonic() - started >= SLOW_SECONDS:
                self._tell_slow(request, outcome, operation, started)
            if self._opened_at is not None:
                self._tell_first(request, started)
            if self.budget.left < RetryBudget.CAPACITY:
                self.budget.refill(RetryBudget.SUCCESS)
            return outcome
        assert isinstance(outcome, FailedTry)
        self._opened_at = None
        state = RetryState(request, self._policy, self.budget, self.random, started=started)
        if call is not None:
            return await self._retry(exchange, state, outcome, round_trips, call)
        call = self._call(operation)
        if call is not None:
            call.began(started)
        try:
            return await self._retry(exchange, state, outcome, round_trips, call)
        except SingletableError as error:
            if call is not None:
                self._tell_of(error, operation)
                call.ended(error=error)
            raise

    async def _retry(
        self,
        exchange: Exchange,
        state: RetryState,
        failed: FailedTry,
        round_trips: RoundTrips | None,
        call: CallEvents | None,
    ) -> Response:
        request = state.request
        while True:
            ended_at = self.monotonic()
            try:
                wait = state.wait_after(failed, ended_at)
                if failed.verdict is Verdict.REFRESH:
                    await self._renew(exchange, state, failed)
            except SingletableError:
                if call is not None:
                    call.tried(request, failed, ended_at=ended_at)
                raise
            if call is not None:
                call.tried(request, failed, wait, ended_at=ended_at)
            await exchange.sleep(wait)
            if call is not None:
                call.began(self.monotonic())
            timeout = state.timeout(self.monotonic(), self.timeouts.read)
            outcome = await self._try(exchange, request, state.tries + 1, timeout, round_trips, call, state.epoch)
            if isinstance(outcome, Response):
                if call is not None:
                    call.tried(request, outcome)
                state.succeeded()
                return msgspec.structs.replace(outcome, unsettled=state.unsettled)
            failed = outcome

    async def _try(
        self,
        exchange: Exchange,
        request: Request,
        attempt: int,
        timeout: float,
        round_trips: RoundTrips | None,
        call: CallEvents | None,
        epoch: str = "",
    ) -> Response | FailedTry:
        clock = self.clock
        now = self.now() + clock.skew
        credentials = self._source.cached(now)
        if credentials is None:
            credentials = await self._fetch(exchange, now)
        signer = self._signer
        if signer is None or signer.credentials is not credentials:
            signer = self._signer = self._signer_for(credentials)
        message = signer.head(request.operation, request.body, now) + request.body
        meters = ACTIVE.get()
        if meters:
            count_try(meters, request.operation, attempt, round_trips, len(message))
        max_idle_seconds = (
            MAX_IDLE_SECONDS if request.repeatable or request.tokened else self._policy.careful_idle_seconds
        )
        try:
            answer = await exchange.exchange(message, timeout, max_idle_seconds, epoch)
        except Undelivered as fault:
            what = f"Could not connect to {self.endpoint.url}: {fault}"
            return FailedTry(_verdict_on(fault), what, cause=fault)
        except AnswerLost as fault:
            what = f"No answer from {self.endpoint.url}: {fault}"
            return FailedTry(Verdict.LOST, what, fault.timed_out, cause=fault, epoch=fault.epoch)
        except BaseException as error:  # its caller was cancelled: it has been sent, and a meter has counted it
            if call is not None:
                call.tried(request, error)
            raise
        if meters:
            count_answer(meters, answer.bytes_in)
        if answer.status == _OK and self._is_whole(answer):
            if now >= clock.look_at:
                self._look_at_date(answer, now)
            return Response(_OK, answer.body, False, answer.request_id)
        outcome = self._classify(answer, request, credentials, now)
        if meters and isinstance(outcome, FailedTry) and outcome.verdict is Verdict.THROTTLED:
            count_throttle(meters, request.operation)
        return outcome

    def _is_whole(self, answer: HttpResponse) -> bool:
        """Whether the body is complete: by its checksum, else by being valid JSON."""
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

    def _classify(
        self, answer: HttpResponse, request: Request, signed_by: Credentials, signed_at: float
    ) -> Response | FailedTry:
        if answer.status == _OK and request.answers_nothing and not answer.body:
            return Response(_OK, b"{}", False, answer.request_id)
        body = self._error_body(answer)
        if body is None:
            what = f"The answer, of status {answer.status}, is damaged or is not DynamoDB's"
            verdict, size = classify(answer.status, None), len(answer.body)
            return FailedTry(verdict, what, request_id=answer.request_id, bytes_in=size)
        fault = read_fault(body)
        verdict = classify(answer.status, fault)
        if verdict is Verdict.ANSWER:
            if signed_at >= self.clock.look_at:
                self._look_at_date(answer, signed_at)
            return Response(answer.status, body, False, answer.request_id)
        what = describe(answer.status, fault, verdict)
        if fault is not None and fault.code in CLOCK_CODES and (off := self._corrects_clock(answer, signed_at)):
            verdict, what = Verdict.SKEWED, f"{what.rstrip('.')}; this machine's clock is off by {off:+.0f} s"
        return FailedTry(
            verdict,
            what,
            request_id=answer.request_id,
            bytes_in=len(body),
            signed_by=signed_by,
            hint=self._hint(fault, verdict, signed_by),
        )

    def _hint(self, fault: Fault | None, verdict: Verdict, signed_by: Credentials) -> str:
        if verdict is Verdict.THROTTLED:
            return hint_of(fault)
        if verdict is not Verdict.DENIED and verdict is not Verdict.REFRESH:
            return ""
        from singletable.wire.remedies import remedy_of  # noqa: PLC0415 for a denied request alone

        return remedy_of(fault, verdict, self._source, signed_by)

    def _look_at_date(self, answer: HttpResponse, asked_at: float) -> None:
        if ahead := self.clock.look(answer.headers, asked_at):
            self._tell_skew(ahead, "the service's time decides")

    def _corrects_clock(self, answer: HttpResponse, signed_at: float) -> float:
        """The seconds that the clock which signed is ahead of the service's (the answer's Date), if they are the reason
        of the refusal; else 0. The service's is then used to sign."""
        date = server_time(answer.headers)
        if date is None or abs(signed_at - date) < _SKEW_SECONDS:
            return 0.0
        clock = self.clock
        if abs(self.now() + clock.skew - date) >= _SKEW_SECONDS:  # the first of several refused requests
            clock.correct(date)
            self._tell_skew(signed_at - date, "requests are signed by the service's clock")
        return signed_at - date

    def _tell_skew(self, ahead: float, then: str) -> None:
        from singletable.events import ClockCorrected  # noqa: PLC0415 only if the clock is wrong

        self._events.emit(ClockCorrected(endpoint=self.endpoint.url, ahead_seconds=round(ahead), then=then))

    def _error_body(self, answer: HttpResponse) -> bytes | None:
        """An error's body, with the header's code if the body has none; None for a damaged answer."""
        code = code_in_header(answer.headers) if answer.status != _OK else ""
        if answer.body and not self._is_whole(answer):
            return None
        fault = read_fault(answer.body)
        if code and (fault is None or not fault.code):
            return with_code(answer.body, code)
        return answer.body or None

    async def _fetch(self, exchange: Exchange, now: float, *, renew: bool = False) -> Credentials:
        source, began = self._source, self.monotonic()
        credentials = await exchange.run_blocking(lambda: source.fetch(now, renew=renew))
        seconds = self.monotonic() - began
        self._fetching_seconds += seconds
        if self._is_heard:
            from singletable.events import CredentialsFetched  # noqa: PLC0415 for who listens

            name = type(source).__name__
            self._events.emit(CredentialsFetched(source=name, milliseconds=1000 * seconds, is_renewal=renew))
        if isinstance(source, CachedCredentials) and (failure := source.take_failure()) is not None:
            from singletable.events import CredentialsKept  # noqa: PLC0415 most programs never need it

            self._events.emit(CredentialsKept(error=failure))
        return credentials

    def _tell_slow(self, request: Request, answer: Response, operation: Operation[Any] | None, started: float) -> None:
        """The log is at INFO, where a call has no event, and this one took long."""
        call = self._call(operation)
        if call is not None:
            call.began(started)
            call.tried(request, answer)

    @property
    def _is_heard(self) -> bool:
        """Whether somebody hears what is told at INFO."""
        levels = self._levels
        return self._listens or (levels.own.level or levels.library.level or levels.root.level) <= INFO

    def _tell_first(self, request: Request, started: float) -> None:
        """A cold start, as far as it is the library's."""
        opened_at, self._opened_at = self._opened_at, None
        call = self._call(None) if self._is_heard else None
        if call is not None and opened_at is not None:
            call.first_answered(request, started, opened_at, self._fetching_seconds)

    async def _renew(self, exchange: Exchange, state: RetryState, failed: FailedTry) -> None:
        """Fetch credentials in place of the expired ones. Raises `Denied` if it gets the same ones."""
        now = self.now() + self.clock.skew
        held = self._source.cached(now)
        if held is not None and held != failed.signed_by:
            return  # another request has fetched them already
        fetched = await self._fetch(exchange, now, renew=True)
        if fetched == failed.signed_by:
            from singletable.wire.remedies import still_expired  # noqa: PLC0415 for a denied request alone

            hint = still_expired(self._source, fetched)
            raise state.end(msgspec.structs.replace(failed, hint=hint), self.monotonic())

    def _signer_for(self, credentials: Credentials) -> Signer:
        endpoint, service = self.endpoint, self._service
        # Without TLS there is no tunnel: the proxy itself gets the request, and its own credentials.
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


def _clock_for(endpoint: Endpoint, options: PortOptions) -> Clock:
    if options.now is not None:
        return GivenClock(options.now)
    return ServiceClock(options.wall, options.monotonic, checks_signatures=is_aws_host(endpoint.host))


def _verdict_on(fault: Undelivered) -> Verdict:
    if fault.untrusted:
        return Verdict.UNTRUSTED
    if fault.forgotten:
        return Verdict.FORGOTTEN
    return Verdict.REFUSED if fault.refused else Verdict.UNDELIVERED


def fresh_token() -> str:
    """22 URL-safe characters: 128 random bits."""
    text = b2a_base64(urandom(_TOKEN_BYTES), newline=False)[:_TOKEN_CHARACTERS]
    return text.translate(_URL_SAFE).decode()
