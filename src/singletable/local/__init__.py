"""The embedded engine: a DynamoDB of this machine, as a process of its own that only its user reaches.

`Engine.start()` gives a private one, whose data goes with it, `Engine.start("data/app.db")` one on a file, shared by
every process that starts the same file. It ends with the last that holds it, however that ends. Begin reading in
`engine`; `keeper`, `walls` and `lock` hold the three guarantees: no engine is left behind, nobody else reaches one, and
no two engines share a file. `control` runs an engine that outlives who started it; `streams` does for its streams what
it leaves undone.

    with Engine.start() as engine:
        connection, epoch = engine.enter(engine.knock())
"""

from __future__ import annotations

from singletable.local import control
from singletable.local.binary import ENGINE_VARIABLE, ENGINE_VERSION, engine_package, find_engine
from singletable.local.differences import EMBEDDED, EngineTraits
from singletable.local.engine import Engine
from singletable.local.start_timeout import Patience
from singletable.local.stream_upkeep import tend_streams
from singletable.local.unix_endpoint import Address, Door, is_healthy

__all__ = [
    "EMBEDDED",
    "ENGINE_VARIABLE",
    "ENGINE_VERSION",
    "Address",
    "Door",
    "Engine",
    "EngineTraits",
    "Patience",
    "control",
    "engine_package",
    "find_engine",
    "is_healthy",
    "tend_streams",
]
