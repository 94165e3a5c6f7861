"""Sections of the studio: pages, actions and feeds. Each is an entry point in the group `singletable.studio`.

    SECTION = Section(pages=(Page("/work/{table}", "work.html", load_work, nav="Work", order=60),))

`load` awaits what the page shows and returns its view: HTML at the path, JSON at the path and `.json`. A path that is
about one table has `{table}` in it: `visit.table`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from singletable.foundation import Model
from singletable.studio.addresses import Place
from singletable.studio.site import Site
from singletable.studio.view import Crumb, View
from singletable.studio.visit import Visit


def _always(site: Site) -> bool:
    return True


@dataclass(frozen=True)
class Page:
    """A page, and its twin in JSON."""

    path: str
    template: str
    """A file of the studio's templates; `PACKAGE/FILE` for one in another package's folder `templates`."""
    load: Callable[[Visit], Awaitable[View]]
    nav: str = ""
    """The word in the navigation; empty for a page that is only linked from others."""
    order: int = 100
    shown: Callable[[Site], bool] = _always
    """Whether the navigation has it: `lambda site: any(isinstance(t, GraphTable) for t in site.tables)`."""
    style: str = ""
    """A file of `static` in addition to `studio.css`; `PACKAGE/FILE` for one in another package's folder `static`."""
    script: str = ""
    """A module of `static` in addition to `studio.js`, or of another package, as a style."""


@dataclass(frozen=True)
class PageAnswer:
    """An action's answer that is a page: a conflict, or a difference to confirm."""

    template: str
    view: View
    status: int = 200
    style: str = ""
    """A file of `static` in addition to `studio.css`."""


@dataclass(frozen=True)
class Action:
    """The work of a form, by POST. It returns the address of the page to see next, or a page.

    Before it is called: the site allows writes, the form has its token, and for a table on AWS its name was given. What
    it writes it checks itself, by `visit.must_write(kind)`, and logs, by `visit.log_write`. An action that only asks
    the database something has `writes=False`.
    """

    path: str
    perform: Callable[[Visit], Awaitable[str | PageAnswer]]
    writes: bool = True


@dataclass(frozen=True)
class Feed:
    """Server-sent events: each view as one event, in JSON. It ends with its visitor."""

    path: str
    events: Callable[[Visit], AsyncIterator[View]]


def _no_link(visit: Visit, model: Model[Any], place: Place) -> Crumb | None:
    return None


@dataclass(frozen=True)
class Section:
    """The pages about one subject, with what their forms do and what they follow."""

    pages: tuple[Page, ...] = ()
    actions: tuple[Action, ...] = ()
    feeds: tuple[Feed, ...] = ()
    item_link: Callable[[Visit, Model[Any], Place], Crumb | None] = _no_link
    """The link from an item's page to a page of this section; None for an item that has none here."""
