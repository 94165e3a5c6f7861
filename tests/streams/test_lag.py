"""The lag of a consumer: the age of what its handlers have not had, who holds its shards, and a shard that is taken."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from singletable import Database, NotFound
from singletable.events import Listeners
from singletable.flow import DYNAMODB_STREAMS
from singletable.streams import Changes, ChangeWorker, leases
from singletable.streams.acquisition import label_of
from singletable.streams.inspect import ConsumerName, inspect_consumer
from singletable.streams.lag import KEPT_SECONDS
from singletable.streams.shard_tree import find_stream
from tests.faults.actions import Refuse
from tests.faults.port import make_faulty
from tests.faults.rules import Faults, Match, Rule
from tests.faults.splitting import split_shards
from tests.streams.models import Note, noted
from tests.support.engines import fresh


def test_a_consumer_that_is_behind_says_by_how_much_and_who_has_its_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    changes = Changes(noted, name="lagging")
    changes.on(Note).inserted(lambda change: None)
    with fresh() as db:
        worker = ChangeWorker(db, changes)
        db.put(Note(id="n1"))
        worker.drain()
        lag = worker.lag()
        assert (lag.consumer, lag.seconds) == ("lagging", 0.0)
        (shard,) = lag.shards
        assert (shard.owner, shard.beat_seconds) == ("", None)
        with pytest.raises(NotFound, match="holds"):
            worker.release(shard.shard)
        db.put(Note(id="n2"))
        behind = worker.lag().seconds
        assert behind is not None
        assert 0.0 <= behind < 60.0

        label = label_of(db.run(find_stream(db.port, noted)))
        state = changes.consumer.state
        (free,) = db.run(leases.all_leases(db.port, state, "lagging", label))
        monkeypatch.setattr(Listeners, "process", "host-1, process 1")
        taken = db.run(leases.take(db.port, state, free, "a worker"))
        assert taken is not None
        (held,) = worker.lag().shards
        assert (held.owner, held.process) == ("a worker", "host-1, process 1")
        assert held.beat_seconds is not None
        worker.release(shard.shard)
        assert (worker.lag().shards[0].owner, worker.lag().shards[0].process) == ("", "")
        beat = db.run(leases.heartbeat(db.port, state, taken, taken.beats + 1))
        assert beat is None or not beat.owner, "its owner finds that it has lost it"


# --- what hid it ------------------------------------------------------------------------------------------------------
@pytest.fixture
def db() -> Iterator[Database]:
    with fresh() as opened:
        yield opened


def _worker(db: Database) -> ChangeWorker:
    changes = Changes(noted, name="lagging")
    changes.on(Note).inserted(lambda change: None)
    return ChangeWorker(db, changes)


def _write(db: Database, *ids: str) -> None:
    for id in ids:
        db.put(Note(id=id))


def _let_pass(db: Database, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    now = db.port.now
    monkeypatch.setattr(db.port, "now", lambda: now() + seconds)


def test_changes_of_shards_that_no_worker_has_begun_count(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """The leased shard is read to its end: all that waits lies in what came after it."""
    stream, worker = split_shards(db.port, every=3), _worker(db)
    _write(db, "n1", "n2")
    worker.drain()
    _write(db, "n3", "n4", "n5")
    db.run(_finish(db, worker, "shardId-00000000000000000000-00000000"))
    _let_pass(db, monkeypatch, 5_000.0)
    with db.meter() as meter:
        lag = worker.lag()
    assert (stream.generations, lag.trouble) == (2, "")
    assert len(lag.shards) == 2
    assert {shard.owner for shard in lag.shards} == {""}
    assert lag.seconds == max(shard.seconds or 0.0 for shard in lag.shards) > 4_990.0
    assert meter.requests == 4 + 2 * len(lag.shards)


async def _finish(db: Database, worker: ChangeWorker, shard: str) -> None:
    """End a shard's lease, as a worker does that dies before it takes the next."""
    state, label = worker.changes.consumer.state, label_of(await find_stream(db.port, noted))
    (free,) = await leases.all_leases(db.port, state, "lagging", label)
    assert free.shard == shard
    held = await leases.take(db.port, state, free, "a worker")
    assert held is not None
    assert await leases.finish(db.port, state, held, 1, held.position)


def test_a_consumer_of_what_comes_now_has_a_lag_before_its_first_checkpoint(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = _worker(db)
    _write(db, "before")
    _let_pass(db, monkeypatch, 100.0)
    worker.drain(start="now")
    assert worker.lag().seconds == 0.0
    monkeypatch.undo()
    assert worker.lag().seconds == 0.0, "what was there when it began is not waited for"


@pytest.mark.parametrize("operation", ["GetShardIterator", "GetRecords"])
@pytest.mark.parametrize("code", ["TrimmedDataAccessException", "ResourceNotFoundException"])
def test_a_shard_that_is_trimmed_or_gone_is_a_lag_of_a_day(db: Database, operation: str, code: str) -> None:
    worker = _drained(db)
    _answer(db, operation, code)
    lag = worker.lag()
    assert (lag.seconds, lag.shards[0].seconds) == (KEPT_SECONDS, KEPT_SECONDS)
    assert lag.trouble == lag.shards[0].trouble == "changes after its checkpoint were trimmed: they are lost"


@pytest.mark.parametrize("operation", ["DescribeStream", "GetShardIterator", "GetRecords"])
@pytest.mark.parametrize(
    ("code", "why"), [("AccessDeniedException", "AccessDeniedException"), ("LimitExceededException", "more often")]
)
def test_the_error_that_hides_a_lag_is_told(db: Database, operation: str, code: str, why: str) -> None:
    worker = _drained(db)
    _answer(db, operation, code)
    lag = worker.lag()
    is_described = operation == "DescribeStream"
    assert lag.shards, "those with a lease are known without the stream"
    assert (lag.seconds is None) is not is_described
    assert why in lag.trouble
    assert operation in lag.trouble
    seen = db.run(inspect_consumer(db.port, db.target.seal, noted, ConsumerName("lagging", "own", is_declared=False)))
    assert operation in (seen.note if is_described else seen.shards[0].trouble)


def test_a_stream_that_was_replaced_is_told(db: Database) -> None:
    worker = _drained(db)
    key = worker.changes.consumer.state.consumer.by_name("lagging")
    begun = db.get(key)
    assert begun is not None
    db.put(type(begun)(name="lagging", stream=f"{begun.stream}0", start=begun.start, began_at=begun.began_at))
    assert "replaced" in worker.lag().trouble


def _drained(db: Database) -> ChangeWorker:
    worker = _worker(db)
    _write(db, "n1")
    worker.drain()
    assert worker.lag().trouble == ""
    return worker


def _answer(db: Database, operation: str, code: str) -> None:
    faults = Faults()
    make_faulty(db.port.to(DYNAMODB_STREAMS), faults)
    faults.add(Rule(Match(operation), Refuse(code)))
