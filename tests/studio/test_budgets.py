"""What each page costs, as docs/how-to/studio.md says it, on a table with more in it than a page shows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from singletable import AsyncDatabase
from tests.studio.visitor import Visitor, visiting
from tests.support.models import EPOCH, Note, User, app

ADA = "user%23ada%40example.org"


@pytest.fixture
async def busy(db: AsyncDatabase) -> AsyncIterator[Visitor]:
    """A partition of 2,000 notes of a KB."""
    notes = [Note(email="ada@example.org", written_at=EPOCH + timedelta(hours=n), text="x" * 900) for n in range(2000)]
    await db.write_many(puts=notes)
    async with visiting(db, app, write=True) as visitor:
        yield visitor


async def test_no_page_reads_the_whole_table(busy: Visitor) -> None:
    budgets = {
        "/.json": (3, 128.0),
        "/patterns.json": (0, 0.0),
        "/patterns/app/Note/of_user.json": (0, 0.0),
        f"/patterns/app/Note/of_user.json?email={ADA}&limit=25": (1, 4.0),
        f"/patterns/app/Note/of_user.json?email={ADA}&limit=500": (1, 64.0),
        f"/patterns/app/User/by_email.json?email={ADA}": (1, 0.5),
        "/partition/app.json": (1, 13.0),
        f"/partition/app.json?pk={ADA}": (1, 7.0),
        f"/item/app.json?pk={ADA}&sk=user": (1, 1.0),
        f"/item/app/edit.json?pk={ADA}&sk=user": (1, 1.0),
        "/nowhere.json": (0, 0.0),
    }
    for path, (requests, read_units) in budgets.items():
        cost = (await busy.client.get(path)).json()["cost"]
        assert cost["requests"] <= requests, path
        assert cost["read_units"] <= read_units, path
        assert cost["write_units"] == 0, path


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
