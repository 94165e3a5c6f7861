"""The pages of the studio: each module has a `SECTION`, with its entry point in the group `singletable.studio`."""

from __future__ import annotations

from typing import Any

from singletable import entry_points
from singletable.extensions import ExtensionGroup
from singletable.foundation import COVERED, Model
from singletable.studio.addresses import Place
from singletable.studio.page import Action, Feed, Page, Section
from singletable.studio.view import Crumb
from singletable.studio.visit import Visit

SECTIONS = ExtensionGroup("singletable.studio", Section, entry_points.STUDIO)


def pages() -> tuple[Page, ...]:
    """Every page, in the order of the navigation."""
    return tuple(sorted((page for section in SECTIONS.all() for page in section.pages), key=lambda page: page.order))


def actions() -> tuple[Action, ...]:
    return tuple(action for section in SECTIONS.all() for action in section.actions)


def feeds() -> tuple[Feed, ...]:
    return tuple(feed for section in SECTIONS.all() for feed in section.feeds)


def item_link(visit: Visit, model: Model[Any] | None, place: Place) -> Crumb | None:
    """The link from an item to the page of its layer; None for an item of records alone, and where its key is
    covered."""
    if model is None or COVERED in "".join(visit.shown_place(model.table, model.type, place)):
        return None
    links = (section.item_link(visit, model, place) for section in SECTIONS.all())
    return next((link for link in links if link is not None), None)
