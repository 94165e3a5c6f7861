"""A document's head, and an edit of one of its items.

The naive model keeps every version of a board as the items of that version, contents and all: its head is a query of
them, and an edit reads them and writes them all again, as the next version.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from itertools import count
from typing import Any, Final

import msgspec
import obstore.store

from benchmarks.applications.case import Ask
from benchmarks.applications.data import BOARD, BOARD_SIZES, ORGANISATION, TWIN, Copied, shape, shape_id
from benchmarks.documents import Recorder
from examples.projects.model import Project, Shape, move_shape
from singletable import ANY, Database
from singletable.documents import Documents, ObjectBlobs
from singletable.documents.canonical import canonical, digest_of
from singletable.documents.contents import Content
from singletable.records import flows

EDITOR = "editor"


class DocumentHead:
    """The newest version with its items' hashes: two queries."""

    name = "document head"
    data = "documents"
    sizes: Sequence[int] = BOARD_SIZES

    def page(self, db: Database, items: int) -> Ask:
        documents = _documents(db, items)

        def ask(_: int) -> int:
            head = documents.head(BOARD)
            assert len(head.shapes) == items
            return items

        return ask

    def operations(self, db: Database, items: int) -> Ask:
        """The newest version; the collection as it names it."""
        rows = _documents(db, items).home.model.rows

        def ask(_: int) -> None:
            newest: Any = rows.version.by_number(BOARD, ANY).newest_first().consistent()
            (version,) = db.run(flows.page(db.port, newest, 1, None, db.target.seal))
            known: Any = rows.collections["shapes"].by_number(BOARD, version.collections["shapes"], ANY).consistent()
            (part,) = db.run(flows.everything(db.port, known, 1))
            assert len(part.items) == items

        return ask

    def naive(self, db: Database, items: int) -> Ask:
        def ask(_: int) -> int:
            found = db.all(Copied.of_version(BOARD, 1).consistent())
            assert len(found) == items
            return len(found)

        return ask


class DocumentEdit:
    """One shape is moved, from the mutation that comes in to the version that holds it.

    Its operations are those that an edit has sent, sent again under the keys of a board that is its twin, one after the
    other; beside them one content is read and one put.
    """

    name = "document edit"
    data = "documents"
    sizes: Sequence[int] = BOARD_SIZES

    def __init__(self) -> None:
        self._sent: dict[int, deque[Any]] = {}
        """What edits have sent and the twin has not seen yet, by the size of the board."""

    def page(self, db: Database, items: int) -> Ask:
        documents, ids, recorder = _documents(db, items), count(1), Recorder(db)
        sent = self._sent[items] = deque()

        def ask(_: int) -> int:
            id = next(ids)
            with recorder.recording():
                (outcome,) = documents.apply(BOARD, [move_shape(id=shape_id(id % items), x=id, y=-id).by(EDITOR, id)])
            assert outcome.status == "applied", outcome
            sent.append([Twin(operation) for operations in recorder.rounds for operation in operations])
            recorder.rounds.clear()
            return id

        return ask

    def operations(self, db: Database, items: int) -> Ask:
        documents, sent = _documents(db, items), self._sent[items]
        contents = documents.home.contents(ORGANISATION, BOARD)
        moves = count(-1, -1)

        def ask(_: int) -> None:
            x = next(moves)
            contents.read(_content(shape(-x % items)))
            moved = {**shape(-x % items), "x": x}
            contents.write(_content(moved), canonical(moved))
            for operation in sent.popleft():
                db.run(db.port.send(operation))

        return ask

    def naive(self, db: Database, items: int) -> Ask:
        versions = count(2)

        def ask(_: int) -> int:
            number = next(versions)
            found = db.all(Copied.of_version(BOARD, number - 1).consistent())
            for copied in found:
                copied.version = number
            found[number % items].shape = {**found[number % items].shape, "x": number}
            db.write_many(puts=found)
            return len(found)

        return ask


class Twin:
    """An operation that was sent, for the other board: encoded anew when it is sent."""

    def __init__(self, operation: Any) -> None:
        self._operation = operation
        self.answer = operation.answer

    def request(self) -> Any:
        request = self._operation.request()
        body = request.body.replace(BOARD.encode(), TWIN.encode()).replace(*_TOKEN)
        return msgspec.structs.replace(request, body=body)


_TOKEN: Final = b'"ClientRequestToken":"', b'"ClientRequestToken":"t'


def _documents(db: Database, items: int) -> Documents[Project]:
    """With contents in memory: those of the data file's shapes are put there first."""
    documents = Documents(db, Project, blobs=ObjectBlobs(obstore.store.MemoryStore()))
    documents.store(BOARD, Project.shapes, [shape(number) for number in range(items)])
    return documents


def _content(value: Shape) -> Content:
    return Content("shapes", digest_of(canonical(value)))
