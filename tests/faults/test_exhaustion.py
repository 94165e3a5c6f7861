"""What runs out: memory, descriptors, the disk. Each write is done or raises, and what was acknowledged is there."""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, Table, Unavailable, attr, connect
from singletable.errors import Incomplete, OutcomeUnknown
from singletable.exchange.table_copy import put_patiently
from tests.faults import processes
from tests.faults.opening import LOCAL
from tests.faults.processes import LARGE
from tests.rules.models import Plain, shop
from tests.support.children import child, run_child

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of processes as Linux has them")


@pytest.fixture
def db(engine_url: str) -> Iterator[Database]:
    with connect(engine_url, environ={}) as made:
        made.port.traits = LOCAL
        made.create_table(shop)
        yield made


def test_a_process_without_descriptors_does_a_write_or_says_so(db: Database, engine_url: str) -> None:
    code, said = _starved(engine_url, "descriptors")
    assert code == 0
    assert set(said.values()) == {"done", "Unavailable"}
    there = {each.id: each for each in db.get_many([Plain.by_id(id) for id in said], consistent=True)}
    assert there == {id: Plain(id=id, text=LARGE) for id, outcome in said.items() if outcome == "done"}
    assert [said[f"descriptors-4-{number}"] for number in range(3)] == ["done"] * 3, "with enough it goes on"
    assert db.check(shop) == []


CONNECT = """
import os, resource, sys
from singletable import connect
before, *targets = sys.argv[1:]
if before == "imports":
    from singletable_local import targets as _
elif before == "connections":
    for target in targets:
        connect(target, environ={}).close()
soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
for target in targets:
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1, hard))
    try:
        connect(target, environ={}).close()
        said = "connected"
    except Exception as error:
        said = type(error).__name__
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    print(said)
"""


@pytest.mark.embedded("it opens the engine's door")
@pytest.mark.parametrize(
    ("before", "to_an_engine"),
    [("nothing", "Unavailable"), ("imports", "connected"), ("connections", "connected")],
)
def test_connecting_without_a_descriptor_raises_an_error_of_the_library(before: str, to_an_engine: str) -> None:
    """What is imported at the first connection needs one too; an address alone opens nothing until a request."""
    with connect("local") as running:
        embedded: Any = running.target.engine
        targets = (f"unix://{embedded.directory}/engine.sock", "local")
        command = [sys.executable, "-W", "error", "-c", CONNECT, before, *targets]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == [to_an_engine, "Unavailable"]


WRITE = """
import os, resource, sys
from singletable import connect
from tests.rules.models import Plain
target, *heard = sys.argv[1:]
options = {"environ": {}, "listeners": [repr] if heard else []}
with connect(target, **options) as db:
    db.put(Plain(id="1"))
late = {"logging"} & {*sys.modules}
resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) - 1,) * 2)
try:
    connect(target, **options).put(Plain(id="2"))
except Exception as error:
    print(type(error).__name__, *late)
"""


@pytest.mark.parametrize("heard", [(), ("heard",)], ids=["logged", "heard"])
def test_a_first_retry_without_a_descriptor_raises_an_error_of_the_library(
    db: Database, engine_url: str, heard: tuple[str, ...]
) -> None:
    """A failed try is logged: what that imports needs a descriptor. Its events are there if somebody hears them."""
    command = [sys.executable, "-c", WRITE, engine_url, *heard]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert ended.stdout.split() == ["Unavailable"]
    assert db.get_many([Plain.by_id("1"), Plain.by_id("2")], consistent=True) == [Plain(id="1")]


def test_a_process_without_memory_loses_nothing_that_it_acknowledged(db: Database, engine_url: str) -> None:
    """A write raises MemoryError or another error, or the system ends the process: that is as any other end of it."""
    code, said = _starved(engine_url, "memory")
    assert code != 0 or set(said.values()) - {"done"}, "memory ran out"
    assert set(said.values()) <= {"done", "Unavailable", "OutcomeUnknown", "MemoryError"}
    there = {each.id: each for each in db.get_many([Plain.by_id(id) for id in said], consistent=True)}
    for id, outcome in said.items():
        assert outcome == "done" or there.get(id, _large(id)) == _large(id), "whole or absent"
        assert outcome != "done" or there[id] == _large(id)
    assert db.check(shop) == []
    assert run_child(processes.load, engine_url) == 0


def _large(id: str) -> Plain:
    return Plain(id=id, text=LARGE)


def _starved(url: str, what: str) -> tuple[int, dict[str, str]]:
    """How a process ended that was short of something, and what it said of each of its writes."""
    with child(processes.starve, url, what, starts_python=True) as process:  # a fork has room in what was freed
        told = process.communicate()[0].decode().split()
        code = process.wait(60)
    return code, dict(zip(told[::2], told[1::2], strict=True))


@pytest.mark.embedded("its file is on a full disk")
def test_a_full_disk_ends_no_promise(tmp_path: Path) -> None:
    """The engine may write no further: its writes are of unknown outcome, and its process goes on."""
    with connect(f"local:{tmp_path / 'app.db'}") as db:
        db.put(Plain(id="first"))
        running: Any = db.target.engine
        engine = running.pid
        largest = max(file.stat().st_size for file in tmp_path.iterdir() if file.is_file())
        resource.prlimit(engine, resource.RLIMIT_FSIZE, (largest + 100_000, resource.RLIM_INFINITY))
        done, failed = _write_until(db, failures=3)
        assert done
        assert {type(error) for error in failed} == {OutcomeUnknown}
        for error in failed:
            assert str(error).startswith("The engine can't write its data file: disk I/O error (1 try)")
        assert db.get(Plain.by_id("first").consistent()) == Plain(id="first"), "it is read all the same"
        resource.prlimit(engine, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        db.put(Plain(id="later"))
        assert len(db.get_many([Plain.by_id(id) for id in done], consistent=True)) == len(done)
        assert db.check(shop) == []
    with connect(f"local:{tmp_path / 'app.db'}") as again:
        assert len(again.get_many([Plain.by_id(id) for id in (*done, "first", "later")])) == len(done) + 2


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of its own, of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", place], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("this user may not mount a disk")
    yield place
    subprocess.run(["umount", "-l", place], check=True)


@pytest.mark.embedded("its file is on a full disk")
def test_a_full_disk_is_named_at_once(small_disk: Path) -> None:
    """It took seven seconds, and said InternalServerError."""
    with connect(f"local:{small_disk / 'app.db'}") as db:
        db.put(Plain(id="first", text="x" * 20_000))
        done, failed = _write_until(db, failures=1)
        calls: list[Callable[[], Any]] = [
            lambda: db.update(Plain.by_id("first"), attr(Plain.text).set("y" * 20_000)),
            lambda: db.update(Plain.by_id("first"), attr(Plain.text).set("y" * 20_000), exactly_once=True),
            lambda: db.create_table(Table("another")),
        ]
        for call in calls:
            with pytest.raises(Unavailable) as told:
                call()
            failed.append(told.value)
        for error in failed:
            assert type(error) is Unavailable
            assert str(error).startswith("The engine can't write its data file: database or disk is full (1 try)")
            assert "Free space on the disk" in str(error)
        with pytest.raises(Incomplete, match="data file: database or disk is full") as part:
            db.write_many(puts=[Plain(id=f"batch{number}", text="x" * 90_000) for number in range(30)])
        assert len(part.value.rest) == 30
        with pytest.raises(Incomplete, match="disk is full"):
            db.run(put_patiently(db.port, shop, [{"pk": {"S": f"{n}"}, "sk": {"S": "x" * 900}} for n in range(900)]))
        with connect(f"local:{small_disk / 'app.db'}") as other:
            assert other.get(Plain.by_id("first").consistent()) == Plain(id="first", text="x" * 20_000)
        subprocess.run(["mount", "-o", "remount,size=9m", small_disk], check=True)
        db.put(Plain(id="later"))
        assert len(db.get_many([Plain.by_id(id) for id in done], consistent=True)) == len(done)


def _write_until(db: Database, failures: int) -> tuple[list[str], list[Exception]]:
    """What was acknowledged, and with which errors others failed."""
    done: list[str] = []
    failed: list[Exception] = []
    for number in range(100):
        try:
            db.put(Plain(id=str(number), text="x" * 20_000))
            done.append(str(number))
        except (Unavailable, OutcomeUnknown) as error:
            failed.append(error)
        if len(failed) == failures:
            return done, failed
    pytest.fail("the disk was never full")
