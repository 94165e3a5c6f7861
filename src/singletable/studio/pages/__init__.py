"""The pages of the studio: each module exports `PAGES`, and `ACTIONS` and `FEEDS` where it has some."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from types import ModuleType

from singletable.studio.page import Action, Feed, Page


def pages() -> tuple[Page, ...]:
    """Every page, in the order of the navigation."""
    found = [page for module in _modules() for page in getattr(module, "PAGES", ())]
    return tuple(sorted(found, key=lambda page: page.order))


def actions() -> tuple[Action, ...]:
    return tuple(action for module in _modules() for action in getattr(module, "ACTIONS", ()))


def feeds() -> tuple[Feed, ...]:
    return tuple(feed for module in _modules() for feed in getattr(module, "FEEDS", ()))


@cache
def _modules() -> tuple[ModuleType, ...]:
    return tuple(import_module(f"{__name__}.{name}") for name in _names())


def _names() -> Iterator[str]:
    return (module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))
