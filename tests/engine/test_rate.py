"""The bulk verbs under a Rate, against the units that the engine reports. Time is simulated: a wait passes at once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import ANY, Database, Entity, InvalidRequest, Key, Table
from singletable.flow import Rate
from tests.support.engines import fresh
from tests.support.waiting import Waited

paced = Table("paced", indexes=["gsi1"])


class Note(Entity, table=paced, type="note"):
    id: int
    text: str = ""

    @paced.key
    @staticmethod
    def by_id(id: int) -> Key:
        """One."""
        return f"note#{id}", "note"

    @paced.index("gsi1")
    @staticmethod
    def all(id: int = ANY) -> Key:
        """All."""
        return "notes", f"{id}"


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(paced)
        yield made


def test_the_bulk_verbs_keep_to_it(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    waited, rate = Waited(db, monkeypatch), Rate(write_units=100, read_units=10)
    with db.meter() as meter:
        db.write_many(puts=[Note(id=n) for n in range(200)], rate=rate)
    assert meter.write_units == 400  # an index takes as many
    assert 3.4 <= waited.seconds <= 4.1  # the last batch is not waited for
    with db.meter() as meter:
        assert len(list(db.scan(Note, segments=4, rate=rate))) == 200
        assert len(list(db.iter(Note.all(), rate=rate))) == 200
        assert db.check(paced, rate=rate) == []
        assert db.sweep_table(paced, rate=rate) == 0
    assert waited.seconds >= 3.4 + meter.read_units / 10 * 0.5


def test_a_scan_in_parts_gives_each_item_once(db: Database) -> None:
    db.write_many(puts=[Note(id=n) for n in range(500)])
    for segments in (1, 3, 20, 64):
        assert sorted(note.id for note in db.scan(Note, segments=segments)) == list(range(500))
    apart = [{note.id for note in db.scan(Note, segment=n, segments=3)} for n in range(3)]
    assert sorted(id for part in apart for id in part) == list(range(500))
    with db.meter() as meter:
        list(db.scan(Note, segments=16))
    assert meter.round_trips <= 2


def test_parts_that_are_none(db: Database) -> None:
    for segment, segments in ((1, 1), (-1, 2), (None, 0), (None, 65), (0, 2_000_000)):
        with pytest.raises(InvalidRequest, match=r"part|segments are numbered"):
            next(db.scan(Note, segment=segment, segments=segments))
