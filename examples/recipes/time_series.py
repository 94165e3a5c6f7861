"""Time series with write sharding: more readings a second than one partition takes.

A partition takes 1,000 write units a second, and a key made of the day sends a whole day's writes to one. Here a day
lies in four partitions: a write goes to that of its sensor, and a read asks all of them side by side, merged by time.
"""

from collections import Counter
from datetime import datetime, timedelta, timezone

from singletable import ANY, Database, Entity, Key, Table, between, connect, key_of

app = Table("app")


class Reading(Entity, table=app, type="reading"):
    at: datetime
    sensor: str
    celsius: float

    @app.key
    @staticmethod
    def of_day(at: datetime, sensor: str = ANY) -> Key:
        """A day's readings by time, in four partitions by their sensors."""
        return f"readings#{at:%Y-%m-%d}#{sensor:shard(4)}", f"{at}#{sensor}"


def in_span(db: Database, since: datetime, until: datetime) -> list[Reading]:
    """All readings of a span of one day, by time: one request a shard, all at the same time."""
    return db.all(Reading.of_day(between(since, until)))


def main() -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    readings = [
        Reading(at=start + timedelta(seconds=number), sensor=f"sensor-{number % 20}", celsius=20 + number / 100)
        for number in range(200)
    ]
    with connect("local") as db:
        with db.meter() as writing:
            db.write_many(puts=readings)
        print("readings in each partition:", *sorted(Counter(key_of(r).partition for r in readings).items()))

        with db.meter() as reading_them:
            found = in_span(db, start, start + timedelta(minutes=1))
        print("in the first minute:", len(found), "from", found[0].at.time(), "to", found[-1].at.time())
        print("in the order of time:", found == sorted(found, key=lambda each: each.at))

        print("costs")
        print("  200 readings:", writing)
        print("  a minute:    ", reading_them)


if __name__ == "__main__":
    main()
