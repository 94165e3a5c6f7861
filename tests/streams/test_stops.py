"""Which records a worker that is to stop still begins with: those before one that has begun, and no others."""

from __future__ import annotations

import threading  # noqa: TID251
from datetime import UTC, datetime
from typing import Any

import pytest

from singletable import Database, OutcomeUnknown, SingletableError, Unavailable
from singletable.streams import Changes, ChangeWorker, Inserted
from singletable.streams.shard import HeldShard
from tests.streams.models import Note, noted


@pytest.fixture
def shard() -> HeldShard:
    lease = Changes(noted).consumer.state.lease(
        consumer="c", stream="s", shard="1", made_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    return HeldShard(lease, renewed_at=0.0, stream="s")


def test_none_is_allowed_after_an_earlier_one_was_refused(shard: HeldShard) -> None:
    assert [shard.allows(sequence, lambda: True) for sequence in ("1", "3")] == [True, True]
    asked = {sequence: shard.allows(sequence, lambda: False) for sequence in ("4", "6", "5", "2")}
    assert asked == {"4": False, "6": False, "5": False, "2": True}


def test_what_was_allowed_counts_in_the_rounds_after_it(shard: HeldShard) -> None:
    shard.allows("3", lambda: True)
    shard.allows("1", lambda: True)
    assert shard.allows("2", lambda: False)


def test_an_earlier_one_waits_for_the_answer_to_a_later_one(shard: HeldShard) -> None:
    """The worker is to stop while a later record is being allowed: the earlier one is allowed too."""
    answers: list[bool] = []
    earlier = threading.Thread(target=lambda: answers.append(shard.allows("1", lambda: False)))

    def goes_on() -> bool:
        earlier.start()
        earlier.join(0.05)
        return True

    assert shard.allows("2", goes_on)
    earlier.join()
    assert answers == [True]


# --- errors before the stop -------------------------------------------------------------------------------------------
class Outage:
    """From some moment on the next request of a kind is not sent, with an error that passes; the worker then stops."""

    def __init__(self, db: Database, monkeypatch: pytest.MonkeyPatch, part: bytes, error: SingletableError) -> None:
        self.stopping, self.begun = False, False
        send = db.port.send

        async def failing(operation: Any) -> Any:
            if self.begun and not self.stopping and part in operation.request().body:
                self.stopping = True
                raise error
            return await send(operation)

        monkeypatch.setattr(db.port, "send", failing)


def test_what_was_handled_before_an_error_is_not_handled_again(
    engine: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count of a failed try can't be written down, and the worker is stopped: its position stands before that
    record, not before the round."""
    changes, told, outage = Changes(noted), list[str](), Outage(engine, monkeypatch, b"_try", Unavailable("throttled"))

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        told.append(change.new.id)
        if change.new.id == "bad":
            outage.begun = True
            raise ValueError

    for id in ("before", "bad"):
        engine.create(Note(id=id))
    ChangeWorker(engine, changes).run(stop=lambda: outage.stopping, signals=False)
    assert sorted(told) == ["bad", "before"]
    ChangeWorker(engine, changes).drain(tries=1)
    assert sorted(told) == ["bad", "bad", "before"]


def test_a_checkpoint_that_was_not_applied_is_written_at_the_release(
    engine: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its answer was lost, and what is stored shows that the request was too."""
    changes, told = Changes(noted), list[str]()
    outage = Outage(engine, monkeypatch, b"position", OutcomeUnknown("lost"))

    @changes.on(Note).inserted
    def inserted(change: Inserted[Note]) -> None:
        told.append(change.new.id)
        outage.begun = True

    engine.create(Note(id="a"))
    ChangeWorker(engine, changes).run(stop=lambda: outage.stopping, signals=False)
    ChangeWorker(engine, changes).drain()
    assert (told, outage.stopping) == (["a"], True)
