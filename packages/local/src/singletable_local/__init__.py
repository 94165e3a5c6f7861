"""The embedded engine: a DynamoDB on this machine, in a process of its own that only its user can reach.

`Engine.start()` starts a private engine, whose data is deleted with it. `Engine.start("data/app.db")` starts one on a
file; every process that starts the same file shares it. An engine ends with the last process that holds it, however
that process ends.

Begin with `engine`. `supervisor`, `isolation` and `lock` hold the three guarantees: no engine outlives its users,
no other user reaches one, and no two engines share a file. `control` runs an engine that outlives the process that
started it. `stream_upkeep` maintains the engine's streams, which the engine itself doesn't.

    with Engine.start() as engine:
        connection, epoch = engine.receive_connection(engine.request_connection())
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable_local import control as control
from singletable_local.binary import (
    ENGINE_VARIABLE as ENGINE_VARIABLE,
    ENGINE_VERSION as ENGINE_VERSION,
    engine_package as engine_package,
    find_engine as find_engine,
)
from singletable_local.data_copy import copy_data as copy_data
from singletable_local.data_wipe import wipe_deleted as wipe_deleted
from singletable_local.engine import Engine as Engine
from singletable_local.stream_upkeep import maintain_streams as maintain_streams
from singletable_local.timeouts import EngineTimeouts as EngineTimeouts
from singletable_local.unix_endpoint import UnixEndpoint as UnixEndpoint, is_healthy as is_healthy

if TYPE_CHECKING:
    from singletable_local import targets as targets
