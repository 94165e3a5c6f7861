"""The frame of every page: the navigation, the place of the database, and the user."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from singletable.studio.page import Page
from singletable.studio.site import DatabasePlace
from singletable.studio.view import Crumb
from singletable.studio.visit import Visit


class NavLink(Struct, frozen=True):
    text: str
    address: str
    is_here: bool


class Chrome(Struct, frozen=True):
    """The frame of a page."""

    nav: tuple[NavLink, ...]
    tables: tuple[NavLink, ...]
    """The same page for each table, where there are several."""
    place: DatabasePlace
    account: str
    table: str
    path: str
    """This page's address without its query."""
    here: str
    """This page's address."""
    twin: str
    """The address of the same in JSON; empty where there is none."""
    personal: Crumb
    """The address of this page with personal values shown, or covered."""


async def chrome_of(visit: Visit, every: Sequence[Page], page: Page | None) -> Chrome:
    """The frame of a page; `page` is None for an answer that is not a page, as an error."""
    links, site = visit.links, visit.site
    named = site.table_named(visit.path.get("table", "")) or site.tables[0]
    path = page.path.format_map(dict(visit.path)) if page is not None else ""
    here = links.of(path, visit.query) if page is not None else links.home()
    own = links.covered().of(path or "/")
    nav = tuple(
        NavLink(each.nav, links.of(_path_for(each, named.name)), page is not None and _section(each) == _section(page))
        for each in every
        if each.nav and each.shown(site)
    )
    tables: tuple[NavLink, ...] = ()
    if page is not None and page.nav and "{table}" in page.path and len(site.tables) > 1:
        pairs = ((table, links.of(_path_for(page, table.name))) for table in site.tables)
        tables = tuple(NavLink(table.name, address, table is named) for table, address in pairs)
    shown = links.personal
    asked = Crumb("Cover personal values" if shown else "Show personal values", links.with_personal(here, not shown))
    account = await site.account_of(named)
    twin = links.twin(here) if page is not None else ""
    return Chrome(nav, tables, site.place, account, named.name, own, here, twin, asked)


def _path_for(page: Page, table: str) -> str:
    return page.path.replace("{table}", table)


def _section(page: Page) -> str:
    """The first word of a page's path: those of one section are under one link."""
    return page.path.split("/")[1]
