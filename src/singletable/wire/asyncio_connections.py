"""Connections of an event loop, and the pool that keeps them: one request at a time on each."""

from __future__ import annotations

import asyncio  # noqa: TID251
import socket
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, cast

from singletable.wire.endpoints import Endpoint
from singletable.wire.exchange import FORGOTTEN, AnswerLost, HttpResponse, Undelivered
from singletable.wire.http_answers import AnswerReader
from singletable.wire.idle_connections import IdleConnections, closed
from singletable.wire.port_options import PortOptions
from singletable.wire.socket_probe import SocketProbe
from singletable.wire.tls import Tls, is_untrusted
from singletable.wire.waiting_line import WaitingLine

if TYPE_CHECKING:
    import ssl

    from singletable.wire.proxies import Proxy
    from singletable.wire.unix_sockets import SocketBroker

_READ_BYTES = 4096
_BUFFER_BYTES = 1 << 16
"""Under the size from which malloc asks the kernel for fresh pages each time, for the bodies that are made of it."""
_SWEEP_SECONDS = 10.0


class LoopConnection(asyncio.BufferedProtocol):
    """One connection. After any failure it must be closed; its pool sees to that.

    `buffer` takes what is received, until it is read at once: a loop's connections share it. Without one asyncio
    allocates 256 KB for each receive, of which malloc may ask the kernel: up to 20 us of CPU a request.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, buffer: memoryview, epoch: str = "") -> None:
        self._buffer = buffer
        self.epoch = epoch
        self.idle_since = 0.0
        self._loop = loop
        self._reader = AnswerReader()
        self._transport: asyncio.Transport | None = None
        self._probe: SocketProbe | None = None
        self._waiter: asyncio.Future[HttpResponse] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = self._give_up_at = 0.0
        self._timeout = 0.0
        self._spoilt = False

    @property
    def reusable(self) -> bool:
        return self._reader.reusable and not self._spoilt

    def is_quiet(self) -> bool:
        if not self.reusable or self._probe is None or self._transport is None:
            return False
        # The loop reports a close later, hence the probe; under TLS only after its socket is closed.
        return not self._transport.is_closing() and self._probe.is_quiet()

    def ask(self, message: bytes, timeout: float) -> asyncio.Future[HttpResponse]:
        """Writes a request. The whole answer comes in `timeout` seconds, or a fault, as of `Exchange`."""
        assert self._transport is not None
        if self._spoilt:
            raise Undelivered("the connection was closed at once")
        waiter: asyncio.Future[HttpResponse] = self._loop.create_future()
        self._waiter = waiter
        self._watch(timeout)
        self._transport.write(message)
        return waiter

    def close(self) -> None:
        self._spoilt = True
        if self._timer is not None:
            self._timer.cancel()
        if self._transport is not None and not self._loop.is_closed():
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not every loop derives its transports from asyncio's.
        self._transport = cast("asyncio.Transport", transport)
        connected: socket.socket = transport.get_extra_info("socket")
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._probe = SocketProbe(connected)

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._buffer

    def buffer_updated(self, nbytes: int) -> None:
        waiter = self._waiter
        if waiter is None or waiter.done():
            # Nobody asked for it: kept, it would become the next request's answer.
            self.close()
            return
        try:
            answer = self._reader.feed(self._buffer[:nbytes])
        except AnswerLost as fault:
            self._fail(fault)
            return
        if answer is not None:
            self._waiter = None
            waiter.set_result(answer)

    def connection_lost(self, exc: Exception | None) -> None:
        self._spoilt = True
        waiter = self._waiter
        if waiter is None or waiter.done():
            return
        try:
            if exc is not None:
                raise AnswerLost(str(exc)) from exc
            waiter.set_result(self._reader.finish())
        except AnswerLost as fault:
            self._fail(fault)

    def _watch(self, timeout: float) -> None:
        """Has `_look` come by in time. One timer outlasts many requests: one for each costs more than signing does."""
        self._timeout = timeout
        give_up_at = self._give_up_at = self._loop.time() + timeout
        if self._timer is not None:
            if self._timer_at <= give_up_at:
                return
            self._timer.cancel()
        self._look_at(give_up_at)

    def _look_at(self, time: float) -> None:
        self._timer, self._timer_at = self._loop.call_at(time, self._look), time

    def _look(self) -> None:
        self._timer = None
        if self._waiter is None or self._waiter.done():
            return
        if self._loop.time() < self._give_up_at:
            self._look_at(self._give_up_at)
            return
        self._fail(AnswerLost(f"no whole answer in {self._timeout:g} s", timed_out=True))

    def _fail(self, fault: AnswerLost) -> None:
        self._spoilt = True
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(fault)


class LoopPool:
    """Opens, lends and keeps one event loop's connections to one endpoint, at most `in_use` of them at a time."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, endpoint: Endpoint, options: PortOptions, tls: Tls | None
    ) -> None:
        self.loop = loop
        self._endpoint = endpoint
        self._tls = tls
        self._connect_seconds = options.timeouts.connect
        self._idle: IdleConnections[LoopConnection] = IdleConnections(options.connections.kept, options.monotonic)
        self._line = WaitingLine(loop, options.connections.in_use)
        self._buffer = memoryview(bytearray(_BUFFER_BYTES))
        self._sweeper: asyncio.TimerHandle | None = None
        self._closer: AsyncGenerator[None, None] | None = None
        self._closed = False

    async def exchange(self, message: bytes, timeout: float, max_idle_seconds: float, epoch: str = "") -> HttpResponse:
        """One try. Raises `Undelivered` and `AnswerLost`; a cancelled one leaves no connection behind."""
        line = self._line
        if line.free:
            line.free -= 1
        else:
            await line.wait(timeout)
        try:
            connection = self._idle.take(max_idle_seconds) or await self._connect(min(timeout, self._connect_seconds))
            if epoch and connection.epoch != epoch:
                connection.close()
                raise Undelivered(FORGOTTEN, forgotten=True)
            try:
                answer = await connection.ask(message, timeout)
            except BaseException as fault:
                connection.close()
                if isinstance(fault, AnswerLost):
                    fault.epoch = connection.epoch
                raise
            self._give_back(connection)
            return answer
        finally:
            line.leave()

    async def close(self) -> None:
        """Closes the idle connections now, and those in use when they come back."""
        self._closed = True
        self._idle.clear()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self._line.close()
        # An aborted transport lets go of its socket one turn of the loop later; under TLS, two.
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    def _sweep(self) -> None:
        """Closes what was idle for too long, and comes again while there are others: no call may come to do it."""
        self._idle.close_old()
        self._sweeper = None
        if len(self._idle) or not self._line.is_empty:
            self._sweep_later()

    def _sweep_later(self) -> None:
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(_SWEEP_SECONDS, self._sweep)

    def _give_back(self, connection: LoopConnection) -> None:
        if connection.reusable and not self._closed:
            self._idle.put(connection)
        else:
            connection.close()

    async def _connect(self, timeout: float) -> LoopConnection:
        if self._closed:
            raise closed()
        await self._close_with_loop()
        self._sweep_later()
        endpoint = self._endpoint
        try:
            async with asyncio.timeout(timeout):
                if endpoint.broker is not None:
                    return await self._pass(endpoint.broker)
                if self._tls is None:
                    _, connection = await self.loop.create_connection(self._make, *endpoint.peer)
                elif endpoint.proxy is None:
                    _, connection = await self.loop.create_connection(
                        self._make, endpoint.host, endpoint.port, ssl=self._tls.context, server_hostname=endpoint.host
                    )
                else:
                    connection = await self._connect_through(endpoint.proxy, self._tls.context)
        except OSError as fault:
            untrusted = is_untrusted(fault)
            raise Undelivered(str(fault) or type(fault).__name__, untrusted=untrusted) from fault
        return connection

    def _make(self, epoch: str = "") -> LoopConnection:
        return LoopConnection(self.loop, self._buffer, epoch)

    async def _connect_through(self, proxy: Proxy, tls: ssl.SSLContext) -> LoopConnection:
        """TLS to the endpoint, through a tunnel. Raises `Undelivered` and OSError."""
        endpoint = self._endpoint
        connected = await tunnel(self.loop, proxy, endpoint.host, endpoint.port)
        try:
            _, connection = await self.loop.create_connection(
                self._make, sock=connected, ssl=tls, server_hostname=endpoint.host
            )
        except BaseException:
            connected.close()
            raise
        return connection

    async def _pass(self, broker: SocketBroker) -> LoopConnection:
        from singletable.wire.unix_sockets_async import open_unix_async  # noqa: PLC0415 for such a service only

        connected, epoch = await open_unix_async(self.loop, broker)
        try:
            connected.setblocking(False)
            _, connection = await self.loop.create_connection(lambda: self._make(epoch), sock=connected)
        except BaseException:
            connected.close()
            raise
        return connection

    async def _close_with_loop(self) -> None:
        """Has the loop close the pool when it ends: `asyncio.run` finalises the generators that were begun in it."""
        if self._closer is None:
            self._closer = self._close_at_last()
            await anext(self._closer)

    async def _close_at_last(self) -> AsyncGenerator[None, None]:
        try:
            yield
        finally:
            await self.close()


async def tunnel(loop: asyncio.AbstractEventLoop, proxy: Proxy, host: str, port: int) -> socket.socket:
    """A connection through a proxy, before TLS. Raises `Undelivered` and OSError; its caller bounds the time."""
    connected = await _connected(loop, proxy)
    try:
        await loop.sock_sendall(connected, proxy.asks_for(host, port))
        answer = b""
        while not proxy.agreed(answer):
            received = await loop.sock_recv(connected, _READ_BYTES)
            if not received:
                raise Undelivered(f"the proxy at {proxy.address} closed the connection")
            answer += received
    except BaseException:
        connected.close()
        raise
    return connected


async def _connected(loop: asyncio.AbstractEventLoop, proxy: Proxy) -> socket.socket:
    """To the first of the proxy's addresses that takes a connection."""
    failure = OSError(f"the proxy {proxy.host} has no address")
    for family, kind, protocol, _, address in await loop.getaddrinfo(proxy.host, proxy.port, type=socket.SOCK_STREAM):
        connecting = socket.socket(family, kind, protocol)
        try:
            connecting.setblocking(False)
            await loop.sock_connect(connecting, address)
        except OSError as fault:
            connecting.close()
            failure = fault
        except BaseException:
            connecting.close()
            raise
        else:
            return connecting
    raise failure
