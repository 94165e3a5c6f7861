"""The process that one library is measured in: `python -m benchmarks.worker <library> <url>`.

It takes its orders as lines of JSON and answers each with one: `{"check": "get"}` does an operation once and compares
what it gave with what is stored, `{"measure": "get", "times": 100}` answers with the seconds of the whole loop,
`{"stream": 100000}` with the bytes by which the process grew at the most while it went through so many orders,
`{"write_many": 20000}` with the seconds that writing so many new orders took.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any

from benchmarks import workload
from benchmarks.libraries import Call, Client, open_client
from benchmarks.memory import forget_peak, held_bytes, peak_bytes


def main() -> None:
    library, url = sys.argv[1:]
    client = open_client(library, url)
    for line in sys.stdin:
        asked = json.loads(line)
        if "check" in asked:
            check(client, asked["check"])
            tell({"checked": asked["check"]})
        elif "stream" in asked:
            tell({"grown": grown_by(partial(stream, client, asked["stream"]))})
        elif "write_many" in asked:
            tell(write_many(client, asked["write_many"]))
        else:
            cpu, wall = measure(client, asked["measure"], asked["times"])
            tell({"cpu": cpu, "wall": wall})
    client.close()


def tell(answer: Mapping[str, Any]) -> None:
    print(json.dumps(answer), flush=True)


def check(client: Client, operation: str) -> None:
    """Do it once; AssertionError where it gives other objects than are stored."""
    found = client.calls[operation]() if client.run is None else client.run(client.calls[operation]())
    wanted = workload.expected(operation)
    if wanted is None or found is None:  # a write; pydynox's update, which gives nothing
        return
    got = [dict(client.values(one)) for one in (found if isinstance(found, list) else [found])]
    assert sorted(got, key=_place) == sorted(wanted, key=_place), f"{operation} gave other items than are stored"


def measure(client: Client, operation: str, times: int) -> tuple[float, float]:
    """Seconds of CPU, of all threads of this process, and of the clock, for doing it so many times."""
    return seconds_of(client, client.calls[operation], times)


def seconds_of(client: Client, call: Call, times: int) -> tuple[float, float]:
    gc.collect()
    began, began_cpu = time.perf_counter(), time.process_time()
    if client.run is None:
        for _ in range(times):
            call()
    else:
        client.run(_repeat(call, times))
    return time.process_time() - began_cpu, time.perf_counter() - began


async def _repeat(call: Call, times: int) -> None:
    for _ in range(times):
        made: Awaitable[Any] = call()
        await made


def write_many(client: Client, count: int) -> dict[str, float]:
    """Seconds of CPU and of the clock for writing so many new orders, made beforehand; nothing where it has no way."""
    if client.write_many is None:
        return {}
    cpu, wall = seconds_of(client, client.write_many(workload.many(count)), 1)
    return {"cpu": cpu, "wall": wall}


def stream(client: Client, count: int) -> None:
    """Go through so many orders, page by page."""
    assert client.stream
    going = client.stream(count)
    if client.run is not None:
        client.run(going)


def grown_by(work: Callable[[], None]) -> int:
    """The bytes of memory that the process held at the most during the work, above those before it."""
    gc.collect()
    forget_peak()
    before = held_bytes()
    work()
    return peak_bytes() - before


def _place(values: Mapping[str, Any]) -> Any:
    return values["number"], len(values)


if __name__ == "__main__":
    main()
