"""Each change once a lease, a live lease for its owner alone, whole dead letters: by what the engine was asked."""

# pyright: reportPrivateUsage=false, reportUnknownLambdaType=false, reportUnknownMemberType=false, reportUnknownArgumentType=false
from __future__ import annotations

import base64
import json
import random
from typing import Any, cast

import msgspec
import pytest

from singletable import Database, OutcomeUnknown, attr
from singletable.flow import UNGATED, Kernel, Port, Trouble
from singletable.foundation import flows
from singletable.operations.stream import GetRecords, StreamRecord, read_records
from singletable.streams import Changes, ChangeWorker, leases
from singletable.streams.acquisition import make_lease
from singletable.streams.consumer import ConsumerOptions
from singletable.streams.dead_letters import store_dead_letter
from singletable.streams.shard import HeldShard
from singletable.streams.state import LeaseItem
from singletable.streams.worker import ConsumerWorker
from tests.streams.models import Note, Seen, noted
from tests.support.engines import fresh


@pytest.fixture
def changes() -> Changes:
    return Changes(noted)


def held(db: Database, changes: Changes, **more: Any) -> LeaseItem:
    """A lease of the worker `live`, as it is stored."""
    lease = make_lease(db.port, changes.consumer, "stream", "shard", owner="live", fence=1, **more)
    assert db.run(leases.make(db.port, lease))
    return lease


LIVE: dict[str, Any] = {
    "a heartbeat": lambda port, state, seen: leases.heartbeat(port, state, seen, seen.beats + 1),
    "a checkpoint": lambda port, state, seen: leases.heartbeat(port, state, seen, seen.beats, "7"),
    "a release with a checkpoint": lambda port, state, seen: leases.release(port, state, seen, "7"),
    "the shard's end": lambda port, state, seen: leases.finish(port, state, seen, seen.beats, seen.position),
    "another worker's take": lambda port, state, seen: leases.take(port, state, seen, "other"),
}


@pytest.mark.parametrize("sign", LIVE)
def test_a_lease_that_has_changed_since_it_was_seen_is_not_taken(changes: Changes, sign: str) -> None:
    """Whichever sign of life came between: the taker would begin where the owner has been already."""
    state = changes.consumer.state
    with fresh() as db:
        seen = held(db, changes)
        after = db.run(LIVE[sign](db.port, state, seen))
        assert after is not None
        assert db.run(leases.take(db.port, state, seen, "late")) is None
        assert db.run(leases.all_leases(db.port, state, changes.name, "stream")) == [after]


@pytest.mark.parametrize("sign", [sign for sign in LIVE if sign != "another worker's take"])
@pytest.mark.parametrize(("is_applied", "is_beaten"), [(True, False), (True, True), (False, False)])
def test_an_owners_write_whose_answer_was_lost(
    changes: Changes, monkeypatch: pytest.MonkeyPatch, sign: str, is_applied: bool, is_beaten: bool
) -> None:
    """It succeeded if the lease shows it, with a later beat too; else it is unknown, and repeated."""
    state = changes.consumer.state
    kind: Any = state.lease
    with fresh() as db:
        seen = held(db, changes)
        update = flows.update

        async def losing(port: Port, key: Any, updates: Any, **options: Any) -> Any:
            if is_applied:
                await update(port, key, updates, **options)
            if is_beaten:
                await update(port, key, (attr(kind.beats).set(9),))
            raise OutcomeUnknown("lost")

        with monkeypatch.context() as patched:
            patched.setattr(flows, "update", losing)
            if is_applied:
                written = db.run(LIVE[sign](db.port, state, seen))
            else:
                with pytest.raises(OutcomeUnknown):
                    db.run(LIVE[sign](db.port, state, seen))
                written = seen
        assert db.run(leases.all_leases(db.port, state, changes.name, "stream")) == [written]
        assert (written == seen) is not is_applied


@pytest.mark.parametrize("sign", ["a release with a checkpoint", "the shard's end"])
def test_a_beat_that_finds_no_owner_ends_the_work(changes: Changes, sign: str) -> None:
    """Its release, or the end of the shard, was stored, and the answer was lost: another may hold it soon."""
    with fresh() as db:
        shard = HeldShard(held(db, changes), "stream", renewed_at=db.port.monotonic())
        kernel = Kernel(db.port, UNGATED, lambda: False, "live", Trouble(db.port))
        worker = ConsumerWorker(db.port, changes.consumer, ConsumerOptions(), kernel)
        db.run(LIVE[sign](db.port, changes.consumer.state, shard.lease))
        db.run(worker._renew(shard))
        assert shard.is_lost


@pytest.mark.parametrize("winner", ["late", "other", ""])
def test_a_take_whose_answer_was_lost(changes: Changes, monkeypatch: pytest.MonkeyPatch, winner: str) -> None:
    """Of two that take one lease, the one whose mark it has is the owner; nobody, where it has none."""
    state = changes.consumer.state
    with fresh() as db:
        seen, update = held(db, changes), flows.update

        async def losing(port: Port, key: Any, updates: Any, **options: Any) -> Any:
            if winner:
                kind: Any = state.lease
                await update(port, key, (attr(kind.owner).set(winner), *updates[1:]), **options)
                await update(port, key, (attr(kind.wanted_by).set("third"),))
            raise OutcomeUnknown("lost")

        monkeypatch.setattr(flows, "update", losing)
        taken = db.run(leases.take(db.port, state, seen, "late"))
        assert (taken is not None and (taken.owner, taken.fence, taken.wanted_by)) == (
            ("late", 2, "third") if winner == "late" else False
        )


def test_a_repeated_answer_is_handled_once(changes: Changes) -> None:
    """A service may give a record again behind another iterator: each is handled once a lease."""
    seen = Seen()
    changes.on(Note).inserted(seen)
    with fresh() as db:
        for number in range(5):
            db.create(Note(id=f"n{number}"))
        repeat(db)
        ChangeWorker(db, changes).drain()
        assert sorted(seen.told) == [f"Inserted note n{number}" for number in range(5)]
        assert ChangeWorker(db, changes).check() == []


def repeat(db: Database) -> None:
    """Answers of GetRecords hold two records, and begin with all that the answers before them held."""
    given: list[StreamRecord] = []
    waiting: list[StreamRecord] = []
    to = db.port.to

    def shell_of(service: Any) -> Port:
        source: Any = to(service)
        if "send_all" in source.__dict__:
            return cast(Port, source)
        send_all = source.send_all

        async def repeated(operations: Any) -> Any:
            answers = await send_all(operations)
            return [taken(a) if isinstance(o, GetRecords) else a for o, a in zip(operations, answers, strict=True)]

        source.__dict__["send_all"] = repeated
        return cast(Port, source)

    def taken(answer: Any) -> Any:
        waiting.extend(answer.records)
        if not waiting:
            return answer
        given.extend(waiting[:2])
        del waiting[:2]
        return msgspec.structs.replace(answer, records=list(given))

    port: Any = db.port
    port.__dict__["to"] = shell_of


def letter_of(size: int) -> StreamRecord:
    """A record with an image of so many random bytes, as text that hardly gets smaller."""
    text = base64.b64encode(random.Random(7).randbytes(size)).decode()
    image = {"_type": {"S": "note"}, "_v": {"N": "1"}, "id": {"S": "n1"}, "text": {"S": text}}
    images = {"Keys": {"pk": {"S": "note#n1"}, "sk": {"S": "note"}}, "SequenceNumber": "7", "NewImage": image}
    record = {"eventName": "INSERT", "dynamodb": {**images, "ApproximateCreationDateTime": 1479499740.0}}
    return read_records(json.dumps([record]).encode())[0]


@pytest.mark.parametrize(("size", "parts"), [(1_000, 1), (500_000, 2), (900_000, 3), (1_300_000, 4)])
def test_a_letter_of_any_number_of_parts_is_whole(changes: Changes, size: int, parts: int) -> None:
    seen, state, record = Seen(), changes.consumer.state, letter_of(size)
    changes.on(Note).inserted(seen)
    with fresh() as db:
        lease = held(db, changes)
        db.run(store_dead_letter(db.port, state, lease, record, "note", 5, ValueError("bad")))
        assert len(list(db.scan(state.dead_letter))) == parts
        worker = ChangeWorker(db, changes)
        (letter,) = worker.dead_letters()
        assert letter.payload == msgspec.json.encode(record)
        assert letter.record == record
        worker.retry(letter)
        assert seen.told == ["Inserted note n1"]
        assert list(db.scan(state.dead_letter)) == []


def test_letters_are_read_consistently(changes: Changes) -> None:
    """Else a letter that was stored just now is missing, and one that was dropped is there."""
    asked: list[Any] = []
    with fresh() as db:
        db.run(
            store_dead_letter(db.port, changes.consumer.state, held(db, changes), letter_of(10), "note", 5, OSError())
        )
        note_queries(db, asked)
        worker = ChangeWorker(db, changes)
        (letter,) = worker.dead_letters()
        worker.drop(letter)
        assert worker.dead_letters() == []
    assert len(asked) >= 3
    assert all(body.get("ConsistentRead") is True for body in asked)


def note_queries(db: Database, asked: list[Any]) -> None:
    """The bodies of all queries from now on."""
    port: Any = db.port
    send = port.send

    async def noted_too(operation: Any) -> Any:
        if hasattr(operation, "request") and (request := operation.request()).operation == "Query":
            asked.append(json.loads(request.body))
        return await send(operation)

    port.__dict__["send"] = noted_too
