"""Documents: every version of a document kept, its items content-addressed, its changes mutations that are data.

    class Project(Document, table=app, index="gsi1"):
        name: str = ""
        shapes: Items[Shape]

    @Project.mutation
    def move_shape(draft: Draft[Project], *, id: str, x: int, y: int) -> None:
        draft.shapes[id] = replace(draft.shapes[id], x=x, y=y)

    documents = Documents(db, Project, blobs=LocalBlobs("data/blobs"))
    documents.create("o1", "p1", name="Atlas")
    documents.apply("p1", [move_shape(id="s1", x=3, y=4).by("client", 1)])
    documents.head("p1").shapes["s1"]

Begin with `document` (a declaration) and `rows` (its items in the table), then `commit` (how mutations become a
version: the one commit point), `retention` (why every reachable blob exists) and `read`.
"""

from singletable.documents import flows
from singletable.documents.blobs import BlobStore, LocalBlobs, ObjectBlobs
from singletable.documents.bounds import Bounds
from singletable.documents.context import Context
from singletable.documents.diff import CollectionDiff, Diff
from singletable.documents.document import Document, Draft, Items, collection
from singletable.documents.families import Relative
from singletable.documents.garbage import Collected
from singletable.documents.item_history import Changer, ItemChange
from singletable.documents.merge import Conflict, Merge
from singletable.documents.mutations import Mutation, Outcome, Ref, Submission
from singletable.documents.replay import Replay, Replayed
from singletable.documents.rows import InboxRow, Listing, Place, Tag, Version
from singletable.documents.service import Documents
from singletable.documents.service_async import AsyncDocuments

__all__ = [
    "AsyncDocuments",
    "BlobStore",
    "Bounds",
    "Changer",
    "Collected",
    "CollectionDiff",
    "Conflict",
    "Context",
    "Diff",
    "Document",
    "Documents",
    "Draft",
    "InboxRow",
    "ItemChange",
    "Items",
    "Listing",
    "LocalBlobs",
    "Merge",
    "Mutation",
    "ObjectBlobs",
    "Outcome",
    "Place",
    "Ref",
    "Relative",
    "Replay",
    "Replayed",
    "Submission",
    "Tag",
    "Version",
    "collection",
    "flows",
]
