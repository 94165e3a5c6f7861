"""Masked copies of many items with short keys of each kind: none is lost, each is found by its masked key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import ANY, Entity, InvalidRequest, Key, Table, field
from singletable.exchange import TableCopy
from singletable.tables import B, N
from singletable.values import EpochSeconds
from tests.support.engines import fresh

KEY = b"a key for these masks"
NOON = datetime(2024, 1, 1, 12, tzinfo=timezone.utc)

tools = Table("tools")
levels = Table(
    "levels", key=("place", N("level")), indexes={"by_state": ("state", N("level"))}, foreign=True, own_items=tools
)
digests = Table("digests", key=B("digest"), foreign=True, own_items=tools)
ticks = Table("ticks", key=N("at"), foreign=True, own_items=tools)
forms = Table("forms", indexes=["gsi1"])
seconds = Table("seconds")
days = Table("days")
names = Table("names")
guarded = Table("guarded", overlap="guard")


class Level(Entity, table=levels, type="level"):
    place: str
    level: int = field(personal=True)
    state: str = "ok"

    @levels.key
    @staticmethod
    def of(place: str, level: int = ANY) -> Key:
        return f"{place}", f"{level}"

    @levels.index("by_state")
    @staticmethod
    def by_state(state: str, level: int = ANY) -> Key:
        return f"{state}", f"{level}"


class Digest(Entity, table=digests, type="digest"):
    digest: bytes = field(personal=True)

    @digests.key
    @staticmethod
    def of(digest: bytes) -> str:
        return f"{digest!r}"


class Tick(Entity, table=ticks, type="tick"):
    at: EpochSeconds = field(personal=True)

    @ticks.key
    @staticmethod
    def of(at: datetime) -> str:
        return f"{at}"


class Form(Entity, table=forms, type="form"):
    number: int = field(in_key=True, personal=True)
    day: date = field(in_key=True, personal=True)
    name: str = field(personal=True)

    @forms.key
    @staticmethod
    def of(number: int, day: date = ANY) -> Key:
        return f"form#{number:raw}", f"{day:%Y/%m/%d}"

    @forms.index("gsi1")
    @staticmethod
    def by_name(name: str, day: date = ANY) -> Key:
        return f"name#{name:lower}", f"{day:%Y-%m}"


class Second(Entity, table=seconds, type="second"):
    at: datetime = field(in_key=True, personal=True)

    @seconds.key
    @staticmethod
    def of(at: datetime) -> Key:
        return f"second#{at:s}", "second"


class Visit(Entity, table=days, type="visit", ambiguous=True):
    place: str
    at: datetime = field(personal=True)

    @days.key
    @staticmethod
    def of(place: str, at: datetime = ANY) -> Key:
        return f"place#{place}", f"{at:%Y-%m-%d}"


class Nickname(Entity, table=names, type="nickname", ambiguous=True):
    name: str = field(personal=True)
    group: str = field(personal=True)

    @names.key
    @staticmethod
    def of(name: str, group: str) -> Key:
        return f"group#{group}", f"{name:lower}"


class Badge(Entity, table=guarded, type="badge"):
    name: str = field(personal=True)

    @guarded.key
    @staticmethod
    def of(name: str) -> Key:
        return f"badge#{name:raw}", "badge"


class Number(Entity, table=guarded, type="number"):
    number: int

    @guarded.key
    @staticmethod
    def of(number: int) -> Key:
        return f"badge#{number:raw}", "badge"


TEN_DIGITS = datetime(2001, 9, 10, tzinfo=timezone.utc)
"""Seconds since 1970 have ten digits from the day before: the masks of most times of that year have nine."""
KEPT: list[tuple[Table, Sequence[Any], Callable[[Any], Any]]] = [
    (levels, [Level(place="hall", level=n) for n in range(-99, 100)], lambda e: Level.of(e.place, e.level)),
    (digests, [Digest(digest=bytes([n])) for n in range(256)], lambda e: Digest.of(e.digest)),
    (ticks, [Tick(at=NOON + timedelta(days=n)) for n in range(366)], lambda e: Tick.of(e.at)),
    (seconds, [Second(at=TEN_DIGITS + timedelta(hours=n)) for n in range(200)], lambda e: Second.of(e.at)),
    (
        forms,
        [Form(number=n % 90 - 9, day=(NOON + timedelta(days=n)).date(), name="aB"[n % 2]) for n in range(366)],
        lambda e: Form.of(e.number, e.day),
    ),
]


@pytest.mark.parametrize(("table", "entities", "key_of"), KEPT, ids=[case[0].name for case in KEPT])
def test_no_item_is_lost(table: Table, entities: Sequence[Any], key_of: Callable[[Any], Any]) -> None:
    with fresh() as source, fresh() as target:
        source.create_table(table)
        source.write_many(puts=entities)
        assert TableCopy(source, target, table).run(mask_key=KEY).written == len(entities)
        copied = [*target.scan(type(entities[0]))]
        assert len(copied) == len(entities)
        assert copied[:3] == [target.get(key_of(each)) for each in copied[:3]]
        assert target.check(table) == []


@pytest.mark.parametrize(
    ("table", "entity", "why"),
    [
        (days, Visit(place="hall", at=NOON), "does not tell values of at apart"),
        (names, Nickname(name="Ada", group="x"), "does not tell values of name apart"),
        (guarded, Badge(name="7"), "which items of Number could have"),
    ],
)
def test_keys_that_masks_could_share_are_refused(table: Table, entity: Any, why: str) -> None:
    """Before anything is made; without masks the copy is as before."""
    with fresh() as source, fresh() as target:
        source.create_table(table)
        source.create(entity)
        for dry_run in (True, False):
            with pytest.raises(InvalidRequest, match=why):
                TableCopy(source, target, table).run(mask_key=KEY, dry_run=dry_run)
        assert TableCopy(source, target, table).run(keep_personal=True).written == 1
