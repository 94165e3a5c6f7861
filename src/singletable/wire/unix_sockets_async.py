"""A connection from a door, for an event loop. Apart from `doors`, for programs without asyncio."""

from __future__ import annotations

import asyncio  # noqa: TID251
import socket

from singletable.wire.unix_sockets import GONE, Door, mend_at

_MENDING_SECONDS = 10.0


async def pass_awaiting(loop: asyncio.AbstractEventLoop, door: Door) -> tuple[socket.socket, str]:
    """The same without holding up the loop, however long it takes."""
    try:
        return await _pass_awaiting(loop, door)
    except GONE:
        await loop.run_in_executor(None, mend_at, door, _MENDING_SECONDS)
    return await _pass_awaiting(loop, door)


async def _pass_awaiting(loop: asyncio.AbstractEventLoop, door: Door) -> tuple[socket.socket, str]:
    with door.knock() as guest:
        answered: asyncio.Future[None] = loop.create_future()
        loop.add_reader(guest, _settle, answered)
        try:
            await answered
        finally:
            loop.remove_reader(guest)
        return door.enter(guest)


def _settle(answered: asyncio.Future[None]) -> None:
    if not answered.done():
        answered.set_result(None)
