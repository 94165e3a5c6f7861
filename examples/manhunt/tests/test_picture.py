"""The picture of the table is what the table holds: against the items as the engine stores them."""

from __future__ import annotations

from examples.manhunt.tests.http import TOKENS, Client
from examples.manhunt.tests.oncall import alarm, on, person, policy_of, rota_of
from examples.manhunt.tests.support import DOMAIN, OTHER, World
from manhunt.model import Kind, manhunt
from manhunt.picture import COLUMNS, picture
from tests.support.raw import all_items


def test_each_row_is_an_item_as_it_is_stored(world: World) -> None:
    ada = person(world, "Ada", (Kind.EMAIL, 0), (Kind.SMS, 0))
    incident = alarm(world, policy_of(world, ([on(rota_of(world, ada))], 300)))
    world.drain()
    world.app.acknowledge(DOMAIN, incident.incident_id, by="Grace")
    stored = world.db.run(all_items(world.db.port, manhunt.name))
    by_key = {(item["PK"]["S"], item["SK"]["S"]): item for item in stored}
    rows = picture(world.app, DOMAIN)
    assert {row.kind for row in rows} == {
        "contact",
        "contactMethod",
        "search",
        "searchAttempt",
        "incident",
        "incidentSearch",
        "incidentPerson",
        "reaction",
        "rota",
        "policy",
    }
    for row in rows:
        item = by_key[row.cells["PK"].value, row.cells["SK"].value]
        assert row.kind == item["entityType"]["S"]
        assert {column: cell.value for column, cell in row.cells.items()} == {
            column: item[column]["S"] for column in COLUMNS if column in item
        }
    (search,) = [row for row in rows if row.kind == "search"]
    assert [search.cells[column].field for column in COLUMNS] == [
        "search_id",
        "entityType",
        "contact_id",
        "started_at",
        "status#contact_id",
        "started_at",
    ]
    assert picture(world.app, OTHER) == []


async def test_the_page_shows_it(world: World) -> None:
    ada = person(world, "Ada")
    page = await Client(world.app, cookies={"manhunt": TOKENS.issue(DOMAIN)}).get("/table")
    assert f"<b>contact_id</b><span>{ada.contact_id}</span>" in page.text
    assert "<b>domain_id</b><span>harbour</span>" in page.text
