"""What each page costs, as docs/how-to/studio.md says it, on a table with more in it than a page shows."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from singletable import AsyncDatabase
from singletable.studio.pages import pages
from tests.studio import test_layer_pages as layer_pages
from tests.studio.visitor import Visitor, kinds_of, visiting
from tests.support.models import EPOCH, Note, User, app

_PARAMETER = re.compile(r"\{(\w+)\}")
NAMES = {"table": "TABLE", "entity": "CLASS", "kind": "CLASS", "name": "PATTERN"}
"""Of the parameters of paths, in the documentation."""
ADA = "user%23ada%40example.org"


@pytest.fixture
async def busy(db: AsyncDatabase) -> AsyncIterator[Visitor]:
    """A partition of 2,000 notes of a KB."""
    notes = [Note(email="ada@example.org", written_at=EPOCH + timedelta(hours=n), text="x" * 900) for n in range(2000)]
    await db.write_many(puts=notes)
    async with visiting(db, app, write=True) as visitor:
        yield visitor


BUDGETS = {
    "/": (3, 128.0),
    "/patterns": (0, 0.0),
    "/patterns/app/Note/of_user": (0, 0.0),
    f"/patterns/app/Note/of_user?email={ADA}&limit=25": (1, 4.0),
    f"/patterns/app/Note/of_user?email={ADA}&limit=500": (1, 64.0),
    f"/patterns/app/User/by_email?email={ADA}": (1, 0.5),
    "/partition/app": (1, 13.0),
    f"/partition/app?pk={ADA}": (1, 7.0),
    f"/item/app?pk={ADA}&sk=user": (1, 1.0),
    f"/item/app/edit?pk={ADA}&sk=user": (1, 1.0),
    "/model/app": (3, 1.0),
    "/model/app/Note": (0, 0.0),
    "/sql": (0, 0.0),
    "/nowhere": (0, 0.0),
}
"""Requests and read units, at most."""


async def test_no_page_reads_the_whole_table(busy: Visitor) -> None:
    for address, (requests, read_units) in BUDGETS.items():
        path, _, query = address.partition("?")
        cost = (await busy.client.get(f"{path}.json?{query}")).json()["cost"]
        assert cost["requests"] <= requests, address
        assert cost["read_units"] <= read_units, address
        assert cost["write_units"] == 0, address


def test_every_page_has_a_budget() -> None:
    layers = (layer_pages.BUDGETS, layer_pages.DOCUMENT_BUDGETS, layer_pages.WORK_BUDGETS)
    held = kinds_of([*BUDGETS, *(address for budgets in layers for address in budgets), layer_pages.LETTER])
    assert held == {page.path for page in pages()}


def test_every_page_is_in_the_documentation() -> None:
    """With its requests and its read units: a row of four columns each."""
    told = Path("docs/how-to/studio.md").read_text()
    rows = [[cell.strip() for cell in row.strip("|").split("|")] for row in told.splitlines() if row.startswith("| ")]
    stated = {cells[1].strip("`").partition("?")[0] for cells in rows if len(cells) == 4 and all(cells[2:])}
    assert {_PARAMETER.sub(lambda found: NAMES[found[1]], page.path) for page in pages()} <= stated


async def test_a_page_costs_what_its_foot_says(busy: Visitor) -> None:
    busy.sent.clear()
    cost = (await busy.json(f"/partition/app.json?pk={ADA}"))["cost"]
    assert (cost["requests"], busy.sent) == (1, ["Query"])


async def test_an_item_of_400_kb(db: AsyncDatabase, busy: Visitor) -> None:
    await db.put(User(email="big@example.org", name="n" * 390_000))
    path = "/item/app?pk=user%23big%40example.org&sk=user"
    page = await busy.json(path.replace("?", ".json?"))
    assert (page["read_units"], page["cost"]["read_units"]) == (48.0, 96.0)
    html = await busy.page(path)
    assert "390,000 characters" in html
    listed = await busy.page("/partition/app?pk=user%23big%40example.org")
    assert len(listed) < 20_000
