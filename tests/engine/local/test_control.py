"""An engine that outlives who started it: start, status, stop, reset."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from singletable.errors import Unavailable
from singletable_local import Engine, EngineTimeouts, control
from singletable_local.lock import DataLock, is_locked, lock_path
from singletable_local.polling import wait_until
from tests.engine.local.processes import LONG_SECONDS, child_python, end, ends, line_of, runs


@pytest.fixture
def path(tmp_path: Path) -> Iterator[Path]:
    data = tmp_path / "data" / "app.db"
    yield data
    control.stop(data)


def test_a_detached_engine_outlives_who_started_it(path: Path) -> None:
    starter = child_python(
        "import sys\nfrom singletable_local import control\nprint(control.start(sys.argv[1]).address.pid, flush=True)",
        path,
    )
    pid = int(line_of(starter))
    starter.communicate()
    assert starter.returncode == 0
    assert runs(pid)
    assert control.status(path).healthy


def test_status_reports_a_running_engine(path: Path) -> None:
    started = control.start(path)
    assert started.address is not None
    assert started.healthy
    assert started.path == path
    assert started.size_bytes > 0
    assert control.status(str(path)).address == started.address


def test_status_of_nothing_makes_nothing(path: Path) -> None:
    status = control.status(path)
    assert status == control.Status(path=path, size_bytes=0, address=None, healthy=False)
    assert not path.parent.exists()


def test_a_second_start_finds_the_first(path: Path) -> None:
    assert control.start(path).address == control.start(path).address


def test_an_application_attaches_to_a_detached_engine(path: Path) -> None:
    started = control.start(path)
    with Engine.start(path) as engine:
        assert engine.address == started.address
        assert not engine.owned
    assert control.status(path).healthy


def test_stop_ends_the_engine_and_keeps_the_file(path: Path) -> None:
    started = control.start(path)
    assert started.address is not None
    assert control.stop(path)
    assert not control.stop(path)
    assert ends(started.address.pid)
    assert path.is_file()
    assert control.status(path).address is None


def test_stop_ends_the_engine_of_another_process_too(path: Path) -> None:
    with Engine.start(path) as engine:
        assert control.stop(path)
        assert ends(engine.pid)
        # The holder's connection closes when the supervisor ends, an instant after its engine.
        assert wait_until(lambda: not engine.alive, LONG_SECONDS)


def test_stop_without_an_engine_makes_nothing(path: Path) -> None:
    assert not control.stop(path)
    assert not path.parent.exists()


def test_stop_kills_an_engine_that_doesnt_end(path: Path) -> None:
    started = control.start(path)
    assert started.address is not None
    os.killpg(started.address.pid, signal.SIGSTOP)
    assert control.stop(path, timeouts=EngineTimeouts(stop_seconds=0.2))
    assert not is_locked(path)


def test_stop_never_ends_a_process_that_isnt_the_engine(path: Path) -> None:
    innocent = child_python("import sys\nprint('here', flush=True)\nsys.stdin.read()")
    line_of(innocent)
    lock = DataLock.acquire(path)
    assert lock is not None
    with lock:
        os.pwrite(lock.fileno(), f'{{"pid": {innocent.pid}, "directory": "/none", "url": ""}}'.encode(), 0)
        with pytest.raises(Unavailable, match="another process has"):
            control.stop(path, timeouts=EngineTimeouts(ready_seconds=0.2, stop_seconds=0.1))
    assert innocent.poll() is None
    end(innocent)


def test_reset_deletes_the_data(path: Path) -> None:
    control.start(path)
    control.reset(path)
    assert sorted(file.name for file in path.parent.iterdir()) == [lock_path(path).name]
    assert control.status(path).address is None
    assert control.start(path).healthy


def test_reset_of_nothing_makes_nothing(path: Path) -> None:
    control.reset(path)
    assert not path.parent.exists()


def test_reset_leaves_other_files_alone(path: Path) -> None:
    control.start(path)
    neighbour = path.with_name("app.db-notes")
    neighbour.write_text("mine")
    control.reset(path)
    assert neighbour.read_text() == "mine"


def test_a_crash_of_the_starter_before_the_engine_answers_leaves_no_engine(path: Path, tmp_path: Path) -> None:
    script = tmp_path / "engine"
    script.write_text(
        f"#!/bin/sh\necho $$ > {tmp_path}/pid.new\nmv {tmp_path}/pid.new {tmp_path}/pid\nexec sleep 100\n"
    )
    script.chmod(0o755)
    starter = child_python(
        """
import os, signal, sys
from pathlib import Path
from singletable_local import control
from singletable_local.attachment import Attachment
from singletable_local.timeouts import EngineTimeouts
def crash_when_started(held, seconds):
    while not Path(sys.argv[3]).exists(): pass
    os.kill(os.getpid(), signal.SIGKILL)
Attachment._receive = crash_when_started
environ = {"SINGLETABLE_ENGINE": sys.argv[2], "PATH": os.environ["PATH"]}
control.start(sys.argv[1], environ=environ, timeouts=EngineTimeouts(ready_seconds=600))
""",
        path,
        script,
        tmp_path / "pid",
    )
    starter.communicate()
    assert ends(int((tmp_path / "pid").read_text()))
    assert wait_until(lambda: not is_locked(path), LONG_SECONDS)
