"""Blocking connections and the pool that keeps them: one request at a time on each, any number of threads."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING
from weakref import WeakSet

from singletable.wire.endpoints import Endpoint
from singletable.wire.exchange import FORGOTTEN, AnswerLost, HttpResponse, Undelivered
from singletable.wire.http_answers import AnswerReader
from singletable.wire.idle_connections import IdleConnections, closed
from singletable.wire.port_options import PortOptions
from singletable.wire.socket_probe import LONGEST_SECONDS, SocketProbe
from singletable.wire.tls import is_untrusted, tls_for, would_block_errors

if TYPE_CHECKING:
    from singletable.wire.proxies import Proxy

# Under the size from which malloc asks the kernel for fresh pages each time.
_READ_BYTES = 65536


class SocketConnection:
    """One connection. After any failure it must be closed; its pool sees to that.

    A request whose answer comes as one piece takes three calls that release the GIL: send, wait, receive. That is why
    the socket doesn't block: one with a timeout waits before each send and each receive.
    """

    __slots__ = (
        *("__weakref__", "_answer_by", "_probe", "_reader", "_socket", "_timeout", "_would_block"),
        *("epoch", "idle_since"),
    )

    def __init__(self, connected: socket.socket, epoch: str, would_block: tuple[type[OSError], ...]) -> None:
        self.epoch = epoch
        self.idle_since = 0.0
        connected.settimeout(0.0)
        self._socket = connected
        self._would_block = would_block
        self._timeout = self._answer_by = 0.0
        self._reader = AnswerReader()
        self._probe = SocketProbe(connected)

    @property
    def reusable(self) -> bool:
        return self._reader.reusable

    def is_quiet(self) -> bool:
        return self._probe.is_quiet()

    def write(self, message: bytes, timeout: float, monotonic: Callable[[], float]) -> None:
        """Raises `AnswerLost`: some of the bytes may have arrived."""
        self._timeout = timeout
        try:
            try:
                sent = self._socket.send(message)
            except self._would_block:
                sent = 0
            if sent != len(message):
                self._send_rest(memoryview(message)[sent:], monotonic)
            self._answer_by = monotonic() + timeout
        except TimeoutError as fault:
            raise AnswerLost("the service did not take the request in time", timed_out=True) from fault
        except OSError as fault:
            raise AnswerLost(str(fault)) from fault

    def read(self, monotonic: Callable[[], float]) -> HttpResponse:
        """The whole answer, within the timeout given to `write`. Raises `AnswerLost`.

        Requests that are sent together are read one after the other, and wait at the same time. So an answer has to
        begin within the timeout of its request; one that has is read, however late.
        """
        receive, feed, would_block = self._socket.recv, self._reader.feed, self._would_block
        timeout, now = self._timeout, monotonic()
        give_up_at = now + timeout
        try:
            if not self._probe.is_readable(max(0.0, self._answer_by - now)):
                raise TimeoutError
            while True:
                try:
                    data = receive(_READ_BYTES)
                except would_block:
                    data = self._receive_within(_left(give_up_at, monotonic))
                if not data:
                    return self._reader.finish()
                answer = feed(data)
                if answer is not None:
                    return answer
                _left(give_up_at, monotonic)  # a trickle of pieces must not outlast the timeout
        except TimeoutError as fault:
            raise AnswerLost(f"no whole answer in {timeout:g} s", timed_out=True) from fault
        except OSError as fault:
            raise AnswerLost(str(fault)) from fault

    def _send_rest(self, rest: memoryview, monotonic: Callable[[], float]) -> None:
        """Sends what the kernel had no room for. Not by `sendall`, whose timeout over TLS is for one piece."""
        give_up_at = monotonic() + self._timeout
        while rest:
            self._socket.settimeout(_left(give_up_at, monotonic))
            rest = rest[self._socket.send(rest) :]
        self._socket.settimeout(0.0)

    def _receive_within(self, seconds: float) -> bytes:
        """Waits for the next piece. TLS may have to send something first, which a wait for something to read misses."""
        self._socket.settimeout(seconds)
        data = self._socket.recv(_READ_BYTES)
        self._socket.settimeout(0.0)
        return data

    def close(self) -> None:
        self._socket.close()


def _left(give_up_at: float, monotonic: Callable[[], float]) -> float:
    """The seconds until then, as many as a socket takes. Raises TimeoutError where none are left."""
    seconds = give_up_at - monotonic()
    if seconds <= 0.0:
        raise TimeoutError
    return min(seconds, LONGEST_SECONDS)


class SocketPool:
    """Opens, lends and keeps connections to one endpoint. A forked child starts with an empty one."""

    def __init__(self, endpoint: Endpoint, options: PortOptions) -> None:
        self._endpoint = endpoint
        self._connect_seconds = options.timeouts.connect
        self._tls = tls_for(endpoint, options.ca_file)
        self._monotonic = options.monotonic
        self._idle: IdleConnections[SocketConnection] = IdleConnections(options.connections.kept, options.monotonic)
        self._open: WeakSet[SocketConnection] = WeakSet()
        self._closed = False
        _POOLS.add(self)

    def take(self, timeout: float, max_idle_seconds: float, epoch: str = "") -> SocketConnection:
        """A live connection, of the idle ones or new. Raises `Undelivered`."""
        connection = self._idle.take(max_idle_seconds) or self._connect(min(timeout, self._connect_seconds))
        if epoch and connection.epoch != epoch:
            self.discard(connection)
            raise Undelivered(FORGOTTEN, forgotten=True)
        return connection

    def give_back(self, connection: SocketConnection) -> None:
        """After an answer that was read whole."""
        if connection.reusable and not self._closed:
            self._idle.put(connection)
        else:
            self.discard(connection)

    def discard(self, connection: SocketConnection) -> None:
        """Closes one that is in an unknown state."""
        self._open.discard(connection)
        connection.close()

    def close(self) -> None:
        """Closes the idle connections now, and those in use when they come back."""
        self._closed = True
        self._idle.clear()

    def close_in_child(self) -> None:
        """Let go of the parent's connections in a forked child, including the ones that its threads had in use."""
        self._idle.clear()
        for connection in tuple(self._open):
            self.discard(connection)

    def _connect(self, timeout: float) -> SocketConnection:
        if self._closed:
            raise closed()
        endpoint, epoch = self._endpoint, ""
        try:
            if endpoint.broker is not None:
                from singletable.wire.unix_sockets import open_unix  # noqa: PLC0415 for such a service only

                connected, epoch = open_unix(endpoint.broker, timeout)
                connected.settimeout(timeout)
            else:
                connected = socket.create_connection(endpoint.peer, timeout)
        except OSError as fault:
            raise Undelivered(str(fault) or type(fault).__name__) from fault
        try:
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if endpoint.proxy is not None and self._tls is not None:
                self._tunnel(connected, endpoint.proxy, timeout)
            if self._tls is not None:
                connected = self._tls.wrap(connected, endpoint.host)
        except OSError as fault:
            connected.close()
            raise Undelivered(str(fault), untrusted=is_untrusted(fault)) from fault
        except Undelivered:
            connected.close()
            raise
        connection = SocketConnection(connected, epoch, would_block_errors(self._tls))
        self._open.add(connection)
        return connection

    def _tunnel(self, connected: socket.socket, proxy: Proxy, timeout: float) -> None:
        """Has the proxy open a way to the endpoint. Raises `Undelivered` and OSError."""
        give_up_at, answer = self._monotonic() + timeout, b""
        connected.sendall(proxy.asks_for(self._endpoint.host, self._endpoint.port))
        while not proxy.agreed(answer):
            left = give_up_at - self._monotonic()
            if left <= 0.0:
                raise Undelivered(f"the proxy at {proxy.address} did not answer in {timeout:g} s")
            connected.settimeout(left)
            received = connected.recv(_READ_BYTES)
            if not received:
                raise Undelivered(f"the proxy at {proxy.address} closed the connection")
            answer += received
        connected.settimeout(timeout)


_POOLS: WeakSet[SocketPool] = WeakSet()


def _forget_all() -> None:
    for pool in tuple(_POOLS):
        pool.close_in_child()


# The parent goes on using its sockets: closing the child's copies sends nothing, using them would mix two answers.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_all)
