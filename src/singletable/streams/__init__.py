"""Changes of a table, handled: typed handlers, run by a worker or by AWS Lambda.

Begin with `changes`, what an application says. `routing` turns a record into handlers' calls; `worker` reads shards
under `leases`, which `acquiring` finds and `books` stores; `lanes` keeps the order of an item's changes.
"""

from singletable.streams.changes import Changes
from singletable.streams.dead_letters import SetAside
from singletable.streams.events import Change, Expired, Gap, Inserted, Modified, Removed
from singletable.streams.gaps import GapWarning

__all__ = ["Change", "Changes", "Expired", "Gap", "GapWarning", "Inserted", "Modified", "Removed", "SetAside"]
