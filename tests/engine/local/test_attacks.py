"""Nobody but its user reaches an engine: not another user of the machine, not a web page, not who scans its ports."""

from __future__ import annotations

import contextlib
import os
import socket
import stat
import struct
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from singletable.errors import Unavailable
from singletable_local import Engine, is_healthy
from singletable_local.engine import ISOLATIONS
from singletable_local.isolation import Filter
from tests.engine.local.processes import (
    LONG_SECONDS,
    answer_of,
    ask,
    child_python,
    create_table,
    line_of,
    post,
    request,
    session_of,
)

NOBODY = 65534
CLOSED = [isolation for isolation in ISOLATIONS if isolation != "hidden"]
"""The isolations that keep everybody out."""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")


@pytest.fixture(params=CLOSED)
def engine(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    """Behind each of the isolations, on a file in a directory that anybody may enter."""
    for directory in (tmp_path, *tmp_path.parents[:2]):
        directory.chmod(0o755)
    with monkeypatch.context() as patched:
        patched.setattr("singletable_local.engine.ISOLATIONS", (request.param,))
        try:
            made = Engine.start(tmp_path / "app.db")
        except Unavailable as error:
            pytest.skip(f"not on this system: {error}")
    with made:
        assert made.isolation == request.param
        yield made


def test_the_default_is_no_weaker_than_what_this_system_allows(engine: Engine) -> None:
    with Engine.start() as private:
        assert ISOLATIONS.index(private.isolation) <= ISOLATIONS.index(engine.isolation)


LISTENS = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
input()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the filter is Linux's")
def test_a_python_that_was_built_on_an_old_linux_isolates_as_well(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has no os.pidfd_open."""
    monkeypatch.delattr(os, "pidfd_open", raising=False)
    with child_python(LISTENS) as child:
        port = int(line_of(child))
        isolation = Filter()
        assert isolation.isolate(child.pid, "127.0.0.1", port)
        with pytest.raises(TimeoutError):
            socket.create_connection(("127.0.0.1", port), timeout=0.2)
        child.kill()
        assert isolation._listener is not None
        isolation._listener.close()
        os.close(isolation._process)


def test_no_port_of_this_machine_answers_as_an_engine(engine: Engine) -> None:
    create_table(engine, "hidden-goals")
    with Engine.start(exposed=True) as open_one:
        create_table(open_one, "open-goals")
        said = [tables_at(at) for at in listeners()]
    assert any(b"open-goals" in each for each in said)  # so that this way it would be found
    assert not any(b"hidden-goals" in each for each in said)


def test_a_page_in_a_browser_finds_no_port(engine: Engine) -> None:
    """It speaks HTTP over TCP, whatever the origin, the host and the preflight: there is no such address."""
    assert urlsplit(engine.url).scheme == "unix"
    for host, port in engine_ports(engine):
        with pytest.raises(OSError, match=r"refused|timed out"):
            socket.create_connection((host, port), 0.3).close()


@needs_root
def test_another_user_gets_neither_a_connection_nor_a_hold(engine: Engine) -> None:
    def connect_to(name: str) -> str:
        with socket.socket(socket.AF_UNIX) as line:
            line.connect(f"{engine.directory}/{name}")
            return line.recv(64).decode()

    assert as_nobody(lambda: connect_to("engine.sock")).startswith("PermissionError")
    assert as_nobody(lambda: connect_to("holders.sock")).startswith("PermissionError")
    assert as_nobody(lambda: str(os.listdir(engine.directory))).startswith("PermissionError")


@needs_root
def test_another_user_cant_get_at_the_engines_process(engine: Engine) -> None:
    def peek() -> str:
        return os.readlink(f"/proc/{engine.pid}/fd/0") + os.readlink(f"/proc/{session_of(engine.pid)}/fd/0")

    assert as_nobody(peek).startswith("PermissionError")


@needs_root
def test_another_user_reads_none_of_the_files(engine: Engine, tmp_path: Path) -> None:
    ask(engine, "ListTables", b"{}")
    files = [path for path in tmp_path.iterdir() if path.is_file()]
    assert {path.name for path in files} >= {"app.db", "app.db-wal", "app.db-shm", "app.db.lock"}
    told = as_nobody(lambda: "\n".join(map(attempt, files))).splitlines()
    assert len(told) == len(files)
    assert all(line.startswith("PermissionError") for line in told)


@needs_root
def test_another_user_of_the_same_file_gets_its_owners_name(engine: Engine) -> None:
    told = as_nobody(lambda: repr(Engine.start(engine.path)))
    assert told.startswith("NotConfigured") or "lock file can't be written" in told


def test_the_sockets_are_their_users_only(engine: Engine) -> None:
    for name in ("engine.sock", "holders.sock"):
        found = (engine.directory / name).stat()
        assert stat.S_ISSOCK(found.st_mode)
        assert stat.S_IMODE(found.st_mode) == 0o600
    assert stat.S_IMODE(engine.directory.stat().st_mode) == 0o700


def test_silent_connections_block_no_other_process(engine: Engine) -> None:
    idle = [connection_to(engine) for _ in range(50)]
    half = [connection_to(engine) for _ in range(50)]
    requested = [engine.request_connection() for _ in range(50)]
    for connection in half:
        connection.sendall(request("ListTables", b"{}" * 100)[:-1])
    status, body = ask(engine, "ListTables", b"{}")
    for connection in (*idle, *half, *requested):
        connection.close()
    assert (status, body) == (200, b'{"TableNames":[]}')
    assert is_healthy(engine)


def test_what_is_sent_to_the_socket_changes_nothing(engine: Engine) -> None:
    with engine.request_connection() as client:
        client.settimeout(LONG_SECONDS)
        with contextlib.suppress(BrokenPipeError):  # it was answered and closed meanwhile
            client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\nrelease end \0\xff" * 100)
        connection, _ = engine.receive_connection(client)
        connection.close()
    assert is_healthy(engine)


def test_a_connection_stays_with_who_got_it(engine: Engine) -> None:
    """Two that ask concurrently get one each, and each its own answers."""
    first, second = connection_to(engine), connection_to(engine)
    with first, second:
        first.sendall(request("ListTables", b"{}"))
        assert post(second, "DescribeTable", b'{"TableName": "none"}')[0] == 400
        assert answer_of(first) == (200, b'{"TableNames":[]}')


def test_what_an_exposed_engine_is_open_to_is_what_the_others_are_not(tmp_path: Path) -> None:
    """The attacks work where nothing stands before the engine: those above could have succeeded."""
    with Engine.start(tmp_path / "app.db", exposed=True) as engine:
        at = urlsplit(engine.url)
        with socket.create_connection((at.hostname or "", at.port or 0), LONG_SECONDS) as connection:
            origin = {"Origin": "https://page.example", "Host": "page.example"}
            assert post(connection, "ListTables", b"{}", **origin) == (200, b'{"TableNames":[]}')


def connection_to(engine: Engine) -> socket.socket:
    with engine.request_connection() as client:
        client.settimeout(LONG_SECONDS)
        connection, _ = engine.receive_connection(client)
    connection.settimeout(LONG_SECONDS)
    return connection


def attempt(file: Path) -> str:
    try:
        return file.read_text(errors="replace")
    except OSError as error:
        return f"{type(error).__name__}: {error}"


def as_nobody(act: Callable[[], str]) -> str:
    """What another user gets who does this: its result, or the error's name and text."""
    ours, theirs = os.pipe()
    child = os.fork()
    if child == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        try:
            told = act()
        except Exception as error:
            told = f"{type(error).__name__}: {error}"
        os.write(theirs, told.encode())
        os._exit(0)
    os.close(theirs)
    with os.fdopen(ours, "rb") as pipe:
        told = pipe.read().decode()
    os.waitpid(child, 0)
    return told


def listeners() -> list[tuple[str, int]]:
    """Where somebody listens in this process's own network, by the kernel's table."""
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [address(row[1]) for row in rows if row[3] == "0A"]


def engine_ports(engine: Engine) -> list[tuple[str, int]]:
    """Where the engine listens in its own network."""
    mine = {os.readlink(link) for link in Path(f"/proc/{engine.pid}/fd").iterdir() if link.is_symlink()}
    rows = [line.split() for line in Path(f"/proc/{engine.pid}/net/tcp").read_text().splitlines()[1:]]
    return [address(row[1]) for row in rows if row[3] == "0A" and f"socket:[{row[9]}]" in mine]


def address(text: str) -> tuple[str, int]:
    host, port = text.split(":")
    return socket.inet_ntoa(struct.pack("=I", int(host, 16))), int(port, 16)


def tables_at(at: tuple[str, int]) -> bytes:
    """What is answered there to who asks for tables; nothing by what is not an engine."""
    try:
        with socket.create_connection(at, 0.5) as connection:
            connection.settimeout(1.0)
            connection.sendall(request("ListTables", b"{}"))
            return connection.recv(1 << 16)
    except OSError:
        return b""
