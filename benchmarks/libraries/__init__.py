"""One module a library, each with the same small interface: `open_client(url)` gives a `Client`.

A call does one operation of `workload` the way the library's own documentation does it, and gives the objects that an
application would go on with. What is made beforehand (a client, the objects to be written) is not measured; whatever
the library does for one call is.
"""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
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
    "dynamoxy": "benchmarks.libraries.dynamoxy",
    "aws_sdk": "benchmarks.libraries.aws_sdk",
}
"""Its name in the results, and its module."""
OLDEST_PYTHON: Final = (3, 12)
OF_NEWER_PYTHON: Final[Mapping[str, str]] = {"dynamoxy": "dynamoxy", "aws_sdk": "aws_sdk_dynamodb"}
"""Libraries that need that Python or a newer one, and what a program imports of them."""

OURS: Final = "singletable"
OURS_ASYNC: Final = "singletable_async"
_ASYNC: Final = frozenset({"aiodynamo", "aiobotocore", "pydynox_async", "dynamoxy", "aws_sdk"})

Call = Callable[[], Any]
Places = Sequence[tuple[str, int]]
"""Orders, each by its customer and number."""


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
    write_many: Callable[[Places], Call] | None = None
    """Makes orders beforehand, and gives the call that writes all of them as the library writes many; None where it has
    no way but requests of 25."""
    close: Callable[[], Any] = lambda: None


def at_once(get: Call) -> Call:
    """32 gets by 16 threads of a pool that stays open: what a blocking program does."""
    from concurrent.futures import ThreadPoolExecutor  # a start that makes no threads is timed without it

    pool = ThreadPoolExecutor(16)
    return lambda: list(pool.map(lambda _: get(), range(workload.AT_ONCE)))


def compared_with(library: str) -> str:
    """Which of ours a library is to be compared with: an awaitable one with the awaitable shell."""
    return OURS_ASYNC if library in _ASYNC else OURS


def why_missing(library: str) -> str:
    """Why this Python can't run a library; nothing where it can."""
    if library not in OF_NEWER_PYTHON or find_spec(OF_NEWER_PYTHON[library]) is not None:
        return ""
    if sys.version_info < OLDEST_PYTHON:
        return f"{library} needs Python 3.12 or newer, and this is {sys.version.split()[0]}"
    return f"{library} is not installed: requirements/newer_peers.txt has it"


def open_client(library: str, url: str) -> Client:
    """A client of the library for the engine at an address."""
    client: Client = import_module(LIBRARIES[library]).open_client(url)
    return client
