"""A form in a key that changes, on live data: an index key is rewritten, a primary key is a move."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from singletable import ANY, Key, at_least
from singletable.errors import DeclarationError
from singletable.migrations import Migrations
from tests.migrations.changing import order, refused
from tests.support.engines import fresh
from tests.support.raw import all_items

NOON = datetime(2026, 1, 31, 12, tzinfo=timezone.utc)
ATTRIBUTES: dict[str, Any] = {"number": int, "placed": datetime}


def whole(placed: datetime, number: int = ANY) -> Key:
    """The orders of an instant."""
    return f"placed#{placed}", f"{number}"


def by_month(placed: datetime, number: int = ANY) -> Key:
    """The orders of a month."""
    return f"placed#{placed:%Y-%m}", f"{number:06}"


def by_digits(number: int) -> Key:
    return f"orders#{number:raw}", "order"


def by_rank(number: int) -> Key:
    return f"order#{number}", "order"


def test_an_index_key_in_another_form_is_rewritten() -> None:
    was, kind = order(ATTRIBUTES, patterns={"gsi1": whole})
    now, again = order(ATTRIBUTES, patterns={"gsi1": by_month})
    with fresh() as db:
        Migrations(db, was).apply()
        db.write_many(puts=[kind(number=n, placed=NOON + timedelta(days=n)) for n in range(4)])
        plan = Migrations(db, now).plan()
        assert [(one.rule, one.index) for one in plan.differences] == [("pattern.changed", "gsi1")]
        Migrations(db, now).apply()
        assert [one.number for one in db.all(again.in_gsi1(NOON))] == [0]
        assert [one.number for one in db.all(again.in_gsi1(NOON + timedelta(days=9), at_least(2)))] == [2, 3]
        assert db.check(now) == []
        assert Migrations(db, now).plan().is_empty


def test_a_primary_key_in_another_form_is_a_move() -> None:
    was, kind = order(ATTRIBUTES, key=by_rank)
    now, _ = order(ATTRIBUTES, key=by_digits)
    moving, moved = order(ATTRIBUTES, key=by_digits, was=by_rank)
    with fresh() as db:
        Migrations(db, was).apply()
        db.write_many(puts=[kind(number=n, placed=NOON) for n in range(12)])
        assert refused(db, now) == ("changed key", [("key.changed", "Order", 12)])
        assert db.get(moved.by_key(11)) == moved(number=11, placed=NOON)
        Migrations(db, moving).apply()
        keys = {item["pk"]["S"] for item in db.run(all_items(db.port, now.name)) if item.get("number")}
        assert keys == {f"orders#{n}" for n in range(12)}
        assert db.check(moving) == []


def test_a_form_that_loses_is_not_one_to_move_to_by_itself() -> None:
    def by_year(placed: datetime) -> Key:
        return f"orders#{placed:%Y}", "order"

    def before(placed: datetime) -> Key:
        return f"order#{placed}", "order"

    with pytest.raises(DeclarationError, match="the old key holds placed, which the new one doesn't tell"):
        order(ATTRIBUTES, key=by_year, was=before)


def test_a_partition_is_not_listed_in_two_orders() -> None:
    def digits(placed: datetime, number: int = ANY) -> Key:
        return f"orders#{placed}", f"{number:raw}"

    def before(placed: datetime, number: int = ANY) -> Key:
        return f"order#{placed}", f"{number}"

    with pytest.raises(DeclarationError, match="can't be listed in one order"):
        order(ATTRIBUTES, key=digits, was=before)


def over(count: int, literal: str = "numbers") -> Any:
    """The orders of a day by number, over so many shards."""

    def of_day(number: int = ANY, placed: datetime = ANY) -> Key:
        """The orders by number."""
        if count == 1:
            return literal, f"{number:06}#{placed}"
        return eval(f"f'{literal}#{{placed:shard({count})}}'", {"placed": placed}), f"{number:06}#{placed}"

    return of_day


def test_another_count_of_shards_rewrites_index_keys() -> None:
    was, kind = order(ATTRIBUTES, patterns={"gsi1": over(8)})
    now, again = order(ATTRIBUTES, patterns={"gsi1": over(16)})
    with fresh() as db:
        Migrations(db, was).apply()
        orders = [kind(number=n, placed=NOON + timedelta(days=n)) for n in range(20)]
        db.write_many(puts=orders)
        assert db.all(kind.in_gsi1()) == orders
        plan = Migrations(db, now).plan()
        assert [(one.rule, one.index) for one in plan.differences] == [("pattern.changed", "gsi1")]
        Migrations(db, now).apply()
        assert [one.number for one in db.all(again.in_gsi1(at_least(5)))] == list(range(5, 20))
        assert db.check(now) == []
        assert Migrations(db, now).plan().is_empty


@pytest.mark.parametrize(("before", "after"), [(8, 16), (1, 16), (8, 1)])
def test_a_primary_key_with_another_count_of_shards_is_a_move(before: int, after: int) -> None:
    """Meanwhile all shards of both keys are listed in one order, by pages and newest first too."""
    was, kind = order(ATTRIBUTES, key=over(before, "orders"))
    now, again = order(ATTRIBUTES, key=over(after, "orders"))
    moving, moved = order(ATTRIBUTES, key=over(after, "orders"), was=over(before, "orders"))
    with fresh() as db:
        Migrations(db, was).apply()
        db.write_many(puts=[kind(number=n, placed=NOON + timedelta(days=n)) for n in range(20)])
        assert refused(db, now) == ("changed key", [("key.changed", "Order", 20)])
        orders = [moved(number=n, placed=NOON + timedelta(days=n)) for n in range(20)]
        for at in (11, 4, 19):
            db.put(orders[at])
        assert db.get(moved.by_key(11, NOON + timedelta(days=11))) == orders[11]
        with db.meter() as meter:
            assert db.all(moved.by_key()) == orders
        assert (meter.requests, meter.round_trips) == (before + after, 2)
        assert db.all(moved.by_key(at_least(7)).newest_first()) == orders[:6:-1]
        paged, cursor = list[Any](), None
        while True:
            page = db.page(moved.by_key(), limit=3, after=cursor)
            paged += page
            if (cursor := page.cursor) is None:
                break
        assert paged == orders
        Migrations(db, moving).apply()
        assert db.all(moved.by_key()) == orders
        assert db.check(moving) == []
        Migrations(db, now).apply()
        assert [one.number for one in db.all(again.by_key())] == list(range(20))


def test_shards_of_one_width_need_another_literal() -> None:
    def old(number: int, placed: datetime) -> Key:
        return f"orders#{placed:shard(16)}", f"{number:06}#{placed}"

    def new(number: int, placed: datetime) -> Key:
        return f"orders#{placed:shard(32)}", f"{number:06}#{placed}"

    with pytest.raises(DeclarationError, match="the old key and the new one could be equal"):
        order(ATTRIBUTES, key=new, was=old)
