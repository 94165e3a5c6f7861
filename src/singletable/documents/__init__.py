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
version: the one commit point), `version_transaction` (its conditions: a mutation is applied once), `conditions` (why
every reachable blob exists) and `read`.
"""

from singletable.documents import flows as flows
from singletable.documents.blobs import BlobStore as BlobStore, LocalBlobs as LocalBlobs, ObjectBlobs as ObjectBlobs
from singletable.documents.changes import (
    Changer as Changer,
    CollectionDiff as CollectionDiff,
    Diff as Diff,
    ItemChange as ItemChange,
)
from singletable.documents.context import Context as Context
from singletable.documents.document import (
    Document as Document,
    Draft as Draft,
    Items as Items,
    collection as collection,
)
from singletable.documents.families import Relative as Relative
from singletable.documents.garbage import Collected as Collected
from singletable.documents.merge import Conflict as Conflict, Merge as Merge
from singletable.documents.mutations import (
    Bounds as Bounds,
    Mutation as Mutation,
    Outcome as Outcome,
    Ref as Ref,
    Submission as Submission,
)
from singletable.documents.replay import Replay as Replay, Replayed as Replayed
from singletable.documents.rows import (
    InboxRow as InboxRow,
    Listing as Listing,
    MutationRecord as MutationRecord,
    Place as Place,
    Tag as Tag,
    Version as Version,
)
from singletable.documents.service import Documents as Documents
from singletable.documents.service_async import AsyncDocuments as AsyncDocuments
