"""Counters: many writers count at the same time, and no count is lost or made twice.

Reading a number, adding one and writing it back loses counts. `add` does it inside DynamoDB, a condition keeps a bound,
and `exactly_once=True` makes a count that may be repeated when its answer was lost.
"""

from singletable import ConditionFailed, Database, Entity, Key, Table, attr, connect

app = Table("app")


class Page(Entity, table=app, type="page"):
    path: str
    views: int = 0

    @app.key
    @staticmethod
    def at(path: str) -> Key:
        """One page."""
        return f"page#{path}", "page"


class Event(Entity, table=app, type="event"):
    event_id: str
    seats: int
    taken: int = 0

    @app.key
    @staticmethod
    def by_id(event_id: str) -> Key:
        """One event."""
        return f"event#{event_id}", "event"


def view(db: Database, path: str) -> int:
    """Count a view; the first one makes the item. Where the answer is lost it raises OutcomeUnknown: let it go, or
    count exactly once."""
    return db.upsert(Page(path=path), attr(Page.views).add(1)).views


def book(db: Database, event: Event) -> bool:
    """Take a seat, if there is one. The count is made exactly once: a transaction, at twice the units."""
    try:
        db.update(
            Event.by_id(event.event_id),
            attr(Event.taken).add(1),
            where=attr(Event.taken) < event.seats,
            exactly_once=True,
        )
    except ConditionFailed:
        return False
    return True


def main() -> None:
    with connect("local") as db:
        print("views:", [view(db, "/") for _ in range(3)])
        with db.meter() as viewing:
            view(db, "/")

        concert = Event(event_id="concert", seats=2)
        db.create(concert)
        with db.meter() as booking:
            print("first seat:", book(db, concert))
        print("second seat:", book(db, concert))
        with db.meter() as refused:
            print("third seat:", book(db, concert))

        print("costs")
        print("  view:   ", viewing)
        print("  book:   ", booking)
        print("  refused:", refused)
        print("A refused write is charged like one that succeeds; DynamoDB's answer just doesn't report it.")
        print(
            "One item takes up to 1,000 write units a second. For more, count in several items, as in time_series.py."
        )


if __name__ == "__main__":
    main()
