"""Random steps of a world: each draws what it needs from a chooser, so that a seed or hypothesis can drive it.

`Choose` gives one of several values. A step is a coroutine over a world; its name says which verb it tries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Protocol, TypeVar

from singletable import NotUnique, TransactionCancelled, attr
from tests.faults.world import COUNTED, EXPIRING, KINDS, Place, Verdict, World, ends_at
from tests.rules.models import Counted, Named, Passing, Plain, Ranked, Session

T = TypeVar("T")
IDS = ("1", "2", "3")
TEXTS = ("x", "y", "z")
MAY_BE_UNKNOWN = frozenset(
    {
        "put of a count",
        "update by a copy",
        "update of an expiry",
        "delete by a copy",
        "add",
        "append",
    }
)
"""The verbs whose lost answers nothing can settle: what they hold as a condition may have been broken by another, or
by themselves; and sums, which are sent once."""


class Choose(Protocol):
    def __call__(self, options: Sequence[T]) -> T: ...


def entity(world: World, choose: Choose) -> Any:
    """Any entity, of any class."""
    kind, id, text = choose(KINDS), choose(IDS), choose(TEXTS)
    ends = choose((None, ends_at(world.clock, 0), ends_at(world.clock, 30), ends_at(world.clock, 90)))
    if kind is Plain:
        return Plain(id=id, text=text, phone=choose((None, "12", "34")))
    if kind is Ranked:
        return Ranked(id=id, text=text, group=choose(("a", "b")), rank=choose((1, 2, 30)))
    if kind is Counted:
        return Counted(id=id, text=text)
    if kind is Named:
        return Named(id=id, text=text, email=choose(TEXTS), nick=choose((None, "n", "m")))
    if kind is Passing:
        return Passing(id=id, text=text, ends=ends)
    return Session(id=id, text=text, token=choose(TEXTS), ends=ends)


async def create(world: World, choose: Choose, writer: int) -> None:
    made = entity(world, choose)
    verdict = world.create(made)
    await world.attempt("create", lambda s: s.create(made), verdict, may_be_unknown=False, writer=writer)


async def put(world: World, choose: Choose, writer: int) -> None:
    """Of a count, by a copy that may be out of date."""
    made = entity(world, choose)
    if isinstance(made, COUNTED):
        copy = world.copies.get((writer, (type(made), made.id)))
        made.revision = copy.revision if copy is not None else 0
    verdict = world.put(made)
    verb = "put of a count" if isinstance(made, COUNTED) else "put"
    await world.attempt(verb, lambda s: s.put(made), verdict, may_be_unknown=verb in MAY_BE_UNKNOWN, writer=writer)


async def upsert(world: World, choose: Choose, writer: int) -> None:
    made = entity(world, choose)
    verdict = world.upsert(made)
    await world.attempt("upsert", lambda s: s.upsert(made), verdict, may_be_unknown=False, writer=writer)


async def update(world: World, choose: Choose, writer: int) -> None:
    """Constants, of any attribute, by key or by a copy."""
    kind, id = choose(KINDS), choose(IDS)
    changes = _changes(world, kind, choose)
    updates = [attr(getattr(kind, name)).set(value) for name, value in changes.items()]
    copy = world.copies.get((writer, (kind, id)))
    by_copy = copy is not None and choose((True, False))
    target = copy if by_copy else kind.by_id(id)
    expected = copy.revision if copy is not None and by_copy and kind in COUNTED else None
    verdict = world.update((kind, id), changes, expected)
    verb = "update of an expiry" if kind is Passing and "ends" in changes else "update"
    if by_copy and kind in COUNTED:
        verb = "update by a copy"
    unknown = verb in MAY_BE_UNKNOWN
    await world.attempt(verb, lambda s: s.update(target, *updates), verdict, may_be_unknown=unknown, writer=writer)


async def add(world: World, choose: Choose, writer: int) -> None:
    """A sum, once or exactly once; on a ranked item it moves the key of an index."""
    kind: Any
    kind, name = choose(((Plain, "count"), (Ranked, "rank"), (Counted, "count"), (Named, "count")))
    id, once = choose(IDS), choose((True, False))
    old = world.alive((kind, id))
    verdict = world.update((kind, id), {name: (getattr(old, name) if old else 0) + 1})
    await world.attempt(
        "add exactly once" if once else "add",
        lambda s: s.update(kind.by_id(id), attr(getattr(kind, name)).add(1), exactly_once=once),
        verdict,
        may_be_unknown=not once,
        writer=writer,
    )


async def append(world: World, choose: Choose, writer: int) -> None:
    id, once = choose(IDS), choose((True, False))
    old = world.alive((Plain, id))
    verdict = world.update((Plain, id), {"tags": [*(old.tags if old else ()), "t"]})
    await world.attempt(
        "append exactly once" if once else "append",
        lambda s: s.update(Plain.by_id(id), attr(Plain.tags).append("t"), exactly_once=once),
        verdict,
        may_be_unknown=not once,
        writer=writer,
    )


async def delete(world: World, choose: Choose, writer: int) -> None:
    kind, id = choose(KINDS), choose(IDS)
    copy = world.copies.get((writer, (kind, id)))
    by_copy = copy is not None and choose((True, False))
    target = copy if by_copy else kind.by_id(id)
    counted = by_copy and kind in COUNTED
    verdict = world.delete((kind, id), copy.revision if copy is not None and counted else None)
    verb = "delete by a copy" if counted else "delete"
    await world.attempt(verb, lambda s: s.delete(target), verdict, may_be_unknown=counted, writer=writer)


async def write_many(world: World, choose: Choose, writer: int) -> None:
    puts = [Plain(id=id, text=choose(TEXTS)) for id in IDS]
    gone = Ranked.by_id(choose(IDS))
    after: dict[Place, Any] = {(Plain, p.id): p for p in puts} | {(Ranked, gone.partition[-1]): None}
    verdict = Verdict(after)
    act = lambda s: s.write_many(puts=puts, deletes=[gone])  # noqa: E731
    await world.attempt("write_many", act, verdict, may_be_unknown=False, writer=writer)


async def transact(world: World, choose: Choose, writer: int) -> None:
    """Two or three writes of different items, together; unique values may change hands."""
    writes: dict[Place, tuple[Callable[[Any], None], Verdict]] = {}
    for _ in range(choose((2, 3))):
        place = choose(KINDS), choose(IDS)
        how = choose((_created, _updated, _deleted))
        if place not in writes:
            writes[place] = how(world, place, choose)

    async def act(shell: Any) -> None:
        async with shell.transaction() as tx:
            for write, _ in writes.values():
                write(tx)

    together: dict[Place, Any] = {}
    for _, each in writes.values():
        together |= each.after
    refused = any(each.errors for _, each in writes.values()) or world.clashes(together)
    verdict = Verdict(errors=(TransactionCancelled, NotUnique)) if refused else Verdict(together)
    await world.attempt("transaction", act, verdict, may_be_unknown=False, writer=writer)


def _created(world: World, place: Place, choose: Choose) -> tuple[Callable[[Any], None], Verdict]:
    kind, id = place
    made = replace(entity_of(world, kind, choose), id=id)
    after = replace(made, revision=1) if kind in COUNTED else replace(made)
    verdict = Verdict(errors=(TransactionCancelled,)) if world.alive(place) is not None else Verdict({place: after})
    return lambda tx: tx.create(made), verdict


def _updated(world: World, place: Place, choose: Choose) -> tuple[Callable[[Any], None], Verdict]:
    kind, id = place
    changes, old = _changes(world, kind, choose), world.alive(place)
    updates = [attr(getattr(kind, name)).set(value) for name, value in changes.items()]
    if old is None:
        verdict = Verdict(errors=(TransactionCancelled,))
    else:
        counted = {"revision": old.revision + 1} if kind in COUNTED else {}
        verdict = Verdict({place: replace(old, **changes, **counted)})
    return lambda tx: tx.update(kind.by_id(id), *updates), verdict


def _deleted(world: World, place: Place, choose: Choose) -> tuple[Callable[[Any], None], Verdict]:
    kind, id = place
    return lambda tx: tx.delete(kind.by_id(id)), Verdict({place: None})


async def read(world: World, choose: Choose, writer: int) -> None:
    await world.read((choose(KINDS), choose(IDS)), writer)


async def read_index(world: World, choose: Choose, writer: int) -> None:
    await world.read_index(writer)


async def wait(world: World, choose: Choose, writer: int) -> None:
    """Time goes on, to the second at which something ends or past it."""
    world.clock.advance(choose((1, 30, 45)))


STEPS = (create, put, upsert, update, add, append, delete, write_many, transact, read, read_index, wait)


def entity_of(world: World, kind: type[Any], choose: Choose) -> Any:
    """Any entity of a class."""

    def of_kind(options: Sequence[Any]) -> Any:
        return kind if options is KINDS else choose(options)

    return entity(world, of_kind)


def _changes(world: World, kind: type[Any], choose: Choose) -> dict[str, Any]:
    made = entity_of(world, kind, choose)
    names = [n for n in ("text", "phone", "group", "rank", "email", "nick", "token") if hasattr(made, n)]
    if kind in EXPIRING:
        names.append("ends")
    chosen = {choose(names), choose(names)}
    return {name: getattr(made, name) for name in sorted(chosen)}
