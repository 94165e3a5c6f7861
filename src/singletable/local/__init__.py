"""The embedded engine: a DynamoDB of this machine, as a child process on loopback.

`Engine.start()` gives a private one, whose data goes with it, `Engine.start("data/app.db")` one on a file, shared by
every process that starts the same file. It ends with its owner, however that ends. Begin reading in `engine`;
`supervisor` and `lock` hold the two guarantees: no engine is left behind, and no two engines share a file. `control`
runs an engine that outlives who started it; `streams` does for its streams what it leaves undone.

    with Engine.start() as engine:
        requests_go_to(engine.url)
"""

from __future__ import annotations

from singletable.local import control
from singletable.local.engine import Engine
from singletable.local.find import ENGINE_VARIABLE, ENGINE_VERSION, engine_package, find_engine
from singletable.local.launch import Patience
from singletable.local.loopback import Address
from singletable.local.streams import tend_streams
from singletable.local.traps import EMBEDDED, EngineTraits

__all__ = [
    "EMBEDDED",
    "ENGINE_VARIABLE",
    "ENGINE_VERSION",
    "Address",
    "Engine",
    "EngineTraits",
    "Patience",
    "control",
    "engine_package",
    "find_engine",
    "tend_streams",
]
