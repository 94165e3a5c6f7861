"""The wait of a flow: told to listeners and to the log, then slept by the port.

A flow waits by `pause`, so that no wait is silent. Who sleeps at the port itself, as a worker that has nothing to do,
is listed in `tests/architecture/test_waits.py` with its reason.
"""

from __future__ import annotations

from singletable.flow.port import Port


async def pause(port: Port, seconds: float, why: str, table: str = "", *, is_refused: bool = False) -> None:
    """Wait. `why` is a clause without a key or a value. `is_refused` says that something went wrong: it is at INFO."""
    from singletable.events import WaitBegun  # noqa: PLC0415 most programs never wait

    port.events.emit(WaitBegun(table=table, why=why, seconds=seconds, is_refused=is_refused))
    await port.sleep(seconds)


async def pause_for_index(port: Port, table: str = "") -> None:
    """Wait for the usual lag of an index."""
    await pause(port, port.traits.index_lag_seconds, "an index may lag behind its table", table)
