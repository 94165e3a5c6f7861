"""Log lines about what waits in inboxes: each once in a process, however often it is met."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable

_REMEMBERED = 1000

log = logging.getLogger("singletable.documents")
_warned: OrderedDict[Hashable, None] = OrderedDict()


def warn_once(place: Hashable, what: str) -> None:
    """A warning, unless this process gave it before, of late."""
    if place in _warned:
        return
    log.warning("%s", what)
    _warned[place] = None
    if len(_warned) > _REMEMBERED:
        _warned.popitem(last=False)
