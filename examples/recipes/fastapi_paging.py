"""Cursor paging in FastAPI: pages that stay right while items come and go, and one database for the whole program.

Offsets skip and repeat items, and DynamoDB has none. A cursor is where the page before ended: it is encrypted, good for
a day, and of use only for the same query and the same user. The application opens its database when it starts.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Annotated

import httpx
from fastapi import Depends, FastAPI, HTTPException, Query, Request, Response
from pydantic import BaseModel, ConfigDict

from singletable import ANY, AsyncDatabase, Entity, InvalidCursor, Key, Page, Table, connect_async

table = Table("app")


class Note(Entity, table=table, type="note"):
    owner: str
    number: int
    text: str

    @table.key
    @staticmethod
    def of_owner(owner: str, number: int = ANY) -> Key:
        """The notes of an owner, by number."""
        return f"owner#{owner}", f"note#{number}"


class NoteOut(BaseModel):
    """What a client sees of a note."""

    model_config = ConfigDict(from_attributes=True)

    number: int
    text: str


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
    """On AWS: connect_async("aws"), with SINGLETABLE_CURSOR_KEYS set: every process opens the others' cursors."""
    async with connect_async("local") as db:
        app.state.db = db
        yield


app = FastAPI(lifespan=lifespan)


def database(request: Request) -> AsyncDatabase:
    db: AsyncDatabase = request.app.state.db
    return db


def user(request: Request) -> str:
    """Whoever your authentication says; here a header is believed."""
    return request.headers["x-user"]


@app.middleware("http")
async def tell_cost(request: Request, call_next: Callable[[Request], Awaitable[Response]]) -> Response:
    """What a request cost, in a header of its answer."""
    with database(request).meter() as meter:
        response = await call_next(request)
    response.headers["x-cost"] = str(meter)
    return response


Db = Annotated[AsyncDatabase, Depends(database)]
User = Annotated[str, Depends(user)]


@app.get("/notes", response_model=Page[NoteOut])
async def notes(
    db: Db, user: User, limit: Annotated[int, Query(ge=1, le=100)] = 25, after: str | None = None
) -> Page[Note]:
    try:
        return await db.page(Note.of_owner(user), limit=limit, after=after, principal=user)
    except InvalidCursor as error:
        raise HTTPException(400, "the cursor is not of this list, or too old: begin with the first page") from error


@app.put("/notes/{number}", status_code=204)
async def put_note(db: Db, user: User, number: int, text: str) -> None:
    await db.put(Note(owner=user, number=number, text=text))


async def main() -> None:
    transport = httpx.ASGITransport(app)
    async with lifespan(app), httpx.AsyncClient(transport=transport, base_url="http://app") as client:
        client.headers["x-user"] = "ada"
        for number in range(1, 8):
            await client.put(f"/notes/{number}", params={"text": f"note {number}"})

        first = (await client.get("/notes", params={"limit": 3})).json()
        print("page:", [note["number"] for note in first["items"]])
        await client.put("/notes/0", params={"text": "before everything that was read"})
        await client.put("/notes/8", params={"text": "behind it"})
        after = first["cursor"]
        while after is not None:
            body = (await client.get("/notes", params={"limit": 3, "after": after})).json()
            print("page:", [note["number"] for note in body["items"]])
            after = body["cursor"]
        others = await client.get("/notes", params={"after": first["cursor"]}, headers={"x-user": "eve"})
        print("the cursor of somebody else:", others.status_code)

        page = await client.get("/notes", params={"limit": 3})
        put = await client.put("/notes/9", params={"text": "note 9"})
        print("costs")
        print("  a page:", page.headers["x-cost"])
        print("  a put: ", put.headers["x-cost"])


if __name__ == "__main__":
    asyncio.run(main())
