"""A server as a child process, which may be killed at any time. It believes every client's name and allows it all."""

from __future__ import annotations

import uvicorn

from singletable import connect_async
from singletable.documents import LocalBlobs
from tests.sync.world import World


def serve(target: str, blobs: str, port: str) -> None:
    world = World(connect_async(target), LocalBlobs(blobs))
    uvicorn.run(world.app, host="127.0.0.1", port=int(port), log_level="error", timeout_graceful_shutdown=2)
