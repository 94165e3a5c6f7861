"""A resumable run: killed at every request, it goes on, does again what was not kept, and counts each item once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec
import pytest
from msgspec import Struct

from singletable import Database, Entity, Key, Table
from singletable.exchange import Copied, Imported
from singletable.exchange.items import Transfer
from singletable.exchange.row_import import ImportState
from singletable.exchange.table_copy import CopyState
from singletable.exchange.transfers import open_record
from singletable.flow.patience import patiently
from singletable.foundation import (
    ResumableRun,
    RunStore,
    ScanSegment,
    advanced,
    all_segments,
    put_items,
    scan_pages,
    type_in,
)
from singletable.operations import Item
from singletable.records import CheckState
from tests.migrations.watching import Killed, before_each, killed_at_every_request
from tests.support.engines import fresh

source, target = Table("source"), Table("target")
COUNT, PAGE = 23, 4


class Note(Entity, table=source, type="note"):
    number: int

    @source.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One."""
        return f"note#{number}", "note"


class Progress(Struct, frozen=True):
    segments: tuple[ScanSegment, ...]
    copied: int = 0


class CopyNotes(ResumableRun[Progress, int]):
    """Puts each note into another table, two segments of three at a time."""

    def __init__(self, db: Database, *, is_kept: bool = True) -> None:
        self.db, self.is_kept, self.put = db, is_kept, list[Item]()
        self.state = Progress(all_segments(3))

    @property
    def is_over(self) -> bool:
        return not self.state.segments

    def told(self) -> int:
        return self.state.copied

    async def begin(self) -> None:
        if self.is_kept:
            record = await open_record(self.db.port, target, ["notes"], self.state)
            self.store, self.state = record, record.state

    async def round(self) -> None:
        segments, port = self.state.segments, self.db.port
        pages = await patiently(port, lambda: scan_pages(port, source, segments[:2], page=PAGE))
        items = [item for page in pages for item in page.items if type_in(source, item) == "note"]
        await put_items(port, target, items)
        self.put += items
        self.state = Progress(advanced(segments, pages), self.state.copied + len(items))


@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as made:
        made.create_table(source)
        made.create_table(target)
        made.write_many(puts=[Note(number=n) for n in range(COUNT)])
        yield made


def notes(db: Database) -> int:
    pages = db.run(scan_pages(db.port, target, all_segments(1)))
    return len(pages[0].items)


def test_killed_at_every_request_it_ends_as_if_it_had_not_been(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[int] = []
    kills = killed_at_every_request(db, monkeypatch, lambda _: ends.append(db.run(CopyNotes(db).run())))
    assert (kills > 5, ends, notes(db)) == (True, [COUNT], COUNT)
    assert db.run(CopyNotes(db).run()) == COUNT  # it had ended: another one begins anew


def test_a_kill_loses_the_round_that_was_not_kept_and_no_other(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed when it would keep its second round: the next run does that round again, and not the first."""
    first, writes = CopyNotes(db), 0

    def kill(operation: object) -> None:
        nonlocal writes
        writes += "PutItem" in type(operation).__name__
        if writes == 2:
            raise Killed

    with monkeypatch.context() as patched:
        before_each(db, patched, kill)
        with pytest.raises(Killed):
            db.run(first.run())
    second = CopyNotes(db)
    assert db.run(second.run()) == COUNT
    again = [item for item in second.put if item in first.put]
    assert 0 < len(again) < len(first.put)
    assert len(first.put) + len(second.put) - len(again) == COUNT


def test_what_it_kept_goes_at_its_end(db: Database) -> None:
    stored: list[int] = []
    run = CopyNotes(db)
    db.run(run.run(lambda _: stored.append(len(list(db.scan(Transfer.of(target)))))))
    assert (set(stored), list(db.scan(Transfer.of(target)))) == ({1}, [])


def test_progress_is_told_after_each_round_when_the_state_is_kept(db: Database) -> None:
    kept: list[int] = []

    class Watched:
        """A store that notes what it is given."""

        async def write(self, state: Progress) -> None:
            kept.append(state.copied)

        async def close(self) -> None:
            kept.append(-1)

    run, told = CopyNotes(db, is_kept=False), list[int]()
    store: RunStore[Progress] = Watched()
    run.store = store

    def tell(copied: int) -> None:
        assert kept[-1] == copied
        told.append(copied)

    assert db.run(run.run(tell)) == COUNT
    assert (kept, told) == ([*told, -1], sorted(told))
    assert len(told) > 3


def test_a_run_that_keeps_nothing_begins_anew(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    kills = killed_at_every_request(db, monkeypatch, lambda _: db.run(CopyNotes(db, is_kept=False).run()))
    assert (kills > 3, notes(db)) == (True, COUNT)
    assert list(db.scan(Transfer.of(target))) == []


KEPT = b"""{"lanes": [{"number": 1, "of": 4, "position": {"pk": "a"}}, {"number": 2, "of": 4, "position": null}],
 "part": 3, "position": 7, "bad_bytes": 5, "over": 1, "counts": {"items": 2}, "seen": 9, "found": 2, "left": 1,
 "copied": {"read": 4}, "imported": {"read": 4}}"""


def test_states_that_earlier_versions_kept_are_read() -> None:
    """A field under another name would be read as its default: all would be over, or begin again."""
    left = (ScanSegment(1, 4, {"pk": "a"}), ScanSegment(2, 4))
    assert msgspec.json.decode(KEPT, type=CopyState) == CopyState(left, Copied(read=4))
    assert msgspec.json.decode(KEPT, type=CheckState) == CheckState(1, left, {"items": 2}, 9, 2, 1)
    assert msgspec.json.decode(KEPT, type=ImportState) == ImportState(3, 7, Imported(read=4), 5)


def test_segments_advance_in_turn_and_leave_when_they_are_over() -> None:
    class Page(Struct, frozen=True):
        after: dict[str, dict[str, str]] | None

    def after(text: str) -> Page:
        return Page({"pk": {"S": text}})

    segments: Sequence[ScanSegment] = all_segments(3)
    segments = advanced(segments, [after("a"), after("b")])
    assert [(s.number, s.of, s.position) for s in segments] == [
        (0, 3, {"pk": "a"}),
        (1, 3, {"pk": "b"}),
        (2, 3, None),
    ]
    segments = advanced(segments, [Page(None), after("c")])
    assert [(s.number, s.position) for s in segments] == [(1, {"pk": "c"}), (2, None)]
    assert advanced(segments, [Page(None), Page(None)]) == ()
