"""Time series with write sharding: more readings a second than one partition takes.

A partition takes 1,000 write units a second, and a key made of the day sends a whole day's writes to one. Here a day
lies in several partitions: a write goes to one of them, and a read asks all of them side by side and merges by time.
"""

import asyncio
from datetime import date, datetime, timedelta, timezone
from heapq import merge
from zlib import crc32

from singletable import ANY, AsyncDatabase, Entity, Key, Table, between, connect_async

app = Table("app")
SHARDS = 4
"""Partitions of a day. To raise it, raise it on a day's boundary: a day is read with the number it was written with."""


class Reading(Entity, table=app, type="reading"):
    day: date
    shard: int
    at: datetime
    sensor: str
    celsius: float

    @app.key
    @staticmethod
    def of_shard(day: date, shard: int, at: datetime = ANY, sensor: str = ANY) -> Key:
        """A day's readings in one of its partitions, by time."""
        return f"readings#{day}#{shard}", f"{at}#{sensor}"


def reading(sensor: str, at: datetime, celsius: float) -> Reading:
    """The shard follows from the sensor, so that the same reading sent twice is one item."""
    shard = crc32(sensor.encode()) % SHARDS
    day = at.astimezone(timezone.utc).date()
    return Reading(day=day, shard=shard, at=at, sensor=sensor, celsius=celsius)


async def of_day(db: AsyncDatabase, day: date, since: datetime, until: datetime) -> list[Reading]:
    """All readings of a span of one day, by time: one request a shard, all at the same time."""
    asked = [Reading.of_shard(day, shard, at=between(since, until)) for shard in range(SHARDS)]
    shards = await asyncio.gather(*(db.all(query) for query in asked))
    return list(merge(*shards, key=lambda found: found.at))


async def main() -> None:
    start = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    readings = [
        reading(f"sensor-{number % 20}", start + timedelta(seconds=number), 20 + number / 100) for number in range(200)
    ]
    async with connect_async("local") as db:
        with db.meter() as writing:
            await db.write_many(puts=readings)
        print("readings in each shard:", [sum(r.shard == shard for r in readings) for shard in range(SHARDS)])

        with db.meter() as reading_them:
            found = await of_day(db, start.date(), start, start + timedelta(minutes=1))
        print("in the first minute:", len(found), "from", found[0].at.time(), "to", found[-1].at.time())
        print("in the order of time:", found == sorted(found, key=lambda each: each.at))

        print("costs")
        print("  200 readings:", writing)
        print("  a minute:    ", reading_them)
        print(
            "The four queries of a minute are on their way at the same time; a meter counts calls made so one by one."
        )


if __name__ == "__main__":
    asyncio.run(main())
