"""The embedded engine's streams, which the library prunes, and which do not report a gap.

The engine is known by the region in its streams' names. Its sequence numbers are consecutive, so a hole is a gap.
"""

from __future__ import annotations

from functools import partial

from singletable.errors import NotConfigured
from singletable.flow import Port

_REGION = ":dynoxide:"
MAINTAIN_EVERY_SECONDS = 3600.0


def is_embedded(stream: str) -> bool:
    return _REGION in stream


async def maintain(port: Port, stream: str, table: str) -> None:
    """Index and prune an embedded engine's streams; nothing for any other. NotConfigured if its file is unknown."""
    if not is_embedded(stream):
        return
    if port.traits.maintain_streams is None:
        raise NotConfigured(
            "this is an embedded engine, reached by its address: its streams can't be indexed and pruned from here",
            table=table,
            operation="changes",
            hint='Connect to it by its file, as in connect("local:data/app.db"); several programs may.',
        )
    await port.call_all([partial(port.traits.maintain_streams, port.now())])


def leaves_hole(stream: str, after: str, first: str) -> bool:
    """Whether records are missing between one that was handled and the first that is read after it."""
    return bool(after) and is_embedded(stream) and int(first) > int(after) + 1
