"""A document's head, and an edit of one of its items.

The naive model keeps every version of a board as the items of that version, contents and all: its head is a query of
them, and an edit reads them and writes them all again, as the next version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import obstore.store

from benchmarks.applications.case import Ask
from benchmarks.applications.data import BOARD, BOARD_SIZES, ORGANISATION, TWIN, Copied, shape, shape_id
from projects.model import Project, Shape, move_shape, projects
from singletable import ANY, Database, attr
from singletable.documents import Documents, Mutation, ObjectBlobs
from singletable.documents.canonical_json import canonical, digest_of
from singletable.documents.conditions import epoch_check, put_if_absent
from singletable.documents.contents import Content
from singletable.documents.rows import AppliedMutation
from singletable.foundation import TryWrite
from singletable.operations import PutItem, TransactWriteItems, batch_write
from singletable.records import flows
from singletable.records.conditions import guard
from singletable.schema.models import model_for

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
        rows = _documents(db, items).context.model.rows

        def ask(_: int) -> None:
            newest: Any = rows.version.by_number(BOARD, ANY).newest_first().consistent()
            (version,) = db.run(flows.page(db.port, newest, 1, None, db.target.seal))
            known: Any = rows.collections["shapes"].by_number(BOARD, version.collections["shapes"], ANY).consistent()
            (part,) = db.run(flows.read_all(db.port, known, 1))
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

    Its operations are done to a board that is its twin: rows are read, made and written as the edit does, one request
    after the other; beside them one content is read and one put.
    """

    name = "document edit"
    data = "documents"
    sizes: Sequence[int] = BOARD_SIZES

    def page(self, db: Database, items: int) -> Ask:
        documents, ids = _documents(db, items), count(1)

        def ask(_: int) -> int:
            id = next(ids)
            (outcome,) = documents.apply(BOARD, [_move(id, items).by(EDITOR, id)])
            assert outcome.status == "applied", outcome
            return id

        return ask

    def operations(self, db: Database, items: int) -> Ask:
        twin = Twin(db, _documents(db, items))
        ids = count(1)
        return lambda _: twin.edit(next(ids), items)

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
    """A board to which the requests of an edit are made by hand."""

    def __init__(self, db: Database, documents: Documents[Project]) -> None:
        self._db, self._home = db, documents.context
        self._rows = documents.context.model.rows
        self._contents = documents.context.contents(ORGANISATION, BOARD)

    def edit(self, id: int, items: int) -> None:
        db, rows = self._db, self._rows
        newest: Any = rows.version.by_number(TWIN, ANY).newest_first().consistent()
        (version,) = db.run(flows.page(db.port, newest, 1, None, db.target.seal))
        db.run(flows.read_all(db.port, rows.inbox.by_id(TWIN, ANY).consistent()))
        keys: list[Any] = [rows.epoch.by_document(TWIN), rows.client.by_client(TWIN, EDITOR)]
        epoch, *clients = db.run(flows.get_many(db.port, keys, consistent=True))
        move = _move(id, items)
        waiting = rows.inbox(document_id=TWIN, client=EDITOR, id=id, name=move.name, arguments=move.arguments)
        db.run(db.port.send(TryWrite(put_if_absent(waiting))))
        known: Any = rows.collections["shapes"].by_number(TWIN, version.collections["shapes"], ANY).consistent()
        (part,) = db.run(flows.read_all(db.port, known))
        moved = {shape_id(id % items): self._moved(id, items).digest}
        self._commit(waiting, version, part, epoch, clients, moved)
        inbox = model_for(waiting)
        db.run(db.port.send(batch_write(projects.name, deletes=[inbox.key_item(inbox.key_of(waiting))])))
        db.run(flows.get(db.port, rows.inbox.by_id(TWIN, EDITOR, id + 1).consistent()))

    def _moved(self, id: int, items: int) -> Content:
        """The content that an edit reads, and the one that it puts."""
        before = shape(id % items)
        self._contents.read(_content(before))
        data = canonical({**before, "x": id, "y": -id})
        content = Content("shapes", digest_of(data))
        self._contents.write(content, data)
        return content

    def _commit(self, waiting: Any, version: Any, part: Any, epoch: Any, clients: Any, moved: dict[str, bytes]) -> None:
        rows, number = self._rows, version.number + 1
        applied = AppliedMutation(EDITOR, waiting.id, waiting.name)
        record = rows.mutation(
            document_id=TWIN,
            client=EDITOR,
            id=waiting.id,
            name=waiting.name,
            arguments=waiting.arguments,
            version=number,
        )
        shapes = {"shapes": part.number + 1}
        actions: list[Any] = [
            put_if_absent(replace(version, number=number, collections=shapes, mutations=[applied])),
            put_if_absent(
                replace(part, number=part.number + 1, items={**part.items, **moved}),
            ),
            put_if_absent(record),
            self._counted(rows.client(document_id=TWIN, client=EDITOR, last_id=waiting.id, version=number), clients),
            epoch_check(epoch),
        ]
        self._db.run(self._db.port.send(TransactWriteItems(actions, self._db.port.token())))

    def _counted(self, row: Any, clients: Sequence[Any]) -> Any:
        """The client's last id, over the one that was read."""
        if not clients:
            return put_if_absent(row)
        model = model_for(row)
        held = guard(model, attr(self._rows.client.last_id) == clients[0].last_id)
        return PutItem(projects.name, model.item(row), held)


def _move(id: int, items: int) -> Mutation:
    return move_shape(id=shape_id(id % items), x=id, y=-id)


def _documents(db: Database, items: int) -> Documents[Project]:
    """With contents in memory: those of the data file's shapes are put there first."""
    documents = Documents(db, Project, blobs=ObjectBlobs(obstore.store.MemoryStore()))
    documents.store(BOARD, Project.shapes, [shape(number) for number in range(items)])
    return documents


def _content(value: Shape) -> Content:
    return Content("shapes", digest_of(canonical(value)))
