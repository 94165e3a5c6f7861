"""A provider that answers in drips holds a worker no longer than it may: over HTTP, TLS and SMTP, wherever it drips."""

from __future__ import annotations

import itertools
import socket
import ssl
import time
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

import pytest
import trustme

from examples.manhunt.tests.test_notifiers import message
from examples_shared.deadline import MAX_READ_BYTES, Deadline
from manhunt.errors import Rejected, Unanswered, Undeliverable
from manhunt.notifiers import MailServer, SmtpNotifier
from manhunt.notifiers.posting import post

SECONDS = 0.4
"""For the whole call; a drip comes before each `recv` would give up."""
DRIP_SECONDS = 0.1
MOST_SECONDS = 8.0
"""On a machine that does much else; a call that only each `recv` ends takes the dripper's patience."""
PATIENCE_SECONDS = 20.0

Talk = Callable[[socket.socket], Iterable[bytes]]
OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def dripping(talk: Talk) -> Generator[int, None, None]:
    """A server that says what `talk` gives, a piece each tenth of a second, for as long as somebody is there."""

    def serve() -> None:
        with suppress(OSError):
            came, _ = listening.accept()
            with came:
                until = time.monotonic() + PATIENCE_SECONDS
                for piece in talk(came):
                    came.sendall(piece)
                    came.settimeout(DRIP_SECONDS)
                    with suppress(TimeoutError):
                        if not came.recv(65536) or time.monotonic() > until:
                            return

    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as beside:
        beside.submit(serve)
        yield listening.getsockname()[1]


def asked(came: socket.socket) -> None:
    """Waits for the request."""
    came.settimeout(PATIENCE_SECONDS)
    came.recv(65536)


def body(came: socket.socket) -> Iterable[bytes]:
    asked(came)
    yield OK + b"Content-Length: 60000\r\n\r\n"
    yield from itertools.repeat(b"x")


def header(came: socket.socket) -> Iterable[bytes]:
    asked(came)
    yield OK + b"X-Long: "
    yield from itertools.repeat(b"x")


def status_line(came: socket.socket) -> Iterable[bytes]:
    asked(came)
    yield from itertools.chain([b"HTTP/1.1 200 "], itertools.repeat(b"O"))


def not_yet(came: socket.socket) -> Iterable[bytes]:
    """`100 Continue`, without end."""
    asked(came)
    yield from itertools.repeat(b"HTTP/1.1 100 Continue\r\n\r\n")


def greeting(came: socket.socket) -> Iterable[bytes]:
    yield from itertools.chain([b"220-hello"], itertools.repeat(b"o"))


def many_lines(came: socket.socket) -> Iterable[bytes]:
    yield from itertools.repeat(b"220-hello\r\n")


def took(call: Callable[[], object], error: type[Exception]) -> float:
    began = time.monotonic()
    with pytest.raises(Undeliverable) as raised:
        call()
    assert raised.type is error, raised.value
    return time.monotonic() - began


@pytest.mark.parametrize("talk", [body, header, status_line, not_yet])
def test_a_webhook_that_drips(talk: Talk) -> None:
    with dripping(talk) as port:
        url = f"http://127.0.0.1:{port}/"
        assert took(lambda: post(url, b"{}", {}, SECONDS, private=True), Unanswered) < MOST_SECONDS


def test_a_handshake_that_drips() -> None:
    """A record of 16 kB is announced, and comes a byte at a time."""
    with dripping(lambda came: itertools.chain([b"\x16\x03\x03\x40\x00\x02"], itertools.repeat(b"x"))) as port:
        url = f"https://127.0.0.1:{port}/"
        assert took(lambda: post(url, b"{}", {}, SECONDS, private=True), Undeliverable) < MOST_SECONDS


@pytest.mark.parametrize("talk", [greeting, many_lines])
def test_a_mail_server_that_drips(talk: Talk) -> None:
    with dripping(talk) as port:
        mail = SmtpNotifier(MailServer("127.0.0.1", port, timeout_seconds=SECONDS), "a@example.org")
        assert took(lambda: mail(message("ada@example.org")), Undeliverable) < MOST_SECONDS


def test_a_flood_is_not_read() -> None:
    sent: list[int] = []

    def flood(came: socket.socket) -> Iterable[bytes]:
        asked(came)
        for _ in range(2000):
            sent.append(65536)
            yield b"HTTP/1.1 100 Continue\r\n\r\n" * 2600

    with dripping(flood) as port:
        url = f"http://127.0.0.1:{port}/"
        assert took(lambda: post(url, b"{}", {}, 30, private=True), Unanswered) < 30
    assert sum(sent) < 8 * MAX_READ_BYTES, "what the sockets hold, and no more"


def test_a_webhook_over_tls_works_within_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(server)

    def with_authority() -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        authority.configure_trust(context)
        return context

    def talk(came: socket.socket) -> Iterable[bytes]:
        with server.wrap_socket(came, server_side=True) as encrypted:
            received = b""
            while not received.endswith(b"{}!"):
                received += encrypted.recv(65536)
            assert b"Host: 127.0.0.1:" in received
            encrypted.sendall(OK + b"X-Request-Id: r1\r\nContent-Length: 2\r\n\r\nok")
        return ()

    monkeypatch.setattr(ssl, "create_default_context", with_authority)
    with dripping(talk) as port:
        reply = post(f"https://127.0.0.1:{port}/", b"{}" * 200_000 + b"!", {}, 30, private=True)
    assert (reply.status, reply.body, reply.request_id) == (200, b"ok", "r1")


def test_a_name_that_is_none_is_refused_for_good() -> None:
    for host in ("a..b", "x" * 70):
        with pytest.raises(Rejected, match="name of a host"):
            post(f"http://{host}/", b"", {}, 5, private=True)


def test_a_deadline_is_told_by_the_clock_it_is_given() -> None:
    now = 100.0
    deadline = Deadline(5, clock=lambda: now)
    now = 104.0
    assert deadline.left() == 1
    now = 105.0
    with pytest.raises(TimeoutError):
        deadline.left()
