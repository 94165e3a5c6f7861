"""Home, patterns, partition, item, model and SQL, of an organisation with many members."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import datetime, timezone
from pathlib import Path
from typing import Any
from urllib.parse import quote

from benchmarks.studio.asked import Asked, Case, studio_of
from organisations.model import Organisation, OrganisationMember, User, organisations
from singletable import AsyncDatabase, connect_async
from singletable.exchange import AsyncExports
from singletable.studio.pages.partition import MOST_ITEMS

ID = "harbour"
SINCE = datetime(2026, 1, 5, tzinfo=timezone.utc)


@asynccontextmanager
async def records(folder: Path, items: int) -> AsyncGenerator[Asked]:
    async with connect_async("local") as db:
        await _fill(db, items)
        await AsyncExports(db, organisations).export(folder / "exports")
        yield Asked(studio_of(db, organisations, export=str(folder / "exports")), db, _cases(items))


def _cases(items: int) -> list[Case]:
    listed = min(items, MOST_ITEMS)

    async def page(db: AsyncDatabase) -> Any:
        return await db.page(OrganisationMember.of_organisation(ID), limit=items)

    async def partition(db: AsyncDatabase) -> Any:
        return await db.page(OrganisationMember.of_organisation(ID), limit=listed)

    async def item(db: AsyncDatabase) -> Any:
        return await db.get(User.by_email("user00000@example.org"))

    member = f"/{organisations.name}/OrganisationMember"
    key = quote(f"organisation/{ID}")
    return [
        Case("home, counted before", "/", "", 0),
        Case("patterns", "/patterns", "", 0),
        Case("pattern", f"/patterns{member}/of_organisation", f"organisation_id={ID}&limit={items}", items, page),
        Case("partitions", f"/partition/{organisations.name}", "", 100),
        Case("partition", f"/partition/{organisations.name}", f"pk={key}", listed, partition),
        Case("item", f"/item/{organisations.name}", "pk=user%2Fuser00000%40example.org&sk=user", 1, item),
        Case("model", f"/model/{organisations.name}", "", 0),
        Case("class", f"/model{member}", "", 0),
        Case("sql", "/sql", f"sql={quote(f'FROM organisation_member LIMIT {items}')}", items),
    ]


async def _fill(db: AsyncDatabase, items: int) -> None:
    await db.create_table(organisations)
    names = [f"user{number:05}@example.org" for number in range(items)]
    await db.create(Organisation(organisation_id=ID, organisation_name="Harbour"))
    people = [User(email=name, first_name="Ada", last_name="Lovelace", created_at=SINCE) for name in names]
    members = [
        OrganisationMember(
            organisation_id=ID, email=name, first_name="Ada", groups={"organisationGroup/member"}, accepted_at=SINCE
        )
        for name in names
    ]
    await db.write_many(puts=[*people, *members])
