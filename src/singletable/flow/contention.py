"""The kernel of every contended write: read, decide, write if nothing changed; again where another writer was first.

    race = Race(port, "tag", "a garbage collection began", table=table.name)
    while True:
        ...                     # read, or use what came with the refusal
        try:
            ...                 # write, on condition of what was read
        except Refused:
            await race.lost()   # returns: read again, and try again
        else:
            return ...

What it guarantees. No lock is held, so a writer that dies blocks nobody. A try is lost only to a write that was
applied, so of all writers together one always makes progress. A single writer may lose again and again: it pauses,
longer each time and at random, so that writers don't meet again; and it gives up after `tries`, with an error that says
to what it lost. A try that is not lost costs nothing: no request, no call, no pause.

When a retry is right. After a definite answer that this try wrote nothing: a refused condition. The first loss may mean
no more than that the read was old: the next try follows at once, with what came with the refusal. Each other one begins
with a read after the pause, or a writer that never pauses would always be first. What no other writer caused (an item
that is missing, a value that is taken) is for the caller to raise.

A lost answer is no lost race: the write may have been applied, and its own effect would refuse its repetition. So the
caller first finds its own mark: a write id, a token, a fence, a record. It calls `lost` when it knows that the mark is
missing. `OutcomeUnknown` is raised through.
"""

from __future__ import annotations

from typing import Any, Final

from msgspec import Struct

from singletable.errors import SingletableError, TransactionConflict
from singletable.flow.port import Port
from singletable.flow.waits import pause

TRIES: Final = 20
"""In simulations, each of 30 calls at once ends within them, where a try takes a tenth of a second."""
_FIRST_PAUSE_SECONDS: Final = 0.01
_LONGEST_PAUSE_SECONDS: Final = 0.5


class Race(Struct, eq=False):
    """One call's tries to write first."""

    port: Port
    operation: str
    what: str
    """The winner when this call loses: a clause."""
    table: str | None = None
    key: Any = None
    hint: str = "Nothing was written. Try again later, with fewer writers at once."
    tries: int = TRIES
    raises: type[SingletableError] = TransactionConflict
    losses: int = 0

    async def lost(self) -> bool:
        """Another writer was first: pause from the second loss on, and return whether. At the last: `raises`."""
        if not await self.goes_on():
            what = f"{self.what} meanwhile, at each of {self.tries} tries"
            raise self.raises(what, table=self.table, key=self.key, operation=self.operation, hint=self.hint) from None
        return self.losses > 1

    async def goes_on(self) -> bool:
        """The same for a caller to which the end of its tries is a result: False at the last loss."""
        self.losses += 1
        if 1 < self.losses < self.tries:
            longest = min(_LONGEST_PAUSE_SECONDS, _FIRST_PAUSE_SECONDS * 2 ** (self.losses - 2))
            await pause(self.port, self.port.random() * longest, f"{self.what} meanwhile", self.table or "")
        return self.losses < self.tries
