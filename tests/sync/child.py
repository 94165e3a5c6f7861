"""A server process that may be killed at any time: `python -m tests.sync.child DB BLOBS PORT`.

Everybody is who they say they are, and may do everything.
"""

from __future__ import annotations

import sys

import uvicorn

from singletable import connect_async
from singletable.documents import LocalBlobs
from tests.sync.world import World


def main(target: str, blobs: str, port: str) -> None:
    world = World(connect_async(target), LocalBlobs(blobs))
    uvicorn.run(world.app, host="127.0.0.1", port=int(port), log_level="error", timeout_graceful_shutdown=2)


if __name__ == "__main__":
    main(*sys.argv[1:])
