"""Release: what was copied or restored is held; a report says what would run, and a person lets it.

    Hold(db, shop).report()                 # tasks by name, due since when; which handlers begin
    Hold(db, shop).release(drop=["remind"]) # workers begin, with what changes from now on

`singletable.holds` has the hold, and the gate that workers ask.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from singletable.holds import PendingWork as PendingWork
from singletable.late_names import late_names
from singletable.release.hold import Hold as Hold
from singletable.release.reports import HoldReport as HoldReport, Released as Released

if TYPE_CHECKING:
    from singletable.release.hold_async import AsyncHold as AsyncHold


# The awaiting shell brings asyncio.
__getattr__ = late_names(
    __name__,
    hold_async="AsyncHold",
)
