"""`unix_sockets` for an event loop. A module of its own, so that a blocking program doesn't import asyncio."""

from __future__ import annotations

import asyncio  # noqa: TID251
import socket

from singletable.wire.unix_sockets import GONE, SocketBroker, restart

_RESTART_SECONDS = 10.0


async def open_unix_async(loop: asyncio.AbstractEventLoop, broker: SocketBroker) -> tuple[socket.socket, str]:
    """A connection and its epoch. A restart runs off the event loop. Raises OSError."""
    try:
        return await _open_unix(loop, broker)
    except GONE:
        await loop.run_in_executor(None, restart, broker, _RESTART_SECONDS)
    return await _open_unix(loop, broker)


async def _open_unix(loop: asyncio.AbstractEventLoop, broker: SocketBroker) -> tuple[socket.socket, str]:
    with broker.request_connection() as asking:
        answered: asyncio.Future[None] = loop.create_future()
        loop.add_reader(asking, _settle, answered)
        try:
            await answered
        finally:
            loop.remove_reader(asking)
        return broker.receive_connection(asking)


def _settle(answered: asyncio.Future[None]) -> None:
    if not answered.done():
        answered.set_result(None)
