"""A child process that applies mutations, and may die at any request or blob: `python -m tests.documents.child`."""

from __future__ import annotations

import sys
from collections.abc import Iterator

from singletable import Database, connect
from singletable.documents import Documents, LocalBlobs, Submission
from singletable.flow import Traits
from tests.documents.models import Project, Shape, app, note, put_shape
from tests.faults.failpoints import failpoint, make_mortal

LOCAL = Traits(creates_tables=True, scan_page_limit=1000, index_lag_seconds=0.0)
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


def main(task: str, url: str, directory: str, id: str) -> None:
    with connected(url) as db:
        make_mortal(db.port)
        documents = Documents(db, Project, blobs=MortalBlobs(directory))
        if task == "collect":
            documents.collect_garbage(id)
        else:
            documents.apply(id, pushed("child"))


if __name__ == "__main__":
    main(*sys.argv[1:])
