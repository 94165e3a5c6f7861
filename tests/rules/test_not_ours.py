"""An item under a class's key that is not its own: without a type, of another one, also expired. No verb writes over
it: alone, in a transaction, with a condition, a unique value, a count. But write_many has no condition."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from singletable import AlreadyExists, ConditionFailed, InvalidRequest, NotFound, TransactionCancelled, attr
from tests.rules.bench import Bench
from tests.rules.models import Counted, Named, Passing, Plain, Session
from tests.support.raw import put_raw
from tests.support.shells import KINDS

WHOLE: list[Any] = [
    Plain(id="1"),
    Counted(id="1"),
    Named(id="1", email="a@x"),
    Passing(id="1"),
    Session(id="1", token="t"),
]
FORMS: Mapping[str, dict[str, Any]] = {
    "untyped": {"text": {"S": "theirs"}},
    "untyped, of another version": {"_v": {"N": "7"}},
    "untyped, expired": {"ends": {"N": "1"}, "_ttl": {"N": "1"}},
    "alien": {"_type": {"S": "alien"}, "_v": {"N": "1"}},
    "alien, expired": {"_type": {"S": "alien"}, "ends": {"N": "1"}, "_ttl": {"N": "1"}},
}


def _key(entity: Any) -> Any:
    return type(entity).by_id("1")


async def _create(bench: Bench, entity: Any) -> None:
    await bench.shell.create(entity)


async def _put(bench: Bench, entity: Any) -> None:
    await bench.shell.put(entity)


async def _put_where(bench: Bench, entity: Any) -> None:
    await bench.shell.put(entity, where=~(attr(type(entity).id) == "2"))


async def _upsert(bench: Bench, entity: Any) -> None:
    await bench.shell.upsert(entity)


async def _update(bench: Bench, entity: Any) -> None:
    where = ~(attr(type(entity).id) == "2")
    name = next(n for n in ("text", "token") if hasattr(entity, n))
    await bench.shell.update(_key(entity), attr(getattr(type(entity), name)).set("b"), where=where)


async def _delete(bench: Bench, entity: Any) -> None:
    assert await bench.shell.delete(_key(entity)) is None
    raise NotFound("as promised")


async def _transacted(bench: Bench, entity: Any) -> None:
    await bench.transact(lambda tx: (tx.put(entity), tx.put(Plain(id="beside"))))


async def _upsert_transacted(bench: Bench, entity: Any) -> None:
    await bench.transact(lambda tx: (tx.upsert(entity), tx.put(Plain(id="beside"))))


VERBS = (_create, _put, _put_where, _upsert, _update, _delete, _transacted, _upsert_transacted)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: verb.__name__.strip("_"))
async def test_no_verb_writes_over_it(
    verb: Callable[[Bench, Any], Awaitable[None]], form: str, kind: str, bench: Bench
) -> None:
    for entity in WHOLE:
        key = _key(entity)
        theirs = {**key.captured.owner.__model__.key_item(key), **FORMS[form]}
        await put_raw(bench.shell.port, type(entity), theirs)
        with pytest.raises((AlreadyExists, NotFound, ConditionFailed, TransactionCancelled, InvalidRequest)) as caught:
            await verb(bench, entity)
        refused = caught.value
        if isinstance(refused, TransactionCancelled):
            refused = refused.failures[0].error
        assert isinstance(refused, NotFound) or (isinstance(refused, AlreadyExists) and refused.of_another_type), entity
        assert await bench.raw(key) == theirs, entity
        assert await bench.raw(Plain.by_id("beside")) is None


@pytest.mark.parametrize("kind", KINDS)
async def test_a_refusal_says_that_the_item_has_no_type(kind: str, bench: Bench) -> None:
    await put_raw(bench.shell.port, Plain, {"pk": {"S": "plain#1"}, "sk": {"S": "plain"}, "text": {"S": "theirs"}})
    bench.start()
    with pytest.raises(AlreadyExists, match="without a type"):
        await bench.shell.put(Plain(id="1"))
    assert bench.requests == {"PutItem": 1} | bench.proofs(1)


@pytest.mark.parametrize("kind", KINDS)
async def test_write_many_has_no_conditions(kind: str, bench: Bench) -> None:
    await put_raw(bench.shell.port, Plain, {"pk": {"S": "plain#1"}, "sk": {"S": "plain"}, "text": {"S": "theirs"}})
    await bench.shell.write_many(puts=[Plain(id="1", text="ours")])
    assert await bench.shell.get(Plain.by_id("1")) == Plain(id="1", text="ours")
