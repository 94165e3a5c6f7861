"""A data file of many items, made in seconds: the engine writes one of each partition, the others are copies of it."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from random import Random

from singletable_local import control
from tests.e2e.cli.conftest import Folder

EVERY = 2
"""In every second partition one item can't be read."""
_MODEL = """
from singletable import ANY, Entity, Key, Table

app = Table("readings")


class Reading(Entity, table=app, type="reading"):
    sensor: int
    number: int
    value: str

    @app.key
    @staticmethod
    def of_sensor(sensor: int, number: int = ANY) -> Key:
        return f"sensor#{sensor:06}", f"reading#{number:03}"
"""
_FILLER = """
import sys
from readings import Reading, app
from singletable import connect

with connect("local:data/singletable.db") as db:
    db.create_table(app)
    db.write_many(puts=[Reading(sensor=n, number=0, value="fine") for n in range(int(sys.argv[1]))])
"""
_COPY = """
    WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)
    INSERT INTO readings SELECT pk, 'S:reading#' || printf('%03d', n),
        replace(replace(item_json, 'reading#000', 'reading#' || printf('%03d', n)),
                '"number":{"N":"0"}', '"number":{"N":"' || n || '"}'),
        item_size, cached_at, hash_prefix FROM readings CROSS JOIN numbers
"""
_SPOIL = """
    UPDATE readings SET item_json = replace(item_json, '{"S":"fine"}', '{"N":"7"}')
    WHERE sk = 'S:reading#007' AND CAST(substr(pk, 10) AS INTEGER) % ? = 0
"""


def make_many(folder: Folder, partitions: int, each: int) -> list[tuple[str, str]]:
    """Write the default data file, and the module `readings`. Returns the keys of the items that can't be read."""
    (folder.path / "readings.py").write_text(_MODEL)
    ran = folder.python("-c", _FILLER, str(partitions))
    assert (ran.code, ran.err) == (0, "")
    file = folder.path / "data" / "singletable.db"
    control.stop(file)
    with closing(sqlite3.connect(file)) as data, data:
        data.execute(_COPY, (each - 1,))
        data.execute(_SPOIL, (EVERY,))
    assert folder.run("local", "start").code == 0
    return [(f"sensor#{n:06}", "reading#007") for n in range(0, partitions, EVERY)]


def begin_check(folder: Folder, *options: str) -> subprocess.Popen[bytes]:
    """`singletable check readings ...`, which goes on by itself."""
    program = Path(sys.executable).with_name("singletable")
    return subprocess.Popen(
        [str(program), "check", "readings", *options],
        cwd=folder.path,
        env=folder.environ,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def run_and_kill(folder: Folder, path: Path, random: Random, most_bytes: int, *options: str) -> int:
    """Run a check into a file until it ends, killed each time after it has written some bytes more. Returns how often
    it was killed."""
    kills = 0
    while True:
        run = begin_check(folder, "--to", path.name, *options)
        enough = _size(path) + random.randint(0, most_bytes)
        while run.poll() is None and _size(path) <= enough:
            with suppress(subprocess.TimeoutExpired):
                run.wait(0.002)
        if run.poll() is None:
            os.kill(run.pid, signal.SIGKILL)
            kills += 1
        if run.wait() == 1:
            return kills
        if random.random() < 0.5:  # as a write of which the disk took a part
            with open(path, "ab") as file:
                file.write(b'{"table":"readings","code":"item.unre')


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
