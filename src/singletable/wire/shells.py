"""What the blocking shell can't run."""

from __future__ import annotations

from collections.abc import Iterable

from singletable.errors import InvalidRequest
from singletable.flow.port import Port
from singletable.wire.blocking_port import BlockingPort


def refuse_async(port: Port, functions: Iterable[str]) -> None:
    """InvalidRequest where the blocking shell would have to run async functions; `functions` says what each is."""
    if isinstance(port, BlockingPort):
        for function in functions:
            raise InvalidRequest(
                f"{function} is an async function, which the blocking shell can't run",
                hint="Write it without async, or use connect_async.",
            )
