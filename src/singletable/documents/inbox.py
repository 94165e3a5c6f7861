"""The inbox: the mutations that can be applied now, with all that a new version is made of; and the limits of others.

The inputs of a new version are the newest one, the epoch, the clients and their mutations. All reads are consistent,
but not a snapshot: if anything was committed between them, the transaction that is built on them fails.

A mutation waits because a missing id is before it, its name or an argument is unknown, or its id is far ahead. No
processor can apply it now, and every processor reads it, so the number of these is checked when one more arrives.
Mutations that only wait for the next processor are not limited.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from singletable.documents.batches import MAX_MUTATIONS
from singletable.documents.context import Context
from singletable.documents.mutations import Mutation, Submission
from singletable.documents.own_mutations import MERGE, RESTORE, newer_in
from singletable.documents.read import client_rows, hashes_of, newest_of, newest_operation, not_found
from singletable.documents.rows import ClientRecord, GcEpoch, InboxRow, Version
from singletable.errors import InvalidRequest, Unavailable
from singletable.flow import Port, side_by_side
from singletable.foundation import ANY, PreparedQuery, Query, get_many, model_for, prepare_query
from singletable.operations import Key

Known = Mapping[str, ClientRecord]
_Place = tuple[str, int]


@dataclass(frozen=True)
class HeadState:
    """The inputs of a new version."""

    version: Version
    epoch: GcEpoch
    clients: dict[str, ClientRecord]
    waiting: list[InboxRow]
    """The mutations that can be applied now, in the order in which they are applied."""
    dead: list[InboxRow]
    """The rows whose mutation is in a version already."""
    unknown: list[InboxRow]
    """The mutations that wait for a program that knows their names, or what else they need."""
    hashes: dict[str, dict[str, bytes]] | None = None
    """The version's collections; None where they have not been read."""
    submitted: frozenset[tuple[str, int]] = frozenset()
    """The mutations whose rows were put after the inbox was read. What came in between is not in this state."""


@dataclass(frozen=True)
class HeadRead:
    """The inputs of a new version that one round trip reads: all but what the version and the inbox name."""

    version: Version
    epoch: GcEpoch
    clients: dict[str, ClientRecord]
    asked: frozenset[str]
    """The clients whose records were asked for; a client without one has applied nothing."""
    rows: list[InboxRow]
    after: Key | None
    """Where the page of the inbox ended."""


async def read_head(port: Port, context: Context[Any], document_id: str, clients: Collection[str] = ()) -> HeadRead:
    """Read the newest version, the epoch, the inbox and some clients' records: one round trip of three requests.
    Raises NotFound."""
    version, page, (epoch, known) = await side_by_side(
        port,
        [
            lambda port: port.send(newest_operation(port, context, document_id).operation(None, 1)),
            lambda port: port.send(_inbox(port, context, document_id).operation(None, None)),
            lambda port: epoch_and_clients(port, context, document_id, clients),
        ],
    )
    newest = newest_of(context, document_id, version.items)
    return HeadRead(newest, epoch, known, frozenset(clients), page.items, page.after)


async def read_head_state(port: Port, context: Context[Any], document_id: str, held: Collection[str] = ()) -> HeadState:
    """Read the newest version and the mutations that can be applied to it. The clients in `held` are skipped.

    Two round trips; more if the inbox has many mutations that can't be applied yet.
    """
    return await head_state(port, context, await read_head(port, context, document_id), held)


async def head_state(
    port: Port,
    context: Context[Any],
    head: HeadRead,
    held: Collection[str] = (),
    submitted: Sequence[InboxRow] = (),
) -> HeadState:
    """The mutations that can be applied to what was read, those among `submitted` too, which are put meanwhile.

    One round trip, for the clients that were not asked for. The collections are read in it if it is likely that a
    mutation can be applied: an inbox whose mutations all wait would cost their units for nothing.
    """
    now, document_id = port.now(), head.version.document_id
    clients, asked, hashes = dict(head.clients), set(head.asked), None
    waiting: list[InboxRow] = []
    dead: list[InboxRow] = []
    rows, after = _together(head.rows, submitted), head.after

    def is_unknown(row: InboxRow) -> bool:
        return awaits_mutator(context, row, now)

    while True:
        unasked = {row.client for row in rows} - asked
        may_run = (row for row in rows if row.client not in held and not is_unknown(row))
        is_likely = hashes is None and any(_is_next(head.version, clients, row) for row in may_run)
        names = tuple(context.model.collections) if is_likely else ()
        records, read = await side_by_side(
            port,
            [
                partial(client_rows, context=context, document_id=document_id, clients=sorted(unasked)),
                partial(hashes_of, context=context, version=head.version, names=names),
            ],
        )
        clients |= records
        asked |= unasked
        hashes = read if is_likely else hashes
        for row in rows:
            (dead if row.id <= last_of(clients, row.client) else waiting).append(row)
        chosen, unknown = interleave(waiting, clients, is_unknown, held)
        if after is None or len(chosen) >= MAX_MUTATIONS:
            places = frozenset((row.client, row.id) for row in submitted)
            return HeadState(head.version, head.epoch, clients, chosen[:MAX_MUTATIONS], dead, unknown, hashes, places)
        page = await port.send(_inbox(port, context, document_id).operation(after, None))
        rows, after = _without(page.items, submitted), page.after


def _is_next(newest: Version, clients: Known, row: InboxRow) -> bool:
    """Whether a mutation is a client's next one, as far as is known without the client's record: the newest version
    names its mutations, and the first one of a client has no record before it."""
    last = {mutation.client: mutation.id for mutation in newest.mutations}
    return row.id == max(last.get(row.client, 0), last_of(clients, row.client)) + 1


def _inbox(port: Port, context: Context[Any], document_id: str) -> PreparedQuery:
    rows: Query[InboxRow] = context.model.rows.inbox.by_id(document_id, ANY)
    return prepare_query(rows.consistent(), port.now())


def _together(rows: Sequence[InboxRow], submitted: Sequence[InboxRow]) -> list[InboxRow]:
    """Rows of the inbox with those that are submitted, each once, in the order of each client's ids."""
    return sorted([*_without(rows, submitted), *submitted], key=lambda row: (row.client, row.id))


def _without(rows: Sequence[InboxRow], submitted: Sequence[InboxRow]) -> list[InboxRow]:
    places = {(row.client, row.id) for row in submitted}
    return [row for row in rows if (row.client, row.id) not in places]


def interleave(
    rows: Sequence[InboxRow],
    clients: Known,
    is_unknown: Callable[[InboxRow], bool] = lambda row: False,
    held: Collection[str] = (),
) -> tuple[list[InboxRow], list[InboxRow]]:
    """The rows without a gap before them: every client's first, then every client's second, and so on.

    The second list is the rows with unknown names. A client's rows after such a row wait too.
    """
    turns: list[tuple[int, str, InboxRow]] = []
    unknown: list[InboxRow] = []
    expected: dict[str, int] = {}
    for row in rows:
        last = last_of(clients, row.client)
        if row.client in held or row.id != expected.setdefault(row.client, last + 1):
            continue
        if is_unknown(row):
            unknown.append(row)
        else:
            turns.append((row.id - last, row.client, row))
            expected[row.client] += 1
    return [row for _, _, row in sorted(turns, key=lambda turn: turn[:2])], unknown


def behind_gaps(rows: Sequence[InboxRow], clients: Known) -> list[InboxRow]:
    """The rows that wait for a missing id."""
    behind: list[InboxRow] = []
    expected: dict[str, int] = {}
    for row in rows:
        if row.id == expected.setdefault(row.client, last_of(clients, row.client) + 1):
            expected[row.client] += 1
        elif row.id > expected[row.client]:
            behind.append(row)
    return behind


def awaits_mutator(context: Context[Any], row: InboxRow, now: float) -> bool:
    """Whether the mutation waits for another program that may know its name or an argument, and its time is not over.

    Arguments in a blob are looked at when they are read. False for a name that is reserved for the library, and for a
    row of a replay or of an older library.
    """
    if row.name.startswith("$") or row.own:
        return False
    return not _is_known(context, row.name, row.arguments) and may_wait(context, row, now)


def _is_known(context: Context[Any], name: str, arguments: str | None) -> bool:
    """Whether this program knows a mutation's name, and its arguments as far as they are there."""
    mutator = context.model.mutators.get(name)
    return mutator is not None and (arguments is None or mutator.unknown_in(arguments) is None)


def may_wait(context: Context[Any], row: InboxRow, now: float) -> bool:
    """Whether the time is not over in which a mutation waits for another program."""
    return row.at is not None and now - row.at.timestamp() < context.model.bounds.unknown_seconds


def newer_need(context: Context[Any], head: Version, row: InboxRow, mutation: Mutation, now: float) -> str:
    """The need of a mutation that this program lacks, and another one may have; empty if it lacks none, or the time to
    wait is over."""
    if not may_wait(context, row, now):
        return ""
    if row.own:
        collection = newer_in(context.model, head, mutation) if row.name in (RESTORE, MERGE) else None
        return "" if collection is None else f"the collection {collection!r}"
    if row.arguments is not None:
        return ""  # `awaits_mutator` has looked at them
    mutator = context.model.mutators.get(row.name)
    parameter = None if mutator is None else mutator.unknown_in(mutation.arguments)
    return "" if parameter is None else f"the parameter {parameter!r}"


async def epoch_and_clients(
    port: Port, context: Context[Any], document_id: str, clients: Collection[str]
) -> tuple[GcEpoch, dict[str, ClientRecord]]:
    """The document's epoch and its clients' records. One request for up to 99 clients. Raises NotFound."""
    rows = context.model.rows
    keys = [rows.client.by_client(document_id, client) for client in dict.fromkeys(clients)]
    rows_now: list[Any] = await get_many(port, [rows.epoch.by_document(document_id), *keys], consistent=True)
    if not rows_now or not isinstance(rows_now[0], GcEpoch) or rows_now[0].deleted:
        raise not_found(context, document_id)
    return rows_now[0], {row.client: row for row in rows_now[1:]}


async def first_missing(
    port: Port, context: Context[Any], document_id: str, new: Sequence[Submission], known: Known
) -> dict[str, int]:
    """The first id of each client with a gap that is neither submitted now, nor in the inbox, nor applied.

    No request if each client continues from its last id; otherwise one, and one more if an id is missing.
    """
    wanted = _before(new, known)
    if not wanted:
        return {}
    keys = [context.model.rows.inbox.by_id(document_id, client, id) for client, id in wanted]
    rows: list[InboxRow] = await get_many(port, keys, consistent=True)
    # The inbox first: a row that leaves it after this read is covered by the record, which is read next.
    missing = wanted - {(row.client, row.id) for row in rows}
    if missing:
        missing &= _before(new, await client_rows(port, context, document_id, [client for client, _ in missing]))
    return dict(sorted(missing, reverse=True))  # the first of each client


def _before(new: Sequence[Submission], known: Known) -> set[_Place]:
    """The ids directly before the submitted ones, without the ids that are submitted or applied themselves."""
    given = {(each.client, each.id) for each in new}
    return {
        (client, id - 1) for client, id in given if id - 1 > last_of(known, client) and (client, id - 1) not in given
    }


def last_of(known: Known, client: str) -> int:
    return known[client].last_id if client in known else 0


def is_ahead(context: Context[Any], mutation: Submission, known: Known) -> bool:
    """Whether an id is too far ahead of its client's last one."""
    return mutation.id - last_of(known, mutation.client) > context.model.bounds.ahead


def check_ahead(context: Context[Any], new: Sequence[Submission], known: Known) -> None:
    """Raises InvalidRequest for an id that is too far ahead of its client's last one."""
    for mutation in new:
        if is_ahead(context, mutation, known):
            raise InvalidRequest(
                f"the mutation {mutation.id} is more than {context.model.bounds.ahead} ahead of its client's last one",
                table=context.model.table.name,
                operation="submit",
                hint="Nothing was submitted. Submit those before it and process them first, or raise Bounds(ahead=).",
            )


async def check_room(
    port: Port, context: Context[Any], document_id: str, new: Sequence[Submission], *, has_gap: bool
) -> None:
    """Raises Unavailable if some mutations can't be applied now and too many wait already. One request in that case."""
    mutations = [submission.mutation for submission in new]
    if not has_gap and all(m.name.startswith("$") or _is_known(context, m.name, m.arguments) for m in mutations):
        return
    most = context.model.bounds.waiting
    inbox: Query[InboxRow] = context.model.rows.inbox.by_id(document_id, ANY)
    page = await port.send(prepare_query(inbox.consistent(), port.now()).operation(None, most))
    if len(page.items) >= most:
        raise Unavailable(
            f"{most} mutations wait in the document's inbox, and one comes that can't be applied now either",
            key=model_for(page.items[0]).key_of(page.items[0]),
            operation="submit",
            hint="Nothing was submitted. check() says what they wait for; collect_garbage() takes old ones away.",
        )
