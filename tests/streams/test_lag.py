"""The lag of a consumer: the age of what its handlers have not had, who holds its shards, and a shard that is taken."""

from __future__ import annotations

import pytest

from singletable import NotFound
from singletable.streams import Changes, ChangeWorker, leases
from singletable.streams.acquisition import label_of
from singletable.streams.shard_tree import find_stream
from tests.streams.models import Note, noted
from tests.support.engines import fresh


def test_a_consumer_that_is_behind_says_by_how_much_and_who_has_its_shard() -> None:
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
        taken = db.run(leases.take(db.port, state, free, "a worker"))
        assert taken is not None
        (held,) = worker.lag().shards
        assert held.owner == "a worker"
        assert held.beat_seconds is not None
        worker.release(shard.shard)
        assert worker.lag().shards[0].owner == ""
        beat = db.run(leases.heartbeat(db.port, state, taken, taken.beats + 1))
        assert beat is None or not beat.owner, "its owner finds that it has lost it"
