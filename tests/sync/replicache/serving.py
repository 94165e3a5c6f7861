"""An ASGI application on loopback, served by uvicorn in a thread of its own."""

from __future__ import annotations

import socket
import threading  # noqa: TID251
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import uvicorn

_PATIENCE_SECONDS = 30.0


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._end_streams()
        await super().shutdown(sockets)


@contextmanager
def served(app: Any, end_streams: Callable[[], None] = lambda: None) -> Generator[str, None, None]:
    """Its address, until the block ends. `end_streams` is called before the server waits for what is open."""
    config = uvicorn.Config(
        app, host="127.0.0.1", port=0, log_level="warning", lifespan="on", timeout_graceful_shutdown=30
    )
    server = _Server(config, end_streams)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    until = time.monotonic() + _PATIENCE_SECONDS
    while not server.started:
        assert thread.is_alive(), "the server ended"
        assert time.monotonic() < until, "the server did not start"
        threading.Event().wait(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(_PATIENCE_SECONDS)
        assert not thread.is_alive(), "the server did not stop"
