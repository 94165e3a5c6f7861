"""The images of a record: looked at once for the events of it, and compared attribute by attribute."""

from __future__ import annotations

import pytest

from singletable.operations import StreamRecord
from singletable.streams import Changes
from singletable.streams.router import RecordEvents, Router
from tests.streams.models import Note, Seen, noted
from tests.support.shells import Shell
from tests.support.workers import change_worker


async def test_a_record_is_looked_at_once_for_its_events(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    seen, looked, changes, events_of = Seen(), list[str](), Changes(noted), Router.events_of
    changes.on(Note).inserted(seen)

    def noting(router: Router, record: StreamRecord) -> RecordEvents:
        looked.append(record.sequence)
        return events_of(router, record)

    monkeypatch.setattr(Router, "events_of", noting)
    await shell.write_many(puts=[Note(id=f"n{number}") for number in range(101)])
    await change_worker(shell, changes).drain()
    assert len(seen.told) == 101
    assert len(looked) == len(set(looked)) == 101


async def test_an_attribute_more_or_less_is_a_change(shell: Shell) -> None:
    seen, changes = Seen(), Changes(noted)
    changes.on(Note).modified(seen)
    await shell.put(Note(id="n1"))
    await shell.put(Note(id="n1", tags={"a"}))
    await shell.put(Note(id="n1"))
    await change_worker(shell, changes).drain()
    assert [(change.old.tags, change.new.tags) for change in seen.changes] == [(set(), {"a"}), ({"a"}, set())]
