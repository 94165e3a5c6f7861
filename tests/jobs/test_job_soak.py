"""A check, a fill and a copy of 100,000 items by four processes, after eight that are killed: each item has its effect
once, and a death costs a round. `python -m benchmarks.jobs --kills --items 1000000` counts a larger table."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from singletable import Database, connect
from singletable.flow import FAN_OUT
from tests.jobs.killed_processes import KILLS, KilledRun, work_killed
from tests.jobs.people import application_items, put_people
from tests.jobs.test_many_workers import PAGES
from tests.migrations.models import Person, Place, written
from tests.migrations.test_fill import people as old_people
from tests.support.engines import fresh_url
from tests.support.traits import LOCAL

pytestmark = [
    pytest.mark.soak,
    pytest.mark.timeout(7200),
    pytest.mark.embedded("its processes share one engine's socket"),
]
ITEMS = 100_000
OWN_ITEMS = 2_000
"""More than the jobs have of their own, which they read too."""


def test_every_effect_once_though_processes_are_killed(tmp_path: Path) -> None:
    with (
        fresh_url() as url,
        fresh_url() as copied,
        connect(url, traits=LOCAL) as db,
        connect(copied, traits=LOCAL) as target,
    ):
        put_people(db, ITEMS)
        check = worked("check", db, db, tmp_path)
        assert result(check)["found"] == ITEMS  # each lacks the keys of the new index
        fill = worked("fill", db, db, tmp_path)
        assert ITEMS - FAN_OUT * KILLS <= fill.updated <= ITEMS  # the dead noted nothing of their last wave
        assert result(fill)["contended"] == result(fill)["found"] == 0
        assert is_written(db)
        worked("copy", target, db, tmp_path)
        assert application_items(target) == application_items(db)


def worked(kind: str, db: Database, source: Database, folder: Path) -> KilledRun:
    """A job that read each item, and of each death at most a page again."""
    run = work_killed(kind, db, source, folder / kind, items=ITEMS)
    assert ITEMS <= run.status.seen <= ITEMS + OWN_ITEMS
    assert 0 <= run.read_again <= run.takeovers * PAGES[kind]
    return run


def result(run: KilledRun) -> Mapping[str, Any]:
    assert run.status.result is not None
    return run.status.result


def is_written(db: Database) -> bool:
    """Whether each item is what the newer program declares, and found by its new keys."""
    persons = {person.id: (person.first, person.last, person.revision) for person in db.scan(Person)}
    places = sum(1 for kind in ("park", "café") for _ in db.iter(Place.by_kind(kind)))
    expected = map(written, old_people(ITEMS - ITEMS // 2))
    return places == ITEMS // 2 and persons == {p.id: (p.first, p.last, 1) for p in expected}
