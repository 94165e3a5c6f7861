"""One engine a data file, found by everybody who wants the file; the data outlive it."""

from __future__ import annotations

import json
import os
import signal
import threading  # noqa: TID251  (the tests are about threads)
from pathlib import Path

import pytest

from singletable.errors import NotConfigured, Unavailable
from singletable_local import Engine, EngineTimeouts, is_healthy
from singletable_local.lock import DataLock, is_locked, lock_path, published_address
from singletable_local.polling import wait_until
from tests.engine.local.processes import (
    LONG_SECONDS,
    call,
    child_python,
    create_table,
    end,
    ends,
    line_of,
    processes_of_session,
    runs,
    session_of,
)

STARTER = """
import sys
from singletable_local import Engine
engine = Engine.start(sys.argv[1])
print(engine.pid, engine.owned, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data" / "app.db"


def test_the_file_and_its_directory_are_made(path: Path) -> None:
    with Engine.start(str(path)) as engine:
        assert path.is_file()
        assert engine.path == path


def test_the_lock_file_says_where_the_engine_is(path: Path) -> None:
    with Engine.start(path) as engine:
        said = json.loads(lock_path(path).read_text())
        supervisor = session_of(engine.pid)
    assert said == {"pid": supervisor, "directory": str(engine.directory), "url": engine.url}


def test_tables_outlive_the_engine(path: Path) -> None:
    with Engine.start(path) as engine:
        create_table(engine, "goals")
    with Engine.start(path) as engine:
        assert tables(engine) == ["goals"]


def test_a_second_start_in_the_process_attaches(path: Path) -> None:
    with Engine.start(path) as owner, Engine.start(path) as client:
        assert client.address == owner.address
        assert owner.owned
        assert not client.owned
        owner.stop()
        assert is_healthy(client)
        client.stop()
        assert not is_healthy(client)
        assert not is_locked(path)


def test_a_link_to_the_file_is_the_same_file(path: Path, tmp_path: Path) -> None:
    with Engine.start(path) as owner:
        (tmp_path / "link.db").symlink_to(path)
        assert Engine.start(tmp_path / "link.db").address == owner.address


def test_another_process_attaches_and_leaves_the_engine_running(path: Path) -> None:
    with Engine.start(path) as owner:
        other = child_python(STARTER, path)
        assert line_of(other) == f"{owner.pid} False"
        other.communicate()
        assert other.returncode == 0
        assert owner.alive


def test_after_a_stop_an_exposed_engine_starts_at_the_former_address(path: Path) -> None:
    with Engine.start(path, exposed=True) as first:
        pass
    assert not is_locked(path)
    with Engine.start(path, exposed=True) as second:
        assert second.owned
        assert second.pid != first.pid
        assert second.url == first.url


def test_an_isolated_engine_is_not_exposed_to_a_later_start(path: Path) -> None:
    with Engine.start(path) as engine:
        with pytest.raises(Unavailable, match=r"not exposed runs on .*start it exposed"):
            Engine.start(path, exposed=True)
        assert engine.alive


def test_a_lock_file_left_by_a_killed_owner_blocks_no_start(path: Path) -> None:
    owner = child_python(STARTER, path)
    pid = int(line_of(owner).split()[0])
    owner.kill()
    assert ends(pid)
    end(owner)
    assert wait_until(lambda: published_address(path) is None, LONG_SECONDS)
    with Engine.start(path) as engine:
        assert engine.owned


def test_what_a_killed_supervisor_left_is_no_obstacle(path: Path) -> None:
    first = Engine.start(path)
    create_table(first, "goals")
    os.killpg(session_of(first.pid), signal.SIGKILL)
    with Engine.start(path) as second:
        assert second.pid != first.pid
        assert tables(second) == ["goals"]
        assert not first.directory.exists()
    first.stop()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[]", '{"pid": 1, "directory": "/", "url": ""}', '{"pid": 77777, "directory": "a", "url": ""}', "null"],
)
def test_any_text_in_a_lock_file_blocks_no_start(path: Path, text: str) -> None:
    path.parent.mkdir()
    lock_path(path).write_text(text)
    with Engine.start(path) as engine:
        assert engine.owned


def test_the_lock_lives_as_long_as_the_engine_and_its_forked_users_dont_hold_it(path: Path) -> None:
    owner = child_python(
        """
import os, sys
from singletable_local import Engine
engine = Engine.start(sys.argv[1])
child = os.fork()
if child == 0:
    sys.stdin.read()
    os._exit(0)
print(engine.pid, child, flush=True)
engine.stop()
print("stopped", flush=True)
os.waitpid(child, 0)
""",
        path,
    )
    _, child = map(int, line_of(owner).split())
    assert line_of(owner) == "stopped"
    assert runs(child)
    assert not is_locked(path)
    os.kill(child, signal.SIGKILL)
    end(owner)


def test_only_the_engine_and_its_supervisor_hold_the_lock(path: Path) -> None:
    with Engine.start(path) as engine:
        processes = processes_of_session(session_of(engine.pid))
        assert len(processes) == 2
        assert [pid for pid in (*processes, os.getpid()) if has_open(pid, lock_path(path))] == processes


def test_a_child_forked_while_the_lock_is_taken_doesnt_hold_it(path: Path) -> None:
    forker = child_python(
        r"""
import os, sys
from pathlib import Path
from singletable_local.lock import DataLock
with DataLock.acquire(Path(sys.argv[1])):
    child = os.fork()
    if child == 0:
        os.write(1, b"forked\n")  # by now it has let go of what it was not to keep
        sys.stdin.read()
        os._exit(0)
os.write(1, b"%d\n" % child)
os.waitpid(child, 0)
""",
        path,
    )
    said = {line_of(forker), line_of(forker)}
    child = int(next(iter(said - {"forked"})))
    assert runs(child)
    assert not is_locked(path)
    end(forker)
    assert ends(child)


def test_many_threads_get_the_same_engine(path: Path) -> None:
    engines = started_at_once(path, 16)
    assert len({engine.address for engine in engines}) == 1
    assert [engine.owned for engine in engines].count(True) == 1
    for engine in engines:
        engine.stop()


def test_many_processes_get_the_same_engine(path: Path) -> None:
    children = [child_python(STARTER, path) for _ in range(6)]
    said = [line_of(child).split() for child in children]
    assert len({pid for pid, _ in said}) == 1
    assert sorted(owned for _, owned in said) == ["False"] * 5 + ["True"]
    for child in children:
        end(child)


def test_a_start_that_hasnt_said_its_address_is_waited_for(path: Path) -> None:
    lock = DataLock.acquire(path)
    assert lock is not None
    got: list[Engine] = []
    waiter = threading.Thread(target=lambda: got.append(Engine.start(path)))
    waiter.start()
    waiter.join(0.1)
    assert waiter.is_alive()
    lock.close()
    waiter.join()
    with got[0] as engine:
        assert engine.owned


def test_a_holder_that_never_answers_is_an_error(path: Path) -> None:
    lock = DataLock.acquire(path)
    assert lock is not None
    with lock, pytest.raises(Unavailable, match=r"another process has .* no engine answers") as caught:
        Engine.start(path, timeouts=EngineTimeouts(ready_seconds=0.2))
    assert str(lock_path(path)) in caught.value.hint


def test_an_address_of_a_process_without_the_lock_is_not_believed(path: Path, tmp_path: Path) -> None:
    lock = DataLock.acquire(path)
    assert lock is not None
    with lock, Engine.start(tmp_path / "other.db") as stranger:
        lock.publish(stranger.address)
        assert published_address(path) is None


def test_a_directory_that_cant_be_made_is_an_error_that_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(NotConfigured, match=r"can't be written.*Give the data file a path"):
        Engine.start(tmp_path / "file" / "app.db")


def test_a_live_process_counts_as_owner_where_descriptors_are_hidden(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("singletable_local.lock._PROCESSES", path / "none")
    with Engine.start(path) as owner:
        assert published_address(path) == owner.address
        assert Engine.start(path).address == owner.address


def test_an_attached_engine_outlives_the_one_who_started_it(path: Path) -> None:
    owner = child_python(STARTER, path)
    line_of(owner)
    with Engine.start(path) as client:
        end(owner)
        assert not wait_until(lambda: not client.alive, 0.3)
        assert runs(client.pid)
    assert ends(client.pid)


def started_at_once(path: Path, count: int) -> list[Engine]:
    engines: list[Engine] = []
    barrier = threading.Barrier(count)

    def start() -> None:
        barrier.wait()
        engines.append(Engine.start(path))

    threads = [threading.Thread(target=start) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(engines) == count
    return engines


def has_open(pid: int, file: Path) -> bool:
    return any(link.samefile(file) for link in Path(f"/proc/{pid}/fd").iterdir() if link.exists())


def tables(engine: Engine) -> list[str]:
    names: list[str] = call(engine, "ListTables", {})["TableNames"]
    return names
