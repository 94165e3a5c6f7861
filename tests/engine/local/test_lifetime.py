"""An engine lives as long as the process that started it, and no longer."""

from __future__ import annotations

import gc
import os
import signal
import socket
import stat
import threading  # noqa: TID251  (the tests are about threads)
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from msgspec.structs import replace

from singletable import connect
from singletable.errors import NotConfigured, Unavailable
from singletable_local import Engine, EngineTimeouts, find_engine, is_healthy
from singletable_local.polling import wait_until
from tests.engine.local.processes import (
    LONG_SECONDS,
    child_python,
    end,
    ends,
    epoch_of,
    line_of,
    processes_of_session,
    runs,
    session_of,
)

OWNER = """
import sys
from singletable_local import Engine
engine = Engine.start(sys.argv[1] if sys.argv[1:] else None)
print(engine.pid, flush=True)
sys.stdin.read()
"""


def test_an_engine_answers_and_stops() -> None:
    engine = Engine.start()
    session = session_of(engine.pid)
    assert engine.owned
    assert engine.url == f"unix://{engine.data.parent}/engine.sock"
    assert is_healthy(engine)

    engine.stop()
    engine.stop()

    assert not engine.alive
    assert not runs(engine.pid)
    assert not is_healthy(engine)
    assert wait_until(lambda: not processes_of_session(session), LONG_SECONDS)


def test_leaving_the_block_stops_it() -> None:
    with Engine.start() as engine:
        assert engine.alive
    assert not engine.alive


def test_each_engine_in_memory_is_another() -> None:
    with Engine.start() as one, Engine.start() as other:
        assert one.url != other.url


def test_the_last_reference_stops_it() -> None:
    engine = Engine.start()
    pid = engine.pid
    del engine
    gc.collect()
    assert not runs(pid)


def test_many_threads_stop_it_once() -> None:
    engine = Engine.start()
    threads = [threading.Thread(target=engine.stop) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not runs(engine.pid)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_a_killed_owner_takes_its_engine_along(how: signal.Signals) -> None:
    owner = child_python(OWNER)
    pid = int(line_of(owner))
    session = session_of(pid)
    assert runs(pid)
    owner.send_signal(how)
    assert ends(pid)
    assert wait_until(lambda: not processes_of_session(session), LONG_SECONDS)
    end(owner)


def test_an_owner_that_ends_takes_its_engine_along() -> None:
    owner = child_python(OWNER)
    pid = int(line_of(owner))
    owner.communicate()
    assert owner.returncode == 0
    assert not runs(pid)


def test_a_killed_owner_takes_its_engine_along_while_its_forked_child_lives() -> None:
    owner = child_python(
        """
import os, sys
from singletable_local import Engine
engine = Engine.start()
child = os.fork()
if child == 0:
    sys.stdin.read()
    os._exit(0)
print(engine.pid, child, flush=True)
os.waitpid(child, 0)
"""
    )
    pid, child = map(int, line_of(owner).split())
    owner.kill()
    assert ends(pid)
    assert runs(child)
    os.kill(child, signal.SIGKILL)
    end(owner)


def test_the_engine_survives_the_thread_that_started_it() -> None:
    started: list[Engine] = []
    thread = threading.Thread(target=lambda: started.append(Engine.start()))
    thread.start()
    thread.join()
    (engine,) = started
    with engine:
        assert not wait_until(lambda: not engine.alive, 0.2)
        assert is_healthy(engine)


def test_a_forked_child_uses_the_engine_and_leaves_it_running_at_its_exit() -> None:
    owner = child_python(
        """
import os, sys
from singletable_local import Engine
engine = Engine.start()
child = os.fork()
if child == 0:
    assert engine.alive and not engine.owned
    engine.stop()
    assert engine.alive
    sys.exit(3)
_, status = os.waitpid(child, 0)
print(os.waitstatus_to_exitcode(status), engine.alive and engine.owned, flush=True)
"""
    )
    assert line_of(owner) == "3 True"
    assert owner.wait() == 0
    end(owner)


def test_a_pool_of_forked_workers_leaves_the_engine_running() -> None:
    owner = child_python(
        """
import multiprocessing
from singletable_local import Engine
engine = Engine.start()
def ask(_): return engine.alive
with multiprocessing.get_context("fork").Pool(3) as pool:
    answers = pool.map(ask, range(9))
print(all(answers), engine.alive, flush=True)
"""
    )
    assert line_of(owner) == "True True"
    assert owner.wait() == 0
    end(owner)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_killed_supervisor_ends_its_engine(how: signal.Signals) -> None:
    engine = Engine.start()
    session = session_of(engine.pid)
    os.kill(session, how)
    assert ends(engine.pid)
    assert wait_until(lambda: not engine.alive, LONG_SECONDS)
    engine.stop()
    assert not engine.data.parent.exists()


@pytest.mark.parametrize("path", [None, "app.db"])
def test_a_killed_engine_is_started_again_for_who_comes_next(tmp_path: Path, path: str | None) -> None:
    with Engine.start(tmp_path / path if path else None) as engine:
        os.kill(engine.pid, signal.SIGKILL)
        assert ends(engine.pid)
        assert engine.alive
        assert wait_until(lambda: is_healthy(engine), LONG_SECONDS)


def test_each_start_of_an_engine_has_an_epoch_of_its_own() -> None:
    with Engine.start() as engine:
        before = {epoch_of(engine), epoch_of(engine)}
        os.kill(engine.pid, signal.SIGKILL)
        assert wait_until(lambda: epoch_of(engine) not in before, LONG_SECONDS)
    assert len(before) == 1


def test_an_engine_that_ends_while_a_connection_is_opened_is_started_again() -> None:
    """The supervisor's copy of the listening socket takes the connection of an engine that will never answer."""
    with Engine.start() as engine:
        before = epoch_of(engine)
        os.kill(engine.pid, signal.SIGSTOP)
        with engine.request_connection() as asking:
            wait_until(lambda: has_a_connection(engine.pid), LONG_SECONDS)
            os.kill(engine.pid, signal.SIGKILL)
            asking.settimeout(LONG_SECONDS)
            connection, epoch = engine.receive_connection(asking)
            connection.close()
    assert epoch != before


def has_a_connection(pid: int) -> bool:
    """Whether a connection waits at one of the sockets on which this process listens; true without such a table."""
    held = {os.readlink(link) for link in Path(f"/proc/{pid}/fd").iterdir() if link.is_symlink()}
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    mine = [row for row in rows if f"socket:[{row[9]}]" in held and row[3] == "0A"]
    return any(row[4].partition(":")[2] != "00000000" for row in mine) or not mine


def test_an_engine_that_cant_be_started_again_says_why(tmp_path: Path) -> None:
    environ = engine_script(
        tmp_path,
        f"""[ -e {tmp_path}/once ] && echo 'no room on the moon' && exit 7
touch {tmp_path}/once\nexec ENGINE "$@"\n""",
    )
    with Engine.start(environ=environ) as engine:
        os.kill(engine.pid, signal.SIGKILL)
        assert ends(engine.pid)
        with pytest.raises(OSError, match=r"ended with exit code 7.*no room on the moon"):
            epoch_of(engine)


def test_an_engine_deaf_to_sigterm_is_killed(tmp_path: Path) -> None:
    environ = engine_script(tmp_path, """trap '' TERM\nport=$5\nENGINE serve --port "$port"\n""")
    engine = Engine.start(environ=environ, timeouts=EngineTimeouts(stop_seconds=0.2))
    session = session_of(engine.pid)
    engine.stop()
    assert not runs(engine.pid)
    assert wait_until(lambda: not processes_of_session(session), LONG_SECONDS)


def test_an_engine_that_ends_at_once_is_an_error_with_what_it_said(tmp_path: Path) -> None:
    environ = engine_script(tmp_path, r"printf 'no room on the m\303\250re \377' >&2; exit 7")
    with pytest.raises(Unavailable, match=r"ended with exit code 7 before it answered\. no room on the mère \ufffd"):
        Engine.start(environ=environ)


def test_an_engine_that_keeps_silent_is_an_error_and_ended(tmp_path: Path) -> None:
    environ = engine_script(tmp_path, f"echo $$ > {tmp_path}/pid\necho thinking >&2\nexec sleep 100\n")
    with pytest.raises(Unavailable, match=r"did not answer within 0\.3 seconds\. thinking"):
        Engine.start(environ=environ, timeouts=EngineTimeouts(ready_seconds=0.3))
    assert ends(int((tmp_path / "pid").read_text()))


def test_a_file_that_is_no_database_is_an_error_with_what_the_engine_said(tmp_path: Path) -> None:
    path = tmp_path / "app.db"
    path.write_bytes(b"this is not a database" * 100)
    with pytest.raises(Unavailable, match="not a valid SQLite database"):
        Engine.start(path)
    assert path.read_bytes().startswith(b"this is")


def test_an_exposed_engine_takes_another_port_where_its_former_one_is_taken(tmp_path: Path) -> None:
    with Engine.start(tmp_path / "app.db", exposed=True) as first:
        at = urlsplit(first.url)
    with socket.create_server(("127.0.0.1", at.port or 0)), Engine.start(tmp_path / "app.db", exposed=True) as second:
        assert second.url != first.url
        assert urlsplit(second.url).hostname == "127.0.0.1"
        assert is_healthy(second)


def test_a_missing_engine_names_the_command_that_installs_it(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured, match="SINGLETABLE_ENGINE"):
        Engine.start(environ={"SINGLETABLE_ENGINE": str(tmp_path / "nothing")})


def test_the_engine_gets_none_of_the_credentials_in_the_environment() -> None:
    with Engine.start(environ={**os.environ, "AWS_SECRET_ACCESS_KEY": "secret"}) as engine:
        assert b"secret" not in Path(f"/proc/{engine.pid}/environ").read_bytes()


def engine_script(directory: Path, text: str) -> dict[str, str]:
    """An environment whose engine is a shell script; ENGINE in its text stands for the real one."""
    script = directory / "engine"
    script.write_text("#!/bin/sh\n" + text.replace("ENGINE", str(find_engine(os.environ))))
    script.chmod(script.stat().st_mode | stat.S_IXUSR)
    return {**os.environ, "SINGLETABLE_ENGINE": str(script)}


def test_by_its_address_an_engine_has_the_same_traits() -> None:
    with connect("local") as own, connect(own.target.endpoint.url) as other:
        assert other.port.traits == replace(
            own.port.traits,
            creates_tables=False,
            maintain_streams=None,
            wipe_deleted=None,
            data_file="",
            copy_data=None,
            held_copy=None,
        )
        assert other.port.traits.segments_shift
