"""What AWS refuses by documented rules, and an engine on a laptop may take: found here, by name, before it is sent."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

from singletable import ANY, Entity, Index, InvalidRequest, InvalidValue, Key, Table, attr, field
from singletable.errors import DeclarationError, SingletableError, TooLarge
from singletable.schema.models import model_of
from singletable.values import to_attribute_value
from tests.graph.models import Goal, GoalMembership, User
from tests.support.shells import Shell

cupboard = Table("cupboard", indexes=["gsi1"])


@dataclass
class Link:
    number: int
    next: Link | None = None


class Jar(Entity, table=cupboard, type="jar"):
    id: str
    shelf: str | None = None
    label: str = ""
    free: Any = None
    counts: dict[str, int] = field(default_factory=dict[str, int])
    lines: list[str] = field(default_factory=list[str])
    chain: Link | None = None

    @cupboard.key
    @staticmethod
    def by_id(id: str) -> Key:
        return f"{id}", "jar"

    @cupboard.index("gsi1")
    @staticmethod
    def on_shelf(shelf: str, label: str = ANY) -> Key:
        return f"{shelf}", f"{label}"


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value} if depth % 2 else [value]
    return value


def chain(length: int, last: Any = 0) -> Link:
    link = Link(last)
    for number in range(1, length):
        link = Link(number, link)
    return link


Make = Callable[[], Jar]
REFUSED: dict[str, tuple[Make, type[SingletableError], str]] = {
    "an empty key": (lambda: Jar(id=""), InvalidValue, "empty"),
    "a partition key over 2,048 bytes": (lambda: Jar(id="é" * 1025), InvalidValue, "2048"),
    "an empty partition of an index": (lambda: Jar(id="1", shelf="", label="x"), InvalidValue, "empty"),
    "an empty sort key of an index": (lambda: Jar(id="1", shelf="x"), InvalidValue, "empty"),
    "a partition of an index over 2,048 bytes": (
        lambda: Jar(id="1", shelf="x" * 2049, label="x"),
        InvalidValue,
        "2048",
    ),
    "an index's sort key over 1,024 bytes": (lambda: Jar(id="1", shelf="x", label="é" * 513), InvalidValue, "1024"),
    "an empty name in a map": (lambda: Jar(id="1", counts={"": 1}), InvalidValue, "at least one character"),
    "an empty name in a free map": (lambda: Jar(id="1", free=[{"": 1}]), InvalidValue, "at least one character"),
    "a name over 64 KB": (lambda: Jar(id="1", counts={"é" * 32_768: 1}), InvalidValue, "65535 bytes"),
    "a free name over 64 KB": (lambda: Jar(id="1", free={"x" * 65_536: 1}), InvalidValue, "65535 bytes"),
    "32 maps in each other": (lambda: Jar(id="1", free=nested(33)), InvalidValue, "32 levels"),
    "lists in each other": (lambda: Jar(id="1", free=nested(34)), InvalidValue, "32 levels"),
    "lists without an end to speak of": (lambda: Jar(id="1", free=nested(100_000)), InvalidValue, "32 levels"),
    "a chain of 400 objects": (lambda: Jar(id="1", chain=chain(400)), InvalidValue, "32 levels"),
    "a chain of 5,000 objects": (lambda: Jar(id="1", chain=chain(5_000)), InvalidValue, "32 levels"),
    "an empty set in a map": (lambda: Jar(id="1", free={"a": set[str]()}), InvalidValue, "no empty set"),
    "a set of two types": (lambda: Jar(id="1", free={1, "a"}), InvalidValue, "int is expected"),
    "a number of 39 digits": (lambda: Jar(id="1", free=Decimal("1." + "1" * 38)), InvalidValue, "38"),
    "a number over 1E+126": (lambda: Jar(id="1", free=Decimal("1E+126")), InvalidValue, "range"),
    "an item over 400 KB": (lambda: Jar(id="1", lines=["x" * 205_000] * 2), TooLarge, "lines"),
}


@pytest.mark.parametrize("name", REFUSED)
async def test_no_write_takes_it(shell: Shell, name: str) -> None:
    make, error, said = REFUSED[name]
    await shell.put(Jar(id="0"))
    with shell.meter() as meter:
        for write in (
            lambda: shell.put(make()),
            lambda: shell.create(make()),
            lambda: shell.upsert(make()),
            lambda: shell.write_many(puts=[make()]),
            lambda: in_transaction(shell, make),
        ):
            with pytest.raises(error, match=said):
                await write()
    assert meter.requests == 0


async def in_transaction(shell: Shell, make: Make) -> None:
    async with shell.transaction() as tx:
        tx.put(make())


CHANGES = {
    "empty": attr(Jar.label).set(""),
    "1024": attr(Jar.label).set("x" * 1025),
    "at least one character": attr(Jar.counts).set({"": 1}),
    "32 levels": attr(Jar.free).set(nested(40)),
    "no empty set": attr(Jar.free).set([set[str]()]),
}


@pytest.mark.parametrize("said", CHANGES)
async def test_no_update_takes_it(shell: Shell, said: str) -> None:
    jar = Jar(id="1", shelf="x", label="y")
    await shell.put(jar)
    with shell.meter() as meter, pytest.raises(InvalidValue, match=said):
        await shell.update(jar, CHANGES[said])
    assert meter.requests == 0


async def test_what_is_just_within_the_rules(shell: Shell) -> None:
    jar = Jar(
        id="x" * 2048,
        shelf="x" * 2048,
        label="é" * 512,
        free={"x" * 65_535: nested(30), "a": nested(30)},
        counts={"é" * 32_767: 1},
        chain=chain(31),
    )
    await shell.put(jar)
    assert await shell.get(Jar.by_id(jar.id)) == jar


async def test_an_update_past_400_kb_is_too_large(shell: Shell) -> None:
    """The values of one update are weighed here, what they make of the item by the service."""
    await shell.put(Jar(id="1"))
    with shell.meter() as meter, pytest.raises(TooLarge, match="an update with a value of") as refused:
        await shell.update(Jar.by_id("1"), attr(Jar.lines).set(["x" * 205_000] * 2))
    assert meter.requests == 0
    assert "409600" in refused.value.what
    assert (refused.value.table, refused.value.operation) == ("cupboard", "UpdateItem")
    await shell.update(Jar.by_id("1"), attr(Jar.lines).append("x" * 300_000))
    with pytest.raises(TooLarge) as late:
        await shell.update(Jar.by_id("1"), attr(Jar.lines).append("x" * 200_000), exactly_once=False)
    error = late.value
    assert (error.table, error.key.shown, error.operation) == ("cupboard", Jar.by_id("1").shown, "UpdateItem")
    assert error.hint
    with pytest.raises(TooLarge):
        await shell.update(Jar.by_id("1"), attr(Jar.lines).append("x" * 200_000), exactly_once=True)


async def test_a_transaction_of_updates_past_4_mb_is_too_large(shell: Shell) -> None:
    async def change() -> None:
        async with shell.transaction() as tx:
            for number in range(12):
                tx.upsert(Jar(id=f"{number}", lines=["x" * 390_000]))

    await shell.put(Jar(id="0"))
    with shell.meter() as meter, pytest.raises(TooLarge, match="a transaction of"):
        await change()
    assert meter.requests == 0


async def test_equal_numbers_are_one_member_of_a_set(shell: Shell) -> None:
    """In Python 0.1 and Decimal("0.1") are two numbers, in DynamoDB a duplicate, which it refuses."""
    await shell.put(Jar(id="1", free={0.1, Decimal("0.1"), 7}))
    found = await shell.get(Jar.by_id("1"))
    assert found is not None
    assert found.free == {Decimal("0.1"), 7}
    assert to_attribute_value({0.1, Decimal("0.10")})["NS"] in (["0.1"], ["0.10"])


async def test_any_limit_of_a_page(shell: Shell) -> None:
    """The service's own is 32 bits wide; a page of more is what there is."""
    await shell.put(Jar(id="1", shelf="x", label="y"))
    for limit in (2**31, 10**12, 10**30):
        assert len(await shell.page(Jar.on_shelf("x"), limit=limit)) == 1
        assert len(await shell.page(Jar.on_shelf("x").where(attr(Jar.id) == "1"), limit=limit)) == 1
    with pytest.raises(InvalidRequest, match="at least one"):
        await shell.page(Jar.on_shelf("x"), limit=0)


async def test_a_key_is_no_filter(shell: Shell) -> None:
    goal, ada = Goal.by_id("g"), User.by_id("ada")
    edge: Any = GoalMembership
    target = attr(edge.target) == ada
    for query in (
        GoalMembership.of(goal).where(target),
        GoalMembership.by_rank(ada).where(target),
        GoalMembership.of(goal).where(attr(edge.source) == goal),
        Goal.by_id("g").where(attr(Goal.id) == "g"),
    ):
        with pytest.raises(InvalidRequest, match="part of the key") as refused:
            await shell.all(query)
        assert refused.value.attribute is not None
    by_source = GoalMembership.by_rank(ada).where(attr(edge.source) == goal)
    assert await shell.all(by_source) == []


def test_a_wrong_value_deep_inside_is_found_at_once() -> None:
    """Each level of an object asked the next what was wrong, twice: 2 to the power of its depth."""
    started = time.perf_counter()
    with pytest.raises(InvalidValue, match="int is expected") as refused:
        model_of(Jar).item(Jar(id="1", chain=chain(30, "no number")))
    assert refused.value.attribute == "Jar.chain"
    assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "declare",
    [
        lambda: Table("cupboard", key=("", "sk")),
        lambda: Table("cupboard", key=("pk", "k" * 256)),
        lambda: Table("cupboard", indexes={"gsi1": ("", "b")}),
        lambda: Table("cupboard", indexes={"gsi1": ("a", "é" * 128)}),
        lambda: Table("cupboard", indexes={"gsi1": Index("a", "b", ("",))}),
        lambda: Table("cupboard", indexes={"gsi1": Index("a", "b", ("x" * 256,))}),
        lambda: Table("cupboard", indexes={f"gsi{n}": Index(f"a{n}", "b", tuple("xyzuvwpqrst")) for n in range(10)}),
        lambda: Table("cu"),
        lambda: Table("cup board"),
        lambda: Table("cupboard", indexes=["g"]),
        lambda: Table("cupboard", indexes=[f"gsi{n}" for n in range(21)]),
    ],
)
def test_what_no_table_is_called(declare: Callable[[], Table]) -> None:
    with pytest.raises(DeclarationError):
        declare()


@pytest.mark.parametrize("name", ["", "x" * 65_536])
def test_what_no_attribute_is_called(name: str) -> None:
    table = Table("drawer")
    with pytest.raises(DeclarationError, match="no name"):

        class Thing(Entity, table=table, type="thing"):
            id: str
            text: str = field(name=name, default="")

            @table.key
            @staticmethod
            def by_id(id: str) -> Key:
                return f"{id}", "thing"
