"""A document's waiting mutations with reasons, its clients' progress, and its contents that may be deleted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct

from singletable.documents.blobs import NoBlobs
from singletable.documents.contents import Content, Contents
from singletable.documents.flows import client_rows, newest
from singletable.documents.inbox import awaits_mutator, last_of
from singletable.documents.inspect.lists import AnyContext, DocumentClass, document_class
from singletable.documents.read import CollectionKey, any_epoch_row, collection_key, not_found
from singletable.documents.rows import ClientRecord, CollectionVersion, Condemned, InboxRow
from singletable.errors import SingletableError
from singletable.flow import Port
from singletable.foundation import ANY, KeyOf, OnUnreadable, Query, get as get_row, page
from singletable.shown_values import ShownValue, covered, shown

MOST_WAITING = 25
MOST_CLIENTS = 25
MOST_BLOBS = 25


class WaitingInfo(Struct, frozen=True):
    """A mutation in the inbox."""

    client: str
    id: int
    name: str
    at: str
    principal: ShownValue
    arguments: ShownValue
    why: str
    """The reason to wait."""


class ClientInfo(Struct, frozen=True):
    """The progress of a client's mutations."""

    client: str
    last_id: int
    version: int


class InboxInfo(Struct, frozen=True):
    """The inbox and the clients of a document."""

    kind: DocumentClass
    id: str
    newest: int
    waiting: tuple[WaitingInfo, ...]
    cursor: str | None
    clients: tuple[ClientInfo, ...]
    clients_cursor: str | None


class BlobInfo(Struct, frozen=True):
    """A content of the newest version."""

    collection: str
    id: str
    path: str
    state: str
    """`there`, `missing`, or why that is not known."""


class CondemnedInfo(Struct, frozen=True):
    """A content that a garbage collection found unreachable."""

    folder: str
    sha256: str
    run: str
    is_being_deleted: bool


class BlobsInfo(Struct, frozen=True):
    """The contents of a document in its store."""

    kind: DocumentClass
    id: str
    newest: int
    collection: str
    epoch: int
    open_run: str
    """The garbage collection that has not ended; empty for none."""
    pool: str
    """The document whose contents it shares; empty for its own."""
    blobs: tuple[BlobInfo, ...]
    after: str | None
    """The id after which the next page begins."""
    condemned: tuple[CondemnedInfo, ...]
    condemned_cursor: str | None


async def inspect_inbox(
    port: Port,
    context: AnyContext,
    document_id: str,
    *,
    after: str | None = None,
    clients_after: str | None = None,
    personal: bool = False,
    unreadable: OnUnreadable = None,
) -> InboxInfo:
    """Up to 25 waiting mutations and clients of a document, each from a cursor on.

    Four requests; a unit for each 4 KB. NotFound, InvalidCursor.
    """
    last = await newest(port, context, document_id)
    inbox: Query[InboxRow] = context.model.rows.inbox.by_id(document_id, ANY)
    waiting = await page(port, inbox.consistent(), MOST_WAITING, after, context.seal, unreadable=unreadable)
    known = await client_rows(port, context, document_id, [row.client for row in waiting])
    query: Query[ClientRecord] = context.model.rows.client.by_client(document_id, ANY)
    clients = await page(port, query, MOST_CLIENTS, clients_after, context.seal, unreadable=unreadable)
    why = _reasons(context, waiting.items, known, port.now())
    return InboxInfo(
        document_class(context),
        document_id,
        last.number,
        tuple(_waiting(row, reason, personal=personal) for row, reason in zip(waiting.items, why, strict=True)),
        waiting.cursor,
        tuple(ClientInfo(row.client, row.last_id, row.version) for row in clients),
        clients.cursor,
    )


def _waiting(row: InboxRow, why: str, *, personal: bool) -> WaitingInfo:
    said = row.arguments if row.arguments is not None else "in a blob"
    arguments = shown("arguments", said) if personal else covered("arguments")
    principal = shown("principal", row.principal) if personal or not row.principal else covered("principal")
    at = "" if row.at is None else row.at.isoformat()
    return WaitingInfo(row.client, row.id, row.name, at, principal, arguments, why)


def _reasons(
    context: AnyContext, rows: Sequence[InboxRow], clients: Mapping[str, ClientRecord], now: float
) -> list[str]:
    """The reason why each mutation waits."""
    reasons: list[str] = []
    expected: dict[str, int] = {}
    held: dict[str, str] = {}
    for row in rows:
        last = last_of(clients, row.client)
        wanted = expected.setdefault(row.client, last + 1)
        if row.id <= last:
            reasons.append("a version has it; its row goes when the document is processed")
        elif row.client in held:
            reasons.append(held[row.client])
        elif row.id > wanted:
            held[row.client] = f"the client's mutation {wanted}, which is not here"
            reasons.append(held[row.client])
        elif awaits_mutator(context, row, now):
            held[row.client] = f"the client's mutation {row.id}, which waits for a program that has {row.name}"
            reasons.append(f"a program that has the mutation {row.name}")
        else:
            expected[row.client] = row.id + 1
            reasons.append("a processor")
    return reasons


async def inspect_blobs(
    port: Port,
    context: AnyContext,
    document_id: str,
    *,
    collection: str = "",
    part: int = 0,
    after: str = "",
    condemned_after: str | None = None,
    unreadable: OnUnreadable = None,
) -> BlobsInfo:
    """Up to 25 contents of a collection of the newest version, after an id of one of its parts, and whether each is in
    the store; up to 25 contents that may be deleted.

    Four requests, a unit for each 4 KB: a part has up to 400 KB. And 25 questions to the blob store. NotFound.
    """
    last = await newest(port, context, document_id)
    epoch = await any_epoch_row(port, context, document_id)
    if epoch is None or epoch.deleted:
        raise not_found(context, document_id)
    pool = document_id if last.pool is None else last.pool.document_id
    query: Query[Condemned] = context.model.rows.condemned.by_content(pool, ANY)
    condemned = await page(port, query, MOST_BLOBS, condemned_after, context.seal, unreadable=unreadable)
    name = collection if collection in context.model.collections else next(iter(context.model.collections), "")
    row = await _part(port, context, collection_key(last, name), part) if name else None
    entries = sorted((id, digest) for id, digest in ({} if row is None else row.items).items() if id > after)
    first = entries[:MOST_BLOBS]
    states = await _states(port, context, context.contents_of(last), name, [digest for _, digest in first])
    goes_on = f"{part}:{first[-1][0]}" if len(entries) > len(first) else None
    if goes_on is None and row is not None and part + 1 < row.spills:
        goes_on = f"{part + 1}:"
    return BlobsInfo(
        document_class(context),
        document_id,
        last.number,
        name,
        epoch.epoch,
        epoch.open or "",
        "" if last.pool is None else pool,
        tuple(BlobInfo(name, id, path, state) for (id, _), (path, state) in zip(first, states, strict=True)),
        goes_on,
        tuple(CondemnedInfo(each.folder, each.sha256, each.run, each.deleting) for each in condemned),
        condemned.cursor,
    )


async def _part(port: Port, context: AnyContext, key: CollectionKey | None, part: int) -> CollectionVersion | None:
    if key is None:
        return None
    rows = context.model.rows.collections[key.name]
    place: KeyOf[CollectionVersion] = rows.by_number(key.document_id, key.number, part)
    return await get_row(port, place)


async def _states(
    port: Port, context: AnyContext, contents: Contents, name: str, digests: Sequence[bytes]
) -> list[tuple[str, str]]:
    """The path of each content, and whether the store has it."""
    if not digests:
        return []
    folder = context.model.collections[name].folder
    is_known = not isinstance(context.store, NoBlobs)
    calls: list[Callable[[], tuple[str, str]]] = [
        partial(_state, contents, Content(folder, digest), is_known) for digest in digests
    ]
    return await port.call_all(calls)


def _state(contents: Contents, content: Content, is_known: bool) -> tuple[str, str]:
    path = contents.path(content)
    if not is_known:
        return path, "the studio was given no store"
    try:
        return path, "there" if contents.has(content) else "missing"
    except SingletableError as error:
        return path, error.what
