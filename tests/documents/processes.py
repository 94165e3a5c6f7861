"""What child processes do to documents: they apply mutations or collect garbage, and may die at any request or blob."""

from __future__ import annotations

from collections.abc import Iterator

from singletable import Database, connect
from singletable.documents import Documents, LocalBlobs, Submission
from tests.documents.models import Project, Shape, app, note, put_shape
from tests.faults.failpoints import failpoint
from tests.support.children import mortal
from tests.support.traits import LOCAL

BLOB_BEFORE, BLOB_AFTER = "blob.before", "blob.after"


class MortalBlobs(LocalBlobs):
    """A directory with a point before and after each blob."""

    def put(self, path: str, data: bytes) -> bool:
        failpoint(BLOB_BEFORE)
        done = super().put(path, data)
        failpoint(BLOB_AFTER)
        return done

    def get(self, path: str, most: int) -> bytes | None:
        failpoint(BLOB_BEFORE)
        return super().get(path, most)

    def list(self, prefix: str) -> Iterator[str]:
        failpoint(BLOB_BEFORE)
        return super().list(prefix)

    def delete(self, path: str) -> None:
        failpoint(BLOB_BEFORE)
        super().delete(path)
        failpoint(BLOB_AFTER)


def connected(url: str) -> Database:
    db = connect(url, environ={})
    db.port.traits = LOCAL
    db.port.ready.add(app.name)
    return db


def pushed(client: str) -> list[Submission]:
    """What a client pushes: small and large, in its order."""
    return [
        note(word=f"{client}1").by(client, 1),
        put_shape(id=f"{client}-small", shape=Shape(1, 1, client)).by(client, 2),
        put_shape(id=f"{client}-large", shape=Shape(2, 2, client * 1000)).by(client, 3),
        note(word=f"{client}4").by(client, 4),
    ]


def apply(url: str, directory: str, id: str) -> None:
    with mortal(url, app) as db:
        Documents(db, Project, blobs=MortalBlobs(directory)).apply(id, pushed("child"))


def collect(url: str, directory: str, id: str) -> None:
    with mortal(url, app) as db:
        Documents(db, Project, blobs=MortalBlobs(directory)).collect_garbage(id)
