"""Isolation: keeps other users from an engine, which answers every connection to its port.

An `Isolation` says at which addresses to start the engine, isolates it once it listens, and opens the connections that
the supervisor hands out. The kinds, the strongest first:

`filter`: the engine's listening socket drops all packets but those of the connection that the supervisor is opening,
which has a copy of the socket. Linux 5.6 and later, if a process may read its child's descriptors.

`hidden`: only an address that is hard to guess: any of 127.0.0.0/8 and any port on Linux, a random port of 127.0.0.1
elsewhere. A program of the same machine that scans for it finds it.

`exposed` is not isolated, and must be asked for: 127.0.0.1 and a port, for tools that can't use a Unix socket.
"""

from __future__ import annotations

import _socket as sockets
import os
import select
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LOOPBACK = "127.0.0.1"
_TRIES = 8
_ANSWER_SECONDS = 2.0

_PR_SET_PDEATHSIG = 1
_PIDFD_OPEN, _PIDFD_GETFD = 434, 438
_SO_ATTACH_FILTER = 26
_SIGKILL = 9


class Isolation:
    """The common part, and the weakest kind: every process that knows the address can reach the engine."""

    name = "hidden"
    url = ""
    """The HTTP address of an exposed engine; else empty."""

    def __init__(self) -> None:
        self.host, self.port = "", 0

    def addresses(self) -> Iterator[tuple[str, int]]:
        """The addresses where the engine may listen; the next is tried if another program has taken one."""
        for _ in range(_TRIES):
            host = _any_loopback()
            yield host, _free_port(host)

    def isolate(self, pid: int, host: str, port: int) -> bool:
        """Isolate the engine, which listens now. False if another process has connected before. Raises OSError."""
        self.host, self.port = host, port
        return True

    def connect(self) -> sockets.socket:
        """A connection to the engine. Raises OSError."""
        connection = sockets.socket()
        try:
            connection.settimeout(_ANSWER_SECONDS)
            connection.connect((self.host, self.port))
        except BaseException:
            connection.close()
            raise
        return connection


class Exposed(Isolation):
    name = "exposed"

    def __init__(self, port: int) -> None:
        super().__init__()
        self._wanted = port

    def addresses(self) -> Iterator[tuple[str, int]]:
        if self._wanted:
            yield _LOOPBACK, self._wanted
        for _ in range(_TRIES):
            yield _LOOPBACK, _free_port(_LOOPBACK)

    def isolate(self, pid: int, host: str, port: int) -> bool:
        self.url = f"http://{host}:{port}"
        self._wanted = port  # the same port after a restart
        return super().isolate(pid, host, port)


class Filter(Isolation):
    """The engine's own listening socket drops all packets that don't come from the supervisor."""

    name = "filter"

    def __init__(self) -> None:
        super().__init__()
        self._listener: sockets.socket | None = None
        self._process = -1
        """A descriptor of the engine's process. The copied socket takes connections after the engine has ended, too."""

    def isolate(self, pid: int, host: str, port: int) -> bool:
        super().isolate(pid, host, port)
        self._let_go()
        self._process = _libc("syscall", _PIDFD_OPEN, pid, 0)  # a Python built on an old Linux lacks os.pidfd_open
        self._listener = _listener_of(pid, self._process, host, port)
        _attach(self._listener, _DROP_ALL)
        return not _has_connections(host, port)

    def _let_go(self) -> None:
        """Close what is held of the engine before: once, as its numbers go to others."""
        process, self._process = self._process, -1
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()
        if process >= 0:
            os.close(process)

    def connect(self) -> sockets.socket:
        """From a fresh address, which the filter lets pass until the connection is established.

        A request is sent before the filter closes again: its answer proves that the connection was accepted.
        """
        if self._listener is None:
            raise ConnectionRefusedError("the engine is not isolated")  # so it is started again
        connection = sockets.socket()
        try:
            connection.settimeout(_ANSWER_SECONDS)
            connection.bind((_any_loopback(), 0))
            _attach(self._listener, _drop_all_but(*connection.getsockname()))
            connection.connect((self.host, self.port))
            _ask(connection, self._process)
        except BaseException:
            connection.close()
            raise
        finally:
            _attach(self._listener, _DROP_ALL)
        return connection


def isolations_named(names: Sequence[str], *, port: int = 0) -> Iterator[Isolation]:
    """The kinds to try that this system may offer, in this order. `port` is that of an exposed engine."""
    kinds: dict[str, Callable[[], Isolation]] = {"hidden": Isolation, "exposed": lambda: Exposed(port)}
    if sys.platform == "linux":
        kinds["filter"] = Filter
    return (kinds[name]() for name in names if name in kinds)


def die_with_parent() -> None:
    """On Linux, this process gets SIGKILL when its parent ends."""
    if sys.platform == "linux":
        _libc("prctl", _PR_SET_PDEATHSIG, _SIGKILL, 0, 0, 0)


def _any_loopback() -> str:
    if sys.platform != "linux":
        return _LOOPBACK
    one, two, three = os.urandom(3)
    return f"127.{one}.{two}.{max(1, min(three, 254))}"


def _free_port(host: str) -> int:
    probe = sockets.socket()
    probe.bind((host, 0))
    port: int = probe.getsockname()[1]
    probe.close()
    return port


def _libc(function: str, *arguments: int) -> int:
    """Call a function of the C library that Python doesn't offer. Raises OSError."""
    import ctypes  # noqa: PLC0415 some builds of Python lack it

    library = ctypes.CDLL(None, use_errno=True)
    found: Callable[..., int] = getattr(library, function)
    result = found(*map(ctypes.c_long, arguments))
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


# Classic BPF: (operation, jump if true, jump if false, operand).
_DROP_ALL = ((0x06, 0, 0, 0),)
_TAKE = (0x06, 0, 0, 0x40000)
_IP_HEADER = 0xFFF00000


def _drop_all_but(host: str, port: int) -> tuple[tuple[int, int, int, int], ...]:
    """A filter that passes packets from one address and port only; it begins at the TCP header."""
    (address,) = struct.unpack("!I", sockets.inet_aton(host))
    return (
        (0x20, 0, 0, _IP_HEADER + 12),
        (0x15, 0, 3, address),
        (0x28, 0, 0, 0),
        (0x15, 0, 1, port),
        _TAKE,
        *_DROP_ALL,
    )


def _attach(listener: sockets.socket, program: tuple[tuple[int, int, int, int], ...]) -> None:
    """Replace the socket's filter. Accepted connections keep the filter that they were accepted under."""
    import ctypes  # noqa: PLC0415 as in _libc

    text = b"".join(struct.pack("HBBI", *step) for step in program)
    held = ctypes.create_string_buffer(text, len(text))
    listener.setsockopt(sockets.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(held)))


def _listener_of(pid: int, process: int, host: str, port: int) -> sockets.socket:
    """A copy of the socket on which the process listens at this address. Raises OSError."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
            continue
        copy = sockets.socket(fileno=_libc("syscall", _PIDFD_GETFD, process, int(name), 0))
        if copy.family == sockets.AF_INET and copy.getsockname() == (host, port):
            return copy
        copy.close()
    raise OSError(f"process {pid} doesn't listen on {host}:{port}")


def _has_connections(host: str, port: int) -> bool:
    (address,) = struct.unpack("=I", sockets.inet_aton(host))
    here = f"{address:08X}:{port:04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return any(row[1] == here and row[3] != "0A" for row in rows)


def _ask(connection: sockets.socket, process: int) -> None:
    """Send a request and wait for its answer. Raises ConnectionRefusedError if the process has ended, OSError."""
    connection.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    ready = select.poll()
    ready.register(connection, select.POLLIN)
    ready.register(process, select.POLLIN)
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        descriptors = {descriptor for descriptor, _ in ready.poll(_ANSWER_SECONDS * 1000)}
        if process in descriptors:
            raise ConnectionRefusedError("the engine has ended")
        part = connection.recv(4096) if descriptors else b""
        if not part:
            raise OSError("the engine doesn't answer")
        answer += part
