"""Soft delete: what is deleted leaves the lists at once, can be brought back for 30 days, and is then gone for good.

A note is in one of two sparse indexes: that of live notes, or that of the trash. Deleting moves it with one update. The
time at which it ends is DynamoDB's TTL, which deletes it at no cost; every read takes it as gone from that moment on.
"""

from datetime import datetime, timedelta, timezone

from singletable import ANY, Database, Entity, Key, Table, attr, connect, field

app = Table("app", indexes=["gsi1", "gsi2"])
KEPT = timedelta(days=30)


class Note(Entity, table=app, type="note"):
    note_id: str
    owner: str
    text: str
    live_since: datetime | None
    """None in the trash."""
    deleted_at: datetime | None = None
    ends: datetime | None = field(expires=True, default=None)

    @app.key
    @staticmethod
    def by_id(note_id: str) -> Key:
        """One note, live or in the trash."""
        return f"note#{note_id}", "note"

    @app.index("gsi1")
    @staticmethod
    def live(owner: str, live_since: datetime = ANY, note_id: str = ANY) -> Key:
        """The live notes of an owner, oldest first."""
        return f"notes#{owner}", f"{live_since}#{note_id}"

    @app.index("gsi2")
    @staticmethod
    def trash(owner: str, deleted_at: datetime = ANY, note_id: str = ANY) -> Key:
        """What an owner has deleted, oldest first."""
        return f"trash#{owner}", f"{deleted_at}#{note_id}"


def delete(db: Database, note_id: str, now: datetime) -> None:
    """Into the trash, for 30 days. NotFound."""
    db.update(
        Note.by_id(note_id),
        attr(Note.live_since).remove(),
        attr(Note.deleted_at).set(now),
        attr(Note.ends).set(now + KEPT),
    )


def restore(db: Database, note_id: str, now: datetime) -> None:
    """Out of the trash. NotFound where its 30 days are over."""
    db.update(
        Note.by_id(note_id), attr(Note.live_since).set(now), attr(Note.deleted_at).remove(), attr(Note.ends).remove()
    )


class Clock:
    """A clock that can be moved, so that the 30 days pass at once."""

    now = datetime(2026, 3, 1, tzinfo=timezone.utc)


def main() -> None:
    clock = Clock()
    with connect("local", clock=lambda: clock.now.timestamp()) as db:
        for number in range(3):
            db.create(Note(note_id=f"n{number}", owner="ada", text="...", live_since=clock.now))
        with db.meter() as deleting:
            delete(db, "n1", clock.now)
        delete(db, "n2", clock.now)
        print("live:", [note.note_id for note in db.all(Note.live("ada"))])
        print("trash:", [note.note_id for note in db.all(Note.trash("ada"))])

        with db.meter() as restoring:
            restore(db, "n1", clock.now)
        with db.meter() as listing:
            print("live again:", [note.note_id for note in db.all(Note.live("ada"))])

        clock.now += KEPT + timedelta(seconds=1)
        print("trash a month later:", db.all(Note.trash("ada")), "and by its id:", db.get(Note.by_id("n2")))

        print("costs")
        print("  delete: ", deleting)
        print("  restore:", restoring)
        print("  list:   ", listing)


if __name__ == "__main__":
    main()
