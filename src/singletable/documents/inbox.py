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
from typing import Any

from singletable.documents.batches import MAX_MUTATIONS
from singletable.documents.context import Context
from singletable.documents.mutations import Mutation, Submission
from singletable.documents.own_mutations import MERGE, RESTORE, newer_in
from singletable.documents.read import client_rows, newest_of, newest_operation, not_found
from singletable.documents.rows import ClientRecord, GcEpoch, InboxRow, Version
from singletable.errors import InvalidRequest, Unavailable
from singletable.flow import Port
from singletable.foundation import ANY, Query, get_many, get_operation, model_for, prepare_query
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


async def read_head_state(port: Port, context: Context[Any], document_id: str, held: Collection[str] = ()) -> HeadState:
    """Read the newest version and the mutations that can be applied to it. The clients in `held` are skipped.

    Two round trips; more if the inbox has many mutations that can't be applied yet.
    """
    rows, now = context.model.rows, port.now()
    inbox: Query[InboxRow] = rows.inbox.by_id(document_id, ANY)
    waiting = prepare_query(inbox.consistent(), port.now())
    first: list[Any] = [
        newest_operation(port, context, document_id).operation(None, 1),
        get_operation(rows.epoch.by_document(document_id), consistent=True),
        waiting.operation(None, None),
    ]
    version, epoch, page = await port.send_all(first)
    before = newest_of(context, document_id, version.items)
    if epoch is None:
        raise not_found(context, document_id)
    clients: dict[str, ClientRecord] = {}
    waiting_rows: list[InboxRow] = []
    dead: list[InboxRow] = []
    while True:
        clients |= await client_rows(
            port, context, document_id, [r.client for r in page.items if r.client not in clients]
        )
        for row in page.items:
            (dead if row.id <= last_of(clients, row.client) else waiting_rows).append(row)
        chosen, unknown = interleave(waiting_rows, clients, lambda row: awaits_mutator(context, row, now), held)
        after: Key | None = page.after
        if after is None or len(chosen) >= MAX_MUTATIONS:
            return HeadState(before, epoch, clients, chosen[:MAX_MUTATIONS], dead, unknown)
        page = await port.send(waiting.operation(after, None))


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
