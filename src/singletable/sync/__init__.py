"""Sync: documents for Replicache clients; push, pull and pokes as an ASGI application.

    documents = AsyncDocuments(db, Project, blobs=LocalBlobs("data/blobs"))
    sync = Sync(documents, authenticate=user_of_session, authorise=is_member)
    app.mount("/replicache", sync.asgi())

Begin with `sync` (the object that an application holds), then read `push` and `pull` (the two verbs of the protocol,
whose messages are in `protocol`), `client_groups` (the owner of each client) and `apply` (how a push becomes a
version). `views` decides what a user sees. `asgi` receives HTTP requests, `pokes` notifies clients, `presence` says who
is here. `notifications` and `worker` are for processors in other processes.
"""

from singletable.sync.access import READ, Access, HttpRequest
from singletable.sync.asgi import SyncApp
from singletable.sync.client_groups import declare_items
from singletable.sync.limits import Limits
from singletable.sync.notifications import Pointer
from singletable.sync.sync import Sync
from singletable.sync.undo import Edit, revise_draft
from singletable.sync.views import Shown, View, restrict_draft
from singletable.sync.worker import Worker

__all__ = [
    "READ",
    "Access",
    "Edit",
    "HttpRequest",
    "Limits",
    "Pointer",
    "Shown",
    "Sync",
    "SyncApp",
    "View",
    "Worker",
    "declare_items",
    "restrict_draft",
    "revise_draft",
]
