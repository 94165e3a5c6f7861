"""Warnings about mutations that wait in inboxes. Each is logged once by the port that reads them."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Hashable
from weakref import WeakKeyDictionary

from singletable.flow import Port

_REMEMBERED = 1000

log = logging.getLogger("singletable.documents")
_Places = OrderedDict[Hashable, None]
_warned: WeakKeyDictionary[Port, _Places] = WeakKeyDictionary()
"""The places warned of, by port: a new port at a freed one's address has warned of nothing."""


def warn_once(port: Port, place: Hashable, what: str) -> None:
    """Log a warning, unless it was logged recently."""
    places = _warned.setdefault(port, _Places())
    if place in places:
        return
    log.warning("%s", what)
    places[place] = None
    if len(places) > _REMEMBERED:
        places.popitem(last=False)
