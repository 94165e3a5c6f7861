"""One blocking connection: what it takes to ask, what its timeouts bound, and when it counts as quiet."""

from __future__ import annotations

import select
import signal
import socket
import ssl
import struct
import sys
import threading  # noqa: TID251
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

import pytest

from singletable.flow import drive
from singletable.wire.blocking_connections import SocketConnection
from singletable.wire.exchange import AnswerLost
from singletable.wire.socket_probe import SocketProbe
from singletable.wire.tls import Tls, would_block_errors
from tests.fakes.scripted_server import ScriptedServer, hang, http
from tests.unit.wire.conftest import Ask
from tests.unit.wire.test_blocking_port import port_to

Pair = tuple[Any, socket.socket]
"""A `SocketConnection`, which a test looks into, and the other end."""
RELEASES_THE_GIL = {"poll", "select", "send", "sendall", "recv", "read", "write", "settimeout", "setblocking"}
RESET = struct.pack("ii", 1, 0)


@contextmanager
def connected() -> Generator[tuple[socket.socket, socket.socket]]:
    """Both ends of a TCP connection."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname(), 10.0)
        theirs, _ = listener.accept()
    with ours, theirs:
        yield ours, theirs


@pytest.fixture(params=["plain", "tls"])
def pair(request: pytest.FixtureRequest, tls: tuple[Tls, ssl.SSLContext]) -> Iterator[Pair]:
    """A connection, and the server's end of it."""
    client_tls, served = tls
    with connected() as (ours, theirs):
        if request.param == "plain":
            yield SocketConnection(ours, "", would_block_errors(None)), theirs
            return
        shaken: list[ssl.SSLSocket] = []
        shaking = threading.Thread(target=lambda: shaken.append(served.wrap_socket(theirs, server_side=True)))
        shaking.start()
        encrypted = client_tls.wrap(ours, "127.0.0.1")
        shaking.join()
        with encrypted, shaken[0] as server:
            yield SocketConnection(encrypted, "", would_block_errors(client_tls)), server


def reads(end: socket.socket, count: int) -> bytearray:
    data = bytearray()
    while len(data) < count and (piece := end.recv(65536)):
        data += piece
    return data


@contextmanager
def profiled() -> Generator[list[str]]:
    """The names of the built-in calls inside the block that release the GIL."""
    calls: list[str] = []

    def note(_: FrameType, event: str, called: Any) -> None:
        if event == "c_call" and called.__name__ in RELEASES_THE_GIL:
            calls.append(called.__name__)

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield calls
    finally:
        sys.setprofile(before)


@pytest.mark.skipif(sys.platform != "linux", reason="other systems tell by a poll whether a socket is quiet")
def test_a_request_releases_the_gil_three_times(pair: Pair) -> None:
    ours, theirs = pair
    theirs.sendall(http(b'{"a":1}'))
    with profiled() as calls:
        ours.write(b"a request", 10.0, time.monotonic)
        answer = ours.read(time.monotonic)
    assert answer.body == b'{"a":1}'
    with profiled() as probed:
        assert ours.is_quiet()
    assert (calls, probed) in [(["send", "poll", "recv"], []), (["write", "poll", "read"], [])]
    assert ours._socket.gettimeout() == 0.0  # else each of them polls, too


def test_a_request_that_the_kernel_has_no_room_for_arrives_whole(pair: Pair) -> None:
    ours, theirs = pair
    message = bytes(range(256)) * 65536
    arrived: list[bytearray] = []
    for _ in range(2):
        reading = threading.Thread(target=lambda: arrived.append(reads(theirs, len(message))))
        reading.start()
        ours.write(message, 20.0, time.monotonic)
        reading.join()
        theirs.sendall(http())
        assert ours.read(time.monotonic).body == b"{}"
        assert ours._socket.gettimeout() == 0.0
    assert arrived == [message, message]


def test_a_server_that_takes_no_more_bytes(pair: Pair) -> None:
    ours, _ = pair
    with pytest.raises(AnswerLost, match="did not take the request in time") as raised:
        ours.write(bytes(1 << 24), 0.05, time.monotonic)
    assert raised.value.timed_out


def test_the_rest_of_a_request_has_what_is_left_of_the_timeout(pair: Pair) -> None:
    ours, _ = pair
    times, started = iter([0.0, 59.95]), time.monotonic()
    with pytest.raises(AnswerLost, match="did not take the request in time") as raised:
        ours.write(bytes(1 << 24), 60.0, lambda: next(times, 60.0))
    assert raised.value.timed_out
    assert time.monotonic() - started < 30


def test_an_answer_that_comes_bit_by_bit(pair: Pair) -> None:
    ours, theirs = pair
    answer = http(b'{"a":"' + b"x" * 200_000 + b'"}')
    waits = threading.Semaphore(0)

    def send() -> None:
        for start in range(0, len(answer), 9973):
            assert waits.acquire(timeout=20)
            theirs.sendall(answer[start : start + 9973])

    def monotonic() -> float:
        waits.release()
        return time.monotonic()

    for _ in range(2):
        ours.write(b"a request", 20.0, time.monotonic)
        reads(theirs, len(b"a request"))
        sending = threading.Thread(target=send)
        sending.start()
        assert len(ours.read(monotonic).body) == 200_008
        sending.join()
        assert ours.reusable
        assert ours.is_quiet()
        assert ours._socket.gettimeout() == 0.0


def test_a_trickle_ends_at_the_timeout(pair: Pair) -> None:
    ours, theirs = pair
    ended = threading.Event()

    def trickle() -> None:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not ended.wait(0.005):
            theirs.sendall(b"x")

    sending = threading.Thread(target=trickle)
    ours.write(b"a request", 0.05, time.monotonic)
    sending.start()
    try:
        with pytest.raises(AnswerLost, match=r"no whole answer in 0\.05 s") as raised:
            ours.read(time.monotonic)
    finally:
        ended.set()
        sending.join()
    assert raised.value.timed_out


def test_a_later_piece_has_what_is_left_of_the_timeout(pair: Pair) -> None:
    ours, theirs = pair
    ours.write(b"a request", 60.0, time.monotonic)
    theirs.sendall(http(b"x" * 1000)[:-1])
    times, started = iter([0.0, 59.9, 59.95]), time.monotonic()
    with pytest.raises(AnswerLost, match="no whole answer in 60 s"):
        ours.read(lambda: next(times))
    assert time.monotonic() - started < 30


def test_an_answer_that_is_awaited_late_has_what_is_left_since_its_request(pair: Pair) -> None:
    ours, _ = pair
    ours.write(b"a request", 60.0, lambda: 0.0)
    started = time.monotonic()
    with pytest.raises(AnswerLost, match="no whole answer in 60 s"):
        ours.read(lambda: 59.95)
    assert time.monotonic() - started < 30


def test_an_answer_that_came_in_time_is_read_late(pair: Pair) -> None:
    ours, theirs = pair
    ours.write(b"a request", 60.0, lambda: 0.0)
    theirs.sendall(http(b"x" * 100_000))
    assert len(ours.read(lambda: 600.0).body) == 100_000


def test_an_answer_whose_rest_comes_after_the_timeout(pair: Pair) -> None:
    ours, theirs = pair
    ours.write(b"a request", 60.0, time.monotonic)

    def send() -> None:
        with suppress(OSError):  # the reader may close before the end
            theirs.sendall(http(b"x" * 200_000))

    sending = threading.Thread(target=send)
    sending.start()
    times = iter([0.0])
    with pytest.raises(AnswerLost, match="no whole answer in 60 s"):
        ours.read(lambda: next(times, 60.0))
    ours.close()
    sending.join()


@contextmanager
def alarms(every: float, handler: Callable[[int, FrameType | None], object]) -> Generator[None]:
    before = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, every, every)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("begun", [False, True], ids=["before the answer", "inside the answer"])
def test_signals_do_not_prolong_a_timeout(pair: Pair, begun: bool) -> None:
    ours, theirs = pair
    rung: list[int] = []
    started = time.monotonic()
    ours.write(b"a request", 0.1, time.monotonic)
    if begun:
        theirs.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    with (
        alarms(0.005, lambda number, _: rung.append(number)),
        pytest.raises(AnswerLost, match=r"no whole answer in 0\.1 s"),
    ):
        ours.read(time.monotonic)
    assert len(rung) > 3
    assert time.monotonic() - started < 5


@pytest.mark.parametrize("part", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"], ids=["hang", "part"])
def test_an_interrupt_ends_a_wait_and_closes_the_connection(server: ScriptedServer, part: bytes) -> None:
    ident = threading.main_thread().ident
    assert ident is not None

    def interrupts(asked: ScriptedServer, connection: socket.socket) -> bool:
        connection.sendall(part)
        signal.pthread_kill(ident, signal.SIGINT)
        return hang(asked, connection)

    server.plan(interrupts)
    port: Any
    with port_to(server) as port:
        with pytest.raises(KeyboardInterrupt):
            drive(port.send(Ask(repeatable=False)))
        assert list(port._pool._open) == []
        assert drive(port.send(Ask())).body == b"{}"
    assert [request.connection for request in server.received] == [1, 2]


def leaves_unread(ours: socket.socket, theirs: socket.socket) -> None:
    theirs.sendall(b"unasked")
    SocketProbe(ours).is_readable(10.0)


def closes(ours: socket.socket, theirs: socket.socket) -> None:
    theirs.close()
    SocketProbe(ours).is_readable(10.0)


def half_closes(ours: socket.socket, theirs: socket.socket) -> None:
    theirs.shutdown(socket.SHUT_WR)
    SocketProbe(ours).is_readable(10.0)


def resets(ours: socket.socket, theirs: socket.socket) -> None:
    theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
    closes(ours, theirs)


def is_read(ours: socket.socket, theirs: socket.socket) -> None:
    theirs.sendall(b"asked" * 10_000)
    reads(ours, 50_000)


def is_read_in_part(ours: socket.socket, theirs: socket.socket) -> None:
    theirs.sendall(b"ab")
    ours.recv(1)


QUIET: dict[Callable[[socket.socket, socket.socket], None], bool] = {
    is_read: True,
    leaves_unread: False,
    is_read_in_part: False,
    closes: False,
    half_closes: False,
    resets: False,
}


@pytest.mark.parametrize("by", ["options", "poll", "select"])
@pytest.mark.parametrize("happens", QUIET, ids=lambda happens: happens.__name__)
def test_what_is_quiet(
    happens: Callable[[socket.socket, socket.socket], None], by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if by == "options" and sys.platform != "linux":
        pytest.skip("Linux's")
    if by != "options":
        monkeypatch.setattr(sys, "platform", "another")
    with connected() as (ours, theirs):
        if by == "select":
            monkeypatch.delattr(select, "poll")
        probe: Any = SocketProbe(ours)
        assert (probe._option is not None) == (by == "options")
        assert (probe._poll is not None) == (by != "select")
        assert probe.is_quiet()
        happens(ours, theirs)
        assert probe.is_quiet() == QUIET[happens]
        assert probe.is_readable(0.0) == (not QUIET[happens])


class WithoutOptions:
    """A socket of a system that counts otherwise, or doesn't count."""

    def __init__(self, connected: socket.socket, answer: bytes | None) -> None:
        self.fileno = connected.fileno
        self.answer = answer

    def getsockopt(self, level: int, option: int, buflen: int, /) -> bytes:
        if self.answer is None:
            raise OSError(92, "Protocol not available")
        return self.answer


@pytest.mark.parametrize("answer", [None, bytes(4)], ids=["refused", "another option"])
def test_a_system_without_the_options_is_polled(answer: bytes | None) -> None:
    with connected() as (ours, theirs):
        probe = SocketProbe(WithoutOptions(ours, answer))
        assert probe.is_quiet()
        leaves_unread(ours, theirs)
        assert not probe.is_quiet()


def test_a_descriptor_too_large_for_a_select_is_received_from(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuses(*_: object) -> None:
        raise ValueError("filedescriptor out of range in select()")

    monkeypatch.delattr(select, "poll")
    monkeypatch.setattr(select, "select", refuses)
    with connected() as (ours, theirs):
        connection = SocketConnection(ours, "", would_block_errors(None))
        connection.write(b"a request", 0.01, time.monotonic)
        with pytest.raises(AnswerLost, match=r"no whole answer in 0\.01 s"):
            connection.read(time.monotonic)
        connection = SocketConnection(ours, "", would_block_errors(None))
        connection.write(b"a request", 10.0, time.monotonic)
        theirs.sendall(http())
        assert connection.read(time.monotonic).body == b"{}"


@pytest.mark.parametrize("timeout", [1e12, float("inf")])
def test_an_answer_in_pieces_has_a_timeout_of_years(pair: Pair, timeout: float) -> None:
    ours, theirs = pair
    begun, rest = http()[:9], http()[9:]
    pieces = iter([begun, b"", rest])

    def monotonic() -> float:
        theirs.sendall(next(pieces))
        return 0.0

    ours.write(b"a request", timeout, time.monotonic)
    assert ours.read(monotonic).body == b"{}"


def test_a_timeout_of_years_is_a_long_wait() -> None:
    with connected() as (ours, theirs):
        leaves_unread(ours, theirs)
        assert SocketProbe(ours).is_readable(1e12)
