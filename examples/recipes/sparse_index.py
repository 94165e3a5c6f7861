"""Sparse index: find the few orders that need somebody, without reading the many that don't.

A filter reads everything and throws most of it away, and you pay for what it read. An item is in an index only while
the attributes of its index key have values: one that is None takes it out.
"""

from datetime import datetime, timedelta, timezone

from singletable import ANY, Database, Entity, Key, Table, attr, connect

app = Table("app", indexes=["gsi1"])


class Order(Entity, table=app, type="order"):
    number: int
    customer: str
    flagged_at: datetime | None = None

    @app.key
    @staticmethod
    def by_number(number: int) -> Key:
        """One order."""
        return f"order#{number}", "order"

    @app.index("gsi1")
    @staticmethod
    def flagged(flagged_at: datetime = ANY, number: int = ANY) -> Key:
        """The orders that need somebody, longest first. The partition has one name, as they are few."""
        return "flagged-orders", f"{flagged_at}#{number}"


def flag(db: Database, number: int, now: datetime) -> None:
    """Put an order before somebody. NotFound."""
    db.update(Order.by_number(number), attr(Order.flagged_at).set(now))


def settle(db: Database, number: int) -> None:
    """Nobody is needed any more: the order leaves the index. NotFound."""
    db.update(Order.by_number(number), attr(Order.flagged_at).remove())


def main() -> None:
    now = datetime(2026, 3, 1, 9, tzinfo=timezone.utc)
    with connect("local") as db:
        db.write_many(puts=[Order(number=number, customer=f"c{number % 50}") for number in range(1000)])
        with db.meter() as flagging:
            flag(db, 7, now)
        flag(db, 311, now - timedelta(days=2))
        flag(db, 42, now - timedelta(days=1))

        with db.meter() as looking:
            found = db.all(Order.flagged())
        print("need somebody:", [order.number for order in found], "of 1000 orders")

        with db.meter() as settling:
            settle(db, 311)
        print("after one is settled:", [order.number for order in db.all(Order.flagged())])
        with db.meter() as scanning:
            by_filter = sorted(order.number for order in db.scan(Order) if order.flagged_at is not None)
        print("the same by reading every order:", by_filter)

        print("costs")
        print("  flag:  ", flagging)
        print("  settle:", settling)
        print("  look:  ", looking)
        print("  scan:  ", scanning)


if __name__ == "__main__":
    main()
