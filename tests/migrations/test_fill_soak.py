"""Fills of large tables by processes that are killed: what they write in all, their rate, and what they hold."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from random import Random
from statistics import median

import pytest

from singletable import connect
from singletable.migrations import Migrations
from tests.migrations import filling
from tests.migrations.filling import KINDS, Note, read_notes
from tests.support.children import child
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(7200),
    pytest.mark.embedded("its processes share one engine's socket"),
]
ITEMS = int(os.environ.get("FILL_ITEMS", "10000"))
KILLS = 4
WINDOW_SECONDS = 10.0
MB = 1e6


def say(text: str) -> None:
    """A figure, for those who run it with `-s`."""
    sys.stdout.write(text + "\n")


def filled_by(url: str, kind: str, notes: Path, units: str = "", kills: int = KILLS) -> list[list[Note]]:
    """What each process noted: some that were killed in the midst of their writes, and one that ended."""
    random, run, died = Random(kind), (url, kind, str(notes), units), 0
    for _ in range(kills):
        least, sent = random.randint(1, ITEMS // (2 * kills)), Growing(notes)
        with child(filling.run, *run) as process:
            while process.poll() is None and sent.look() < least:
                with suppress(subprocess.TimeoutExpired):
                    process.wait(0.05)
            died += process.poll() is None
    assert died == kills
    with child(filling.run, *run) as process:
        assert process.wait(3600) == 0
    return list(read_notes(notes))


class Growing:
    """A file that grows: how many writes were noted since it was looked at first."""

    def __init__(self, path: Path) -> None:
        self._path, self._at, self.writes = path, path.stat().st_size if path.exists() else 0, 0

    def look(self) -> int:
        if self._path.exists():
            with open(self._path, "rb") as file:
                file.seek(self._at)
                new = file.read()
            self._at += len(new)
            self.writes += new.count(b" sent ")
        return self.writes


@pytest.mark.parametrize("kind", KINDS)
def test_a_write_for_each_item_kills_included(tmp_path: Path, kind: str) -> None:
    """`FILL_ITEMS=100000` is the size of a table in use."""
    made = KINDS[kind]
    with fresh_url() as url, connect(url, traits=LOCAL) as db:
        made.put(db, ITEMS)
        lacking = Migrations(db, made.table).fill(dry_run=True)
        wanted = lacking.written + lacking.completed
        assert wanted >= ITEMS // 2
        runs = filled_by(url, kind, tmp_path / "notes")
        sent = sum(note.number for run in runs for note in run if note.what == "sent")
        held = [note.number for note in runs[-1] if note.what == "held"]
        say(f"{kind}: {wanted} items, {sent:g} writes, {len(runs)} runs, {held[0] / MB:.0f} to {held[-1] / MB:.0f} MB")
        assert wanted <= sent <= wanted * 1.1
        assert held[-1] - held[len(held) // 10] < 5 * MB
        assert db.check(made.table) == []
        again = Migrations(db, made.table).fill()
        assert (again.written, again.completed) == (0, 0)


@pytest.mark.parametrize("kind", ["index keys and versions", "copies"])
def test_the_rate_is_held(tmp_path: Path, kind: str) -> None:
    """Never more than 5 % above, over any ten seconds; and not below for most of the time: a busy machine has its gaps,
    and what was not taken for more than a tenth of a second is not made up for."""
    made, units = KINDS[kind], 60.0  # fewer than an engine on a busy machine takes
    with fresh_url() as url, connect(url, traits=LOCAL) as db:
        made.put(db, min(ITEMS, 2_000))
        runs = filled_by(url, kind, tmp_path / "notes", str(units), kills=0)
        shares = [share for run in runs for share in shares_of(run, units)]
        say(f"{kind}: {len(shares)} windows, {min(shares):.3f} to {max(shares):.3f}, median {median(shares):.3f}")
        assert len(shares) > 10
        assert max(shares) < 1.05
        assert median(shares) > 0.95


def shares_of(notes: Sequence[Note], units: float) -> list[float]:
    """Of each window of ten seconds, a second apart, after the first second of writes: what was taken of the rate."""
    taken = [note for note in notes if note.what == "units"]
    if not taken:
        return []
    begin, end = taken[0].at + 1.0, taken[-1].at
    starts = [begin + n for n in range(max(0, int(end - begin - WINDOW_SECONDS)))]
    return [
        sum(note.number for note in taken if start <= note.at < start + WINDOW_SECONDS) / (units * WINDOW_SECONDS)
        for start in starts
    ]
