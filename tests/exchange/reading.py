"""A process that reads a file as an import does, in as much memory as it is given."""

from __future__ import annotations

import resource
from pathlib import Path

from singletable.exchange.datasets import datasets_of
from singletable.exchange.import_parts import FileOptions, ImportSource, source_at
from singletable.flow.driver import drive
from tests.exchange.bombs import Box, boxes


def read(path: str, megabytes: str, rows: str) -> None:
    """Read all pages of a file; there have to be so many rows."""
    source = source_at(path, datasets_of(boxes), FileOptions(None if ".json." in path else Box))
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    limit = pages * resource.getpagesize() + (int(megabytes) << 20)
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    assert drive(_count(source)) == int(rows)


async def _count(source: ImportSource) -> int:
    count = 0
    for part in source.parts:
        async for page in part.pages(None):
            count += len(page.rows)
    return count
