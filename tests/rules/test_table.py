"""Every cell of the table of write rules, in both shells; and that no cell is left out."""

from __future__ import annotations

import pytest

from tests.rules import cells_create, cells_delete, cells_put, cells_update, cells_upsert, cells_write_many
from tests.rules.bench import CELLS, Bench
from tests.rules.table import CASES, PROMISES, VERBS, Case, Verb
from tests.support.shells import KINDS

ROWS = (cells_create, cells_put, cells_update, cells_upsert, cells_delete, cells_write_many)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("verb", "case"), PROMISES, ids=["-".join(at) for at in PROMISES])
async def test_a_cell_is_kept(verb: Verb, case: Case, kind: str, bench: Bench) -> None:
    await CELLS[verb, case](bench)


def test_no_cell_is_left_out() -> None:
    every = {(verb, case) for verb in VERBS for case in CASES}
    assert set(PROMISES) == set(CELLS) == every
    assert {trial.__module__ for trial in CELLS.values()} == {row.__name__ for row in ROWS}
    assert all(PROMISES.values())
