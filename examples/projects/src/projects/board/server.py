"""The web server, which ends event streams before it waits for what is open: they would stay open for ever."""

from __future__ import annotations

import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

PATIENCE_SECONDS = 5


class BoardServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()
        await super().shutdown(sockets)


def run(app: ASGIApp, end_streams: Callable[[], None], *, host: str, port: int) -> None:
    """Serve until a signal."""
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", timeout_graceful_shutdown=PATIENCE_SECONDS)
    BoardServer(config, end_streams).run()
