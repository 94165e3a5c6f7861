"""Submits mutations: each becomes a row of the inbox, durable when the call returns.

A row is put only if it is absent and its id is above the client's last one; for other ids the record has the outcome.
Arguments that are too large for a row are stored in a blob. Rows that need blobs have the epoch of garbage collection
as a condition.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import Enum, auto
from functools import partial
from typing import Any, TypeGuard, TypeVar

from singletable.documents.arguments import refs_in
from singletable.documents.canonical_json import digest_of
from singletable.documents.conditions import ensure_contents, epoch_check, put_if_absent, race_with_garbage
from singletable.documents.contents import ARGUMENTS, Content, Contents, check_size
from singletable.documents.context import Context
from singletable.documents.document import CollectionModel
from singletable.documents.inbox import (
    HeadState,
    check_ahead,
    check_room,
    epoch_and_clients,
    first_missing,
    head_state,
    is_ahead,
    last_of,
    read_head,
)
from singletable.documents.mutation_traces import context_of
from singletable.documents.mutations import Mutation, Mutator, Outcome, Ref, Submission
from singletable.documents.read import client_rows, epoch_row, outcomes
from singletable.documents.rows import ClientRecord, GcEpoch, InboxRow
from singletable.errors import InvalidRequest
from singletable.flow import Consumed, Port, Race, instant, side_by_side
from singletable.foundation import ANY, Query, TryWrite, prepare_query, ready
from singletable.operations import ReasonedCancellation, TransactWriteItems

T = TypeVar("T")

MAX_INLINE_BYTES = 512
"""Larger arguments are stored in a blob, compressed. Otherwise they are written twice, in a row of the inbox and in a
record. Up to this size, each stays within one write unit."""
_TRIES = 50
"""More than others: a try takes four round trips, so of many calls of one client most lose each time."""
_EXAMPLE = 'rename(name="x").by("client", 1)'


async def submit(
    port: Port, context: Context[Any], document_id: str, submissions: Sequence[Submission], *, own: bool = False
) -> list[Outcome]:
    """Put mutations into the inbox; returns the status of each, in order. Raises NotFound if the document is missing.

    A name that is reserved for the library, `$restore`, is accepted like any unknown name, and rejected when it is
    processed. If it were refused here, it would block its client's next mutation. `own`: the library submits.

    Nothing is submitted if one id is too far ahead of its client's last one (InvalidRequest), or if one mutation can't
    be applied now and too many wait already (Unavailable).

    They are durable when it returns: the status is `waiting` for those in the inbox, or the stored outcome. Two round
    trips, and one of blobs for large arguments. One unit for each KB of a row; rows with blobs take a transaction.
    """
    _check_each_once(submissions)
    await ready(port, context.model.table)
    clients = [submission.client for submission in submissions]
    epoch, known = await epoch_and_clients(port, context, document_id, clients)
    new = await _admitted(port, context, document_id, submissions, known, own)
    await _put_inbox_rows(port, context, epoch, new, own)
    return await _statuses(port, context, document_id, submissions, new)


async def submit_and_read(
    port: Port, context: Context[Any], document_id: str, submissions: Sequence[Submission], *, own: bool = False
) -> tuple[list[Outcome], HeadState | None]:
    """Like `submit`, for a caller that processes at once: with the state that the next version is made of, or None
    where that has to be read anew.

    The first round trip reads the state as it was before. The second puts the rows and reads the collections: neither
    needs the other, as the transaction that follows holds what was read. Two round trips, of four requests and one for
    each mutation and collection.
    """
    _check_each_once(submissions)
    await ready(port, context.model.table)
    head = await read_head(port, context, document_id, {submission.client for submission in submissions})
    new = await _admitted(port, context, document_id, submissions, head.clients, own)
    if not new:
        return await _statuses(port, context, document_id, submissions, new), None
    rows, needed = _rows(port, context, head.epoch, new, own)
    await ensure_contents(port, context, head.epoch, context.contents_of(head.epoch), needed)
    state, puts = await side_by_side(
        port,
        [
            partial(head_state, context=context, head=head, submitted=[row for row, _ in rows]),
            partial(_put, epoch=head.epoch, rows=rows),
        ],
    )
    if _RowPut.LATE in puts:
        await _put_inbox_rows(port, context, await epoch_row(port, context, document_id), new, own)
    if set(puts) != {_RowPut.NEW}:  # another call's row is there, or has been applied: it decides
        state = None
    return await _statuses(port, context, document_id, submissions, new), state


def _check_each_once(submissions: Sequence[Submission]) -> None:
    _check_submissions(submissions)
    if len({(s.client, s.id) for s in submissions}) < len(submissions):
        raise InvalidRequest("a mutation is given twice: a client's id names one", operation="submit")


async def _admitted(
    port: Port,
    context: Context[Any],
    document_id: str,
    submissions: Sequence[Submission],
    known: Mapping[str, ClientRecord],
    own: bool,
) -> list[Submission]:
    """The mutations that have no outcome yet. Raises as `submit` where one may not be put into the inbox."""
    new = [submission for submission in submissions if submission.id > last_of(known, submission.client)]
    if not own:
        missing = await first_missing(port, context, document_id, new, known)
        check_ahead(context, new, known)
        await check_room(port, context, document_id, new, has_gap=bool(missing))
    return new


async def _statuses(
    port: Port,
    context: Context[Any],
    document_id: str,
    submissions: Sequence[Submission],
    new: Sequence[Submission],
) -> list[Outcome]:
    """The status of each: `waiting` for the new ones, the stored outcome of the others."""
    taken = {(submission.client, submission.id) for submission in new}
    old = [(s.client, s.id) for s in submissions if (s.client, s.id) not in taken]
    done = dict(zip(old, await outcomes(port, context, document_id, old), strict=True))
    return [done.get((s.client, s.id)) or Outcome(s.client, s.id, s.mutation.name, "waiting") for s in submissions]


async def submit_in_order(
    port: Port,
    context: Context[Any],
    document_id: str,
    submissions: Sequence[Submission],
    admit: Callable[[Mapping[str, ClientRecord]], Awaitable[bool]],
) -> int | None:
    """Like `submit`, but mutations that are too far ahead are left out; returns their number.

    None if a mutation comes after an id that is neither applied, nor waiting, nor given: then nothing is submitted. The
    same if `admit`, which is called with the records of the clients that have one, returns False.
    """
    _check_submissions(submissions)
    await ready(port, context.model.table)
    epoch, known = await epoch_and_clients(port, context, document_id, [s.client for s in submissions])
    if not await admit(known):
        return None
    new = [submission for submission in submissions if submission.id > last_of(known, submission.client)]
    if await first_missing(port, context, document_id, new, known):
        return None
    near = [submission for submission in new if not is_ahead(context, submission, known)]
    await check_room(port, context, document_id, near, has_gap=False)
    await _put_inbox_rows(port, context, epoch, near, own=False)
    return len(new) - len(near)


def _check_submissions(given: object) -> None:
    if not _is_list(given):
        raise InvalidRequest(
            "mutations are submitted as a list", operation="submit", hint=f"Write [{_EXAMPLE}], with the brackets."
        )
    for each in given:
        if not isinstance(each, Submission):
            what = f"the mutation {each.name}" if isinstance(each, (Mutation, Mutator)) else type(each).__name__
            raise InvalidRequest(
                f"{what} says no client and number", operation="submit", hint=f"Write {_EXAMPLE}, or submit_next()."
            )


def _is_list(given: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, Sequence) and not isinstance(given, str)


async def _put_inbox_rows(
    port: Port, context: Context[Any], epoch: GcEpoch, new: Sequence[Submission], own: bool
) -> None:
    document_id = epoch.document_id
    race = race_with_garbage(port, context, "submit")
    race.hint = "Submit again: a mutation that is in the inbox already is not put there twice."
    while True:
        rows, needed = _rows(port, context, epoch, new, own)
        await ensure_contents(port, context, epoch, context.contents_of(epoch), needed)
        if _RowPut.LATE not in await _put(port, epoch, rows):
            return
        await race.lost()
        epoch = await epoch_row(port, context, document_id)


def _rows(
    port: Port, context: Context[Any], epoch: GcEpoch, new: Sequence[Submission], own: bool
) -> tuple[list[tuple[InboxRow, bool]], dict[Content, bytes | None]]:
    """The row of each mutation, and whether it needs blobs; and the blobs that they need."""
    contents = context.contents_of(epoch)
    needed: dict[Content, bytes | None] = {}
    rows = [_row(port, context, contents, epoch.document_id, each, needed, own) for each in new]
    return rows, needed


def _row(
    port: Port,
    context: Context[Any],
    contents: Contents,
    document_id: str,
    each: Submission,
    needed: dict[Content, bytes | None],
    own: bool,
) -> tuple[InboxRow, bool]:
    """The row of a mutation, and whether it needs blobs, which are added to `needed`."""
    mutation = each.mutation
    refs = refs_in(mutation.arguments)
    needed.update(dict.fromkeys(refs))
    data = mutation.arguments.encode()
    digest = None
    if len(data) > MAX_INLINE_BYTES:
        check_size(data, contents.most)
        digest = digest_of(data)
        needed[Content(ARGUMENTS, digest)] = data
    row = context.model.rows.inbox(
        document_id=document_id,
        client=each.client,
        id=each.id,
        name=mutation.name,
        arguments=mutation.arguments if digest is None else None,
        arguments_blob=digest,
        refers=True if refs and digest is not None else None,
        principal=each.principal,
        own=own or None,
        at=instant(int(port.now())),
        trace=context_of(port, context, mutation.name),
    )
    return row, bool(refs) or digest is not None


class _RowPut(Enum):
    """The outcome of a put of a row."""

    NEW = auto()
    THERE = auto()
    """A row of that id is there already."""
    LATE = auto()
    """The row needs blobs, and the epoch has been raised: nothing was put."""


async def _put(port: Port, epoch: GcEpoch, rows: Sequence[tuple[InboxRow, bool]]) -> list[_RowPut]:
    """Put the missing rows, concurrently."""
    writes: list[Any] = [
        _PutInEpoch(TransactWriteItems([put_if_absent(row), epoch_check(epoch)], port.token()))
        if needs_blobs
        else TryWrite(put_if_absent(row))
        for row, needs_blobs in rows
    ]
    answers = await port.send_all(writes) if writes else []
    return [_PUTS.get(answer, answer) for answer in answers]


_PUTS: Mapping[Any, _RowPut] = {True: _RowPut.NEW, False: _RowPut.THERE}
"""The answers of rows that need no blobs."""


async def submit_next(
    port: Port,
    context: Context[Any],
    document_id: str,
    client: str,
    mutation: Mutation,
    principal: str | None = None,
    *,
    own: bool = False,
) -> Submission:
    """Put a mutation into the inbox under the client's next free id. Raises NotFound if the document is missing.

    Four round trips. For clients that keep no count: two concurrent calls get two ids.
    """
    _check_mutation(mutation)
    await ready(port, context.model.table)
    race = Race(port, "submit", "another call took the client's next id", context.model.table.name, tries=_TRIES)
    race.hint = "Give each writer a client of its own."
    while True:
        epoch = await epoch_row(port, context, document_id)
        submission = mutation.by(client, await _next_id(port, context, document_id, client), principal=principal)
        contents = context.contents_of(epoch)
        needed: dict[Content, bytes | None] = {}
        row, _ = _row(port, context, contents, document_id, submission, needed, own)
        await ensure_contents(port, context, epoch, contents, needed)
        try:
            # A transaction, because its token settles a lost answer: an id in use is another call's.
            await port.send(TransactWriteItems([put_if_absent(row), epoch_check(epoch)], port.token()))
        except ReasonedCancellation:
            await race.lost()
        else:
            return submission


def _check_mutation(given: Any) -> None:
    if not isinstance(given, Mutation):
        raise InvalidRequest(
            f"submit_next takes a mutation, not {type(given).__name__}",
            operation="submit_next",
            hint="Call the mutation, as in rename(name=...), without by(): it finds the number.",
        )


async def _next_id(port: Port, context: Context[Any], document_id: str, client: str) -> int:
    """One more than the last id of a client that is applied or waits."""
    # The inbox first: a row that leaves it after this read is covered by the record, which is read next.
    waiting: Query[InboxRow] = context.model.rows.inbox.by_id(document_id, client, ANY)
    newest = await port.send(prepare_query(waiting.newest_first().consistent(), port.now()).operation(None, 1))
    known = await client_rows(port, context, document_id, [client])
    ids = [row.id for row in newest.items] + [row.last_id for row in known.values()]
    return max(ids, default=0) + 1


class _PutInEpoch:
    """A put with a check of the epoch."""

    def __init__(self, transaction: TransactWriteItems) -> None:
        self._transaction = transaction
        self.request = transaction.request

    def answer(self, response: Any) -> Any:
        try:
            _, consumed = self._transaction.answer(response)
        except ReasonedCancellation as cancelled:
            row, _ = cancelled.reasons
            return (_RowPut.THERE if row.code == "ConditionalCheckFailed" else _RowPut.LATE), Consumed()
        return _RowPut.NEW, consumed


async def store(
    port: Port, context: Context[Any], document_id: str, collection: CollectionModel[T], values: Sequence[T]
) -> list[Ref[T]]:
    """Put contents that mutations will refer to, concurrently. A garbage collection may delete them until one does."""
    await ready(port, context.model.table)
    epoch = await epoch_row(port, context, document_id)
    named: list[Content] = []
    needed: dict[Content, bytes | None] = {}
    for value in values:
        data = collection.codec.encode(value)
        named.append(Content(collection.folder, digest_of(data)))
        needed[named[-1]] = data
    await ensure_contents(port, context, epoch, context.contents_of(epoch), needed)
    return [Ref(f"{content.folder}/{content.sha256}") for content in named]
