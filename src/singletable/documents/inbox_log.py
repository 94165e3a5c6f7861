"""Log lines about what waits in inboxes: each once in a process, however often it is met."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable

_REMEMBERED = 1000

log = logging.getLogger("singletable.documents")
_told: OrderedDict[Hashable, None] = OrderedDict()


def tell_once(place: Hashable, what: str) -> None:
    """A warning, unless this process gave it before, of late."""
    if place in _told:
        return
    log.warning("%s", what)
    _told[place] = None
    if len(_told) > _REMEMBERED:
        _told.popitem(last=False)
