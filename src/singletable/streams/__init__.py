"""Changes of a table: typed handlers, called by a worker or by AWS Lambda.

    changes = Changes(app)                        # declare

    @changes.on(Search).inserted
    def start(change: Inserted[Search]) -> None: ...

    ChangeWorker(db, changes).run()               # bind and run, until SIGTERM

Theory of operation. DynamoDB keeps the changes of a table for a day, in shards. A shard ends, and its children go on
with its keys, so a shard is read after its parent: the changes of an item keep their order. Who reads a shard is a
lease, an item under a fence (`leases` has its states as a table). `acquisition` takes leases and buries them, `worker`
reads and handles what they cover, `shard` keeps the position behind which everything is handled. A checkpoint is that
position, written to the lease. A worker that dies loses its leases, and the next one goes on from the checkpoint: so
each change is handled at least once. A change that fails is tried again, and only its own item waits meanwhile; after
the last try it becomes a dead letter, with both its images.

Begin with `changes` (what an application declares) and `change_worker_async` (what it calls). `router` turns a record
into calls of handlers; `dispatch` makes them.
"""

from singletable.streams.change_worker import ChangeWorker as ChangeWorker
from singletable.streams.change_worker_async import AsyncChangeWorker as AsyncChangeWorker
from singletable.streams.changes import Changes as Changes
from singletable.streams.consumer import GapWarning as GapWarning
from singletable.streams.dead_letters import DeadLetter as DeadLetter
from singletable.streams.events import (
    Change as Change,
    Expired as Expired,
    Gap as Gap,
    Inserted as Inserted,
    Modified as Modified,
    Removed as Removed,
)
from singletable.streams.lag import ChangeLag as ChangeLag, ShardLag as ShardLag
