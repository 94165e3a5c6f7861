"""Warnings about mutations that wait in inboxes. Each is logged once in a process."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable

_REMEMBERED = 1000

log = logging.getLogger("singletable.documents")
_warned: OrderedDict[Hashable, None] = OrderedDict()


def warn_once(place: Hashable, what: str) -> None:
    """Log a warning, unless this process has logged it recently."""
    if place in _warned:
        return
    log.warning("%s", what)
    _warned[place] = None
    if len(_warned) > _REMEMBERED:
        _warned.popitem(last=False)
