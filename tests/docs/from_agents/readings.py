"""A service of devices' readings, with pages, in FastAPI. Written from `agents.md` alone."""

import asyncio  # noqa: TID251
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import date, datetime, timedelta, timezone
from typing import Annotated

import httpx
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from pydantic import BaseModel, ConfigDict

from singletable import (
    ANY,
    AlreadyExists,
    AsyncDatabase,
    Entity,
    InvalidCursor,
    Key,
    Page,
    Table,
    at_least,
    connect_async,
)

telemetry = Table("telemetry")


class Reading(Entity, table=telemetry, type="reading"):
    device: str
    day: date
    at: datetime
    value: float

    @telemetry.key
    @staticmethod
    def of_day(device: str, day: date, at: datetime = ANY) -> Key:
        """The readings of a device on a day, by time."""
        return f"device#{device}#{day}", f"reading#{at}"


class ReadingIn(BaseModel):
    at: datetime
    value: float


class ReadingOut(ReadingIn):
    model_config = ConfigDict(from_attributes=True)


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    async with connect_async("local") as db:
        app.state.db = db
        yield


def database(request: Request) -> AsyncDatabase:
    db: AsyncDatabase = request.app.state.db
    return db


app = FastAPI(lifespan=lifespan)
Db = Annotated[AsyncDatabase, Depends(database)]


@app.post("/devices/{device}/readings", status_code=201)
async def add(db: Db, device: str, reading: ReadingIn) -> None:
    try:
        await db.create(Reading(device=device, day=reading.at.date(), at=reading.at, value=reading.value))
    except AlreadyExists:
        raise HTTPException(409) from None


@app.get("/devices/{device}/readings/{day}", response_model=Page[ReadingOut])
async def readings(
    db: Db,
    device: str,
    day: date,
    since: datetime | None = None,
    limit: Annotated[int, Query(ge=1, le=100)] = 25,
    after: str | None = None,
) -> Page[Reading]:
    query = Reading.of_day(device, day) if since is None else Reading.of_day(device, day, at_least(since))
    try:
        return await db.page(query.newest_first(), limit=limit, after=after, principal=device)
    except InvalidCursor as error:
        raise HTTPException(422, error.what) from None


@app.get("/devices/{device}/latest/{day}", response_model=ReadingOut)
async def latest(db: Db, device: str, day: date) -> Reading:
    page = await db.page(Reading.of_day(device, day).newest_first(), limit=1)
    if not page.items:
        raise HTTPException(404)
    return page.items[0]


async def run() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=timezone.utc)
    transport = httpx.ASGITransport(app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        for minute in range(5):
            body = {"at": (noon + timedelta(minutes=minute)).isoformat(), "value": minute / 2}
            assert (await client.post("/devices/d1/readings", json=body)).status_code == 201
        assert (await client.post("/devices/d1/readings", json=body)).status_code == 409
        seen: list[float] = []
        after: str | None = ""
        while after is not None:
            asked = {"limit": "2", "since": noon.isoformat()} | ({"after": after} if after else {})
            page = (await client.get("/devices/d1/readings/2026-03-01", params=asked)).json()
            seen += [item["value"] for item in page["items"]]
            after = page["cursor"]
        assert seen == [2.0, 1.5, 1.0, 0.5, 0.0]
        assert (await client.get("/devices/d1/latest/2026-03-01")).json()["value"] == 2.0
        assert (await client.get("/devices/d1/latest/2026-03-02")).status_code == 404
        forged = await client.get("/devices/d1/readings/2026-03-01", params={"after": "forged"})
        assert forged.status_code == 422


def main() -> None:
    asyncio.run(run())


if __name__ == "__main__":
    main()
