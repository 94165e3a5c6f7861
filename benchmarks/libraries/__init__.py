"""One module a library, each with the same small interface: `open_client(url)` gives a `Client`.

A call does one operation of `workload` the way the library's own documentation does it, and gives the objects that an
application would go on with. What is made beforehand (a client, the objects to be written) is not measured; whatever
the library does for one call is.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final

from benchmarks import workload

LIBRARIES: Final[Mapping[str, str]] = {
    "singletable": "benchmarks.libraries.blocking",
    "singletable_async": "benchmarks.libraries.awaiting",
    "boto3": "benchmarks.libraries.boto3",
    "boto3_resource": "benchmarks.libraries.boto3_resource",
    "pynamodb": "benchmarks.libraries.pynamodb",
    "pydynantic": "benchmarks.libraries.pydynantic",
    "dyntastic": "benchmarks.libraries.dyntastic",
    "pydynox": "benchmarks.libraries.pydynox",
    "pydynox_async": "benchmarks.libraries.pydynox_async",
    "aiodynamo": "benchmarks.libraries.aiodynamo",
    "aiobotocore": "benchmarks.libraries.aiobotocore",
}
"""Its name in the results, and its module."""

OURS: Final = "singletable"
OURS_ASYNC: Final = "singletable_async"
_ASYNC: Final = frozenset({"aiodynamo", "aiobotocore", "pydynox_async"})

Call = Callable[[], Any]


@dataclass(frozen=True)
class Client:
    """A library, ready to be measured."""

    calls: Mapping[str, Call]
    """Operation to a call of it; of an awaitable library, to a call that gives an awaitable."""
    values: Callable[[Any], Mapping[str, Any]]
    """The values of one object that a call gave, as `workload.order` has them."""
    run: Callable[[Awaitable[Any]], Any] | None = None
    """Where the calls give awaitables: what runs one to its end."""
    stream: Callable[[int], Any] | None = None
    """Goes through so many orders of `STREAM_CUSTOMER`, page by page as the library does, and keeps none."""
    close: Callable[[], Any] = lambda: None


def at_once(get: Call) -> Call:
    """32 gets by 16 threads of a pool that stays open: what a blocking program does."""
    pool = ThreadPoolExecutor(16)
    return lambda: list(pool.map(lambda _: get(), range(workload.AT_ONCE)))


def compared_with(library: str) -> str:
    """Which of ours a library is to be compared with: an awaitable one with the awaitable shell."""
    return OURS_ASYNC if library in _ASYNC else OURS


def open_client(library: str, url: str) -> Client:
    """A client of the library for the engine at an address."""
    client: Client = import_module(LIBRARIES[library]).open_client(url)
    return client
