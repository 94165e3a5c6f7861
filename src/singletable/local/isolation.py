"""What keeps everybody but the keeper from an engine, which itself answers whoever reaches its port.

A wall says at which addresses to try the engine, stands before it once it listens, and makes the connections that the
keeper hands out. In the order of their strength:

`namespace`: the engine runs in a network of its own, whose loopback nobody else is on. Linux, where a process may make
a user namespace (or is root).

`filter`: the engine's listening socket, of which the keeper takes a copy, drops all packets but those of the one
connection that the keeper is making. Linux 5.6 and later, where a process may look into its own child.

`hidden`: nothing but an address that is hard to guess: any of 127.0.0.0/8 and any port on Linux, a random port of
127.0.0.1 elsewhere. A program of the same machine that looks for it finds it.

`exposed` is what somebody asks for by name: 127.0.0.1 and a port, for tools that know nothing of doors.
"""

from __future__ import annotations

import _socket as sockets
import os
import struct
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_LOOPBACK = "127.0.0.1"
_TRIES = 8
_ANSWER_SECONDS = 2.0

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000
_SIOCSIFFLAGS, _IFF_UP = 0x8914, 1
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_PIDFD_GETFD = 438
_SO_ATTACH_FILTER = 26
_SIGKILL = 9


class Wall:
    """The common part: an engine that anybody may reach who knows where."""

    name = "hidden"
    url = ""
    """Where tools that know nothing of doors reach the engine; empty where they can't."""

    def __init__(self) -> None:
        self.host, self.port = "", 0

    def raise_up(self) -> None:
        """What is needed before the engine starts. Raises OSError where it can't be had."""

    def addresses(self) -> Iterator[tuple[str, int]]:
        """Where the engine may listen; the next where somebody else was quicker."""
        for _ in range(_TRIES):
            host = _any_loopback()
            yield host, _free_port(host)

    def stand(self, pid: int, host: str, port: int) -> bool:
        """Close the way to the engine that listens now; False where somebody came through before. Raises OSError."""
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


class Exposed(Wall):
    name = "exposed"

    def __init__(self, port: int) -> None:
        super().__init__()
        self._wanted = port

    def addresses(self) -> Iterator[tuple[str, int]]:
        if self._wanted:
            yield _LOOPBACK, self._wanted
        for _ in range(_TRIES):
            yield _LOOPBACK, _free_port(_LOOPBACK)

    def stand(self, pid: int, host: str, port: int) -> bool:
        self.url = f"http://{host}:{port}"
        self._wanted = port  # after a restart at the same place
        return super().stand(pid, host, port)


class Namespace(Wall):
    """A network that consists of this process and its children."""

    name = "namespace"

    def raise_up(self) -> None:
        """Tried in a child first: some systems give a network and then refuse to let it work, and none leads back."""
        _on_linux()
        child = os.fork()
        if child == 0:
            try:
                self._enter()
                self._reach_oneself()
                os._exit(0)
            finally:
                os._exit(1)
        if os.waitpid(child, 0)[1]:
            raise OSError("this system has no network namespace for this process")
        self._enter()

    def _enter(self) -> None:
        try:
            _libc("unshare", _CLONE_NEWNET)
        except PermissionError:
            _libc("unshare", _CLONE_NEWUSER | _CLONE_NEWNET)
        # A process in another user namespace looks to its own user like somebody else's, unless it says otherwise.
        _libc("prctl", _PR_SET_DUMPABLE, 1, 0, 0, 0)
        import fcntl  # noqa: PLC0415 only here

        network = sockets.socket()
        fcntl.ioctl(network.fileno(), _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))
        network.close()

    def _reach_oneself(self) -> None:
        listener, guest = sockets.socket(), sockets.socket()
        listener.bind((_LOOPBACK, 0))
        listener.listen()
        guest.settimeout(_ANSWER_SECONDS)
        guest.connect(listener.getsockname())

    def addresses(self) -> Iterator[tuple[str, int]]:
        yield _LOOPBACK, _free_port(_LOOPBACK)


class Filter(Wall):
    """The engine's own listening socket drops what doesn't come from the keeper."""

    name = "filter"

    def __init__(self) -> None:
        super().__init__()
        self._listener: sockets.socket | None = None

    def raise_up(self) -> None:
        _on_linux()

    def stand(self, pid: int, host: str, port: int) -> bool:
        super().stand(pid, host, port)
        if self._listener is not None:
            self._listener.close()
        self._listener = _listener_of(pid, host, port)
        _attach(self._listener, _DROP_ALL)
        return not _has_connections(host, port)

    def connect(self) -> sockets.socket:
        """From an address of its own, which the filter lets pass until the connection stands.

        It is asked something before the filter closes again: only what answers has come through.
        """
        assert self._listener is not None
        connection = sockets.socket()
        try:
            connection.settimeout(_ANSWER_SECONDS)
            connection.bind((_any_loopback(), 0))
            _attach(self._listener, _drop_all_but(*connection.getsockname()))
            connection.connect((self.host, self.port))
            _ask(connection)
        except BaseException:
            connection.close()
            raise
        finally:
            _attach(self._listener, _DROP_ALL)
        return connection


def walls_named(names: Sequence[str], *, port: int = 0) -> Iterator[Wall]:
    """The walls to try, in this order. `port` is where an exposed engine listens if it can."""
    kinds: dict[str, Callable[[], Wall]] = {
        "namespace": Namespace,
        "filter": Filter,
        "hidden": Wall,
        "exposed": lambda: Exposed(port),
    }
    return (kinds[name]() for name in names)


def die_with_parent() -> None:
    """This process gets SIGKILL when its parent ends; on Linux."""
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


def _on_linux() -> None:
    if sys.platform != "linux":
        raise OSError("this needs Linux")


def _libc(function: str, *arguments: int) -> int:
    """Call a function of the C library that Python has no name for. Raises OSError."""
    import ctypes  # noqa: PLC0415 to go on without it where it is missing

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
    """A filter that lets packets from one address and port pass; it begins at the TCP header."""
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
    """Replaces the socket's filter; connections that it has accepted keep the one they came with."""
    import ctypes  # noqa: PLC0415 as in _libc

    text = b"".join(struct.pack("HBBI", *step) for step in program)
    held = ctypes.create_string_buffer(text, len(text))
    listener.setsockopt(sockets.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HP", len(program), ctypes.addressof(held)))


def _listener_of(pid: int, host: str, port: int) -> sockets.socket:
    """A copy of the socket on which the process listens there. Raises OSError."""
    process = os.pidfd_open(pid)
    try:
        for name in os.listdir(f"/proc/{pid}/fd"):
            if not os.readlink(f"/proc/{pid}/fd/{name}").startswith("socket:"):
                continue
            copy = sockets.socket(fileno=_libc("syscall", _PIDFD_GETFD, process, int(name), 0))
            if copy.family == sockets.AF_INET and copy.getsockname() == (host, port):
                return copy
            copy.close()
    finally:
        os.close(process)
    raise OSError(f"process {pid} doesn't listen on {host}:{port}")


def _has_connections(host: str, port: int) -> bool:
    (address,) = struct.unpack("=I", sockets.inet_aton(host))
    here = f"{address:08X}:{port:04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table][1:]
    return any(row[1] == here and row[3] != "0A" for row in rows)


def _ask(connection: sockets.socket) -> None:
    connection.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        part = connection.recv(4096)
        if not part:
            raise OSError("the engine closed the connection")
        answer += part
