"""Limits of the system on memory and threads: said by name, with a hint, and nothing is left half-done."""

from __future__ import annotations

from pathlib import Path

import pytest

from singletable import connect
from singletable.errors import Unavailable
from singletable.exchange import Exports, TableCopy, read_manifest, store_at
from tests.exchange import exhausting
from tests.exchange.exhausting import Wide, wide
from tests.support.children import run_child
from tests.support.engines import fresh, fresh_url
from tests.support.sampling import sampled

CASES = [("export", "memory", "4"), ("export", "threads", "64"), ("import", "memory", "12")]
"""Of memory, so little that a page does not fit beside what is loaded; a thread more would need as much."""


@pytest.mark.parametrize(("work", "what", "megabytes"), sampled(CASES, len(CASES)))
def test_what_the_system_refuses_is_named(tmp_path: Path, work: str, what: str, megabytes: str) -> None:
    with fresh_url() as url, connect(url) as db:
        db.create_table(wide)
        for n in range(120):
            db.put(Wide(id=str(n), body=f"{n} " * 90_000))
        Exports(db, wide).export(tmp_path / "export")
        assert run_child(exhausting.limited, url, str(tmp_path), work, what, megabytes) == 0
        done = Exports(db, wide).export(tmp_path / "limited")
        assert done.items == 120
        assert read_manifest(store_at(tmp_path / "limited")).rows == 120


def test_a_copy_without_memory_says_so_and_goes_on() -> None:
    """It takes little itself; what its caller does with each page may not."""
    with fresh() as source, fresh() as target:
        source.create(Wide(id="1", body="x"))
        with pytest.raises(Unavailable, match=r"no more memory.*goes on where it was"):
            TableCopy(source, target, wide).run(progress=lambda _: bytearray(1 << 60))
        assert TableCopy(source, target, wide).run().written == 1
