"""Sync: documents for Replicache clients; push, pull and pokes as an ASGI application.

    documents = AsyncDocuments(db, Project, blobs=LocalBlobs("data/blobs"))
    sync = Sync(documents, authenticate=user_of_session, authorise=is_member)
    app.mount("/replicache", sync.asgi())

Begin with `sync` (the object that an application holds), then read `push` and `pull` (the two verbs of the protocol,
whose messages are in `protocol`), `client_groups` (the owner of each client) and `apply` (how a push becomes a
version). `views` decides what a user sees. `asgi` receives HTTP requests, `pokes` notifies clients, `presence` says who
is here. `worker` has processors in other processes.
"""

from singletable.sync.access import READ as READ, Access as Access, HttpRequest as HttpRequest
from singletable.sync.asgi import SyncApp as SyncApp
from singletable.sync.client_groups import declare_items as declare_items
from singletable.sync.limits import Limits as Limits
from singletable.sync.sync import Sync as Sync
from singletable.sync.undo import Edit as Edit, revise_draft as revise_draft
from singletable.sync.views import Shown as Shown, View as View, restrict_draft as restrict_draft
from singletable.sync.worker import Pointer as Pointer, Worker as Worker
