"""Processes the inbox: its mutations become a version, in one transaction, which is the only commit point.

    read        the newest version, the epoch of garbage collection, the inbox; then the clients and the collections
    run         up to 40 mutations on a draft, each client's in the order of its ids
    keep        put the contents that are new
    commit      put the version, every changed collection in all its parts, a record for each mutation (each only if
                absent), each client's last id (only if it is what was read), and check the epoch
    clear       delete the rows of the inbox

Reads are consistent and depend on the version's number, so a processor that loses a race starts again and never merges.
Any number of processors may work on one document: they only slow each other down.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

from singletable.documents.arguments import refs_in
from singletable.documents.batches import Batch, EndedMutation
from singletable.documents.conditions import COMMITTED, clear, ensure_contents
from singletable.documents.contents import ARGUMENTS, Content, Contents
from singletable.documents.context import Context
from singletable.documents.drafts import WorkingVersion
from singletable.documents.inbox import HeadState, newer_need, read_head_state
from singletable.documents.mutation_traces import known_name, work_on
from singletable.documents.mutations import Mutation, Outcome, Submission
from singletable.documents.read import hashes_of, outcomes
from singletable.documents.rows import InboxRow, version_id
from singletable.documents.snapshots import scalars_of
from singletable.documents.submission import submit_and_read, submit_next
from singletable.documents.version_transaction import actions_of
from singletable.errors import (
    Corrupt,
    InvalidRequest,
    Newer,
    NotFound,
    OutcomeUnknown,
    TransactionConflict,
    Unavailable,
)
from singletable.events import MutationRejected, MutationsWaiting, described
from singletable.flow import Port, Race
from singletable.foundation import ready
from singletable.operations import ReasonedCancellation, TransactWriteItems

_TRIES = 60
"""More than others: every processor and every inline push of a document writes the same next version."""
_LOST_HINT = "Put the blob back from a backup of the store. The submitted mutations stay in the inbox until then."
_SETTLED = frozenset({"None", "ConditionalCheckFailed", "TransactionConflict", "ThrottlingError"})


async def process(port: Port, context: Context[Any], document_id: str) -> list[Outcome]:
    """Apply waiting mutations until none can be applied; returns the outcomes of this call.

    Each version of up to 40 mutations takes two round trips of reads, one of blobs, and one transaction: two units for
    each KB of a changed collection's hashes, and two for each mutation, client, the version and the check; then a unit
    for each row of the inbox. Raises NotFound; Unavailable, which leaves everything in the inbox; and at the end
    Corrupt, if some mutations need contents that can't be read.
    """
    return await _process(port, context, document_id, None)


async def _process(
    port: Port,
    context: Context[Any],
    document_id: str,
    wanted: set[tuple[str, int]] | None,
    state: HeadState | None = None,
) -> list[Outcome]:
    """Make versions until nothing can be applied or, if some mutations are wanted, until those have an outcome. The
    first one from `state`, where that was read already."""
    done: list[Outcome] = []
    while wanted is None or wanted:
        more, is_latest = await next_version(port, context, document_id, state=state), state is None
        state = None
        if not more and is_latest:  # else an id that was missing may have come since
            break
        done += more
        if wanted is not None:
            wanted -= {(outcome.client, outcome.id) for outcome in more}
    return done


async def apply(
    port: Port, context: Context[Any], document_id: str, submissions: Sequence[Submission], *, own: bool = False
) -> list[Outcome]:
    """Submit and process; returns the outcome of each, in order.

    A mutation takes four round trips, and one of blobs. Each waits for the one before:

    1. the newest version, the inbox, the epoch and the client's record: nothing is written to a missing document
    2. the inbox's row, durable before anything is made of it; the collections of that version beside it
    3. the contents, before the version that names them
    4. the transaction
    5. the inbox's row is deleted, after the commit that makes it needless, and the client's next one looked for
    """
    first, state = await submit_and_read(port, context, document_id, submissions, own=own)
    if all(outcome.status != "waiting" for outcome in first):
        return first
    wanted = {(o.client, o.id) for o in first if o.status == "waiting"}
    known = {(o.client, o.id): o for o in await _process(port, context, document_id, wanted, state)}
    places = [(o.client, o.id) for o in first]
    rest = [place for place, o in zip(places, first, strict=True) if o.status == "waiting" and place not in known]
    if rest:  # another processor applied it, or an id before it is missing
        known |= {(o.client, o.id): o for o in await outcomes(port, context, document_id, rest) if o is not None}
    return [known.get(place, o) for place, o in zip(places, first, strict=True)]


async def apply_next(
    port: Port, context: Context[Any], document_id: str, client: str, mutation: Mutation, principal: str | None
) -> Outcome:
    """Submit a mutation of the library's own as the client's next one, and process; returns its outcome."""
    submission = await submit_next(port, context, document_id, client, mutation, principal, own=True)
    place = client, submission.id
    done = {(o.client, o.id): o for o in await process(port, context, document_id)}
    stored = [done[place]] if place in done else await outcomes(port, context, document_id, [place])
    return stored[0] or Outcome(client, submission.id, mutation.name, "waiting")


async def next_version(
    port: Port,
    context: Context[Any],
    document_id: str,
    on_unknown: Callable[[InboxRow], object] | None = None,
    state: HeadState | None = None,
) -> list[Outcome]:
    """Make one version of the waiting mutations; returns [] if none can be applied.

    `on_unknown` is called with each mutation that waits for a program that knows its name. `state` is what was read
    already: where it is no longer so, the transaction is refused, and all is read again.
    """
    begun = state
    await ready(port, context.model.table)
    race = Race(port, "process", COMMITTED, context.model.table.name, tries=_TRIES)
    race.hint = "The submitted mutations are in the inbox; process again, with fewer processors."
    held: dict[str, Corrupt] = {}
    while True:
        with ExitStack() as trace:
            state, attempted, working = await _run_waiting(port, context, document_id, held, begun, trace)
            begun = None
            if on_unknown is not None:
                for row in state.unknown:
                    on_unknown(row)
            if working is None:
                broken = next((fault for fault in held.values() if not isinstance(fault, Newer)), None)
                if broken is not None:
                    raise broken
                return []
            token = port.token()
            actions = actions_of(context, state, working, attempted, port.now(), version_id(token))
            try:
                await ensure_contents(port, context, state.epoch, working.contents, working.needed())
            except NotFound as missing:  # of a content: read_head_state has found the document
                raise Corrupt(missing.what, operation="process", hint=_LOST_HINT) from None
            try:
                await port.send(TransactWriteItems(actions, token))
            except ReasonedCancellation as lost:
                _check_refusal(context, lost)
                await race.lost()
            except OutcomeUnknown as unknown:
                settled = await _settled(port, context, document_id, attempted, unknown)
                if settled is not None:
                    _tell_rejected(port, context, document_id, attempted)
                    return settled + await _end(port, context, state, attempted)
                await race.lost()
            else:
                _tell_rejected(port, context, document_id, attempted)
                return _outcomes(state, attempted) + await _end(port, context, state, attempted)


async def _end(
    port: Port, context: Context[Any], state: HeadState, attempted: Sequence[EndedMutation]
) -> list[Outcome]:
    """Delete the rows of what was applied. Returns the outcomes of what only waited for it.

    A client's next mutation may have come after the inbox was read and before the row was put. Its own call found an id
    missing, and has returned: no other call would apply it.
    """
    places = {(e.submission.client, e.submission.id) for e in attempted}
    last = dict(sorted(places)) if state.submitted <= places else {}  # else the caller goes on with the rest
    document_id, by_id = state.version.document_id, context.model.rows.inbox.by_id
    awaited = [
        by_id(document_id, client, last[client] + 1) for client in sorted({c for c, _ in state.submitted} & last.keys())
    ]
    if not await clear(port, context, _rows_of(state, attempted), awaited):
        return []
    try:
        return await next_version(port, context, document_id)
    except (Corrupt, NotFound, OutcomeUnknown, TransactionConflict, Unavailable) as fault:
        _tell_waiting(port, context, document_id, described(fault), is_retried=True)
        return []


async def _settled(
    port: Port, context: Context[Any], document_id: str, attempted: Sequence[EndedMutation], unknown: OutcomeUnknown
) -> list[Outcome] | None:
    """The outcomes of a commit whose answer was lost, from its records. None if it has not taken effect so far."""
    try:
        known = await outcomes(port, context, document_id, [(e.submission.client, e.submission.id) for e in attempted])
    except Unavailable:
        raise unknown from None
    done = [outcome for outcome in known if outcome is not None]
    return done if len(done) == len(known) else None


async def _run_waiting(
    port: Port,
    context: Context[Any],
    document_id: str,
    held: dict[str, Corrupt],
    begun: HeadState | None,
    trace: ExitStack,
) -> tuple[HeadState, list[EndedMutation], WorkingVersion | None]:
    """Run the waiting mutations that can be run. Clients with unreadable contents, or whose next mutation needs a newer
    program, are added to `held`. From there on the work is in the `trace` of the mutations."""
    newer: list[InboxRow] = []
    while True:
        state = begun or await read_head_state(port, context, document_id, held)
        begun = None
        await clear(port, context, state.dead)
        for row in state.unknown:
            named = row.name if row.name.isidentifier() else "of another name"  # a client may send any text
            lacks = "a parameter of the" if row.name in context.model.mutators else "the"
            _tell_waiting(port, context, document_id, f"this program lacks {lacks} mutation {named}")
        state.unknown.extend(newer)
        if not state.waiting:
            return state, [], None
        if port.events.carrier is not None:
            trace.enter_context(work_on(port, context, state.waiting))
        attempted, working, more = await _run(port, context, state)
        for fault in more.values():
            _tell_waiting(port, context, document_id, described(fault))
        waiting = [_first_of(state, client) for client, fault in more.items() if isinstance(fault, Newer)]
        state.unknown.extend(waiting)
        newer += waiting
        held |= more
        if attempted or not more:
            return state, attempted, working


# --- running ----------------------------------------------------------------------------------------------------------
async def _run(
    port: Port, context: Context[Any], state: HeadState
) -> tuple[list[EndedMutation], WorkingVersion, dict[str, Corrupt]]:
    """Returns what was run, on what, and the clients that wait because a content can't be read, or a newer program is
    needed."""
    version = state.version
    contents = context.contents_of(version)
    hashes = state.hashes
    if hashes is None:
        hashes = await hashes_of(port, context, version, tuple(context.model.collections))
    texts, lost = await _texts(port, contents, state.waiting)
    rows, submissions = _known(context, state, texts, lost, port.now())
    present = await _stored_references(port, context, contents, submissions, hashes)
    working = WorkingVersion(
        context, contents, version.parent, version.document_id, scalars_of(version), hashes, frozenset(present)
    )
    working.events = port.events
    batch = Batch(working, held=lost)
    await port.call_all([lambda: batch.run(rows, submissions)])
    return batch.ended, working, batch.held


async def _texts(
    port: Port, contents: Contents, rows: Sequence[InboxRow]
) -> tuple[dict[bytes, bytes], dict[str, Corrupt]]:
    """The arguments that are stored in blobs, read concurrently, and the clients whose arguments can't be read."""
    wanted = sorted({row.arguments_blob for row in rows if row.arguments_blob is not None})
    calls: list[Callable[[], bytes | Corrupt]] = [
        partial(_read_or_fault, contents, Content(ARGUMENTS, digest)) for digest in wanted
    ]
    read: Sequence[bytes | Corrupt] = await port.call_all(calls) if calls else []
    texts: dict[bytes, bytes] = {}
    faults: dict[bytes | None, Corrupt] = {}
    for digest, data in zip(wanted, read, strict=True):
        if isinstance(data, Corrupt):
            faults[digest] = data
        else:
            texts[digest] = data
    return texts, {row.client: faults[row.arguments_blob] for row in rows if row.arguments_blob in faults}


def _known(
    context: Context[Any], state: HeadState, texts: Mapping[bytes, bytes], lost: dict[str, Corrupt], now: float
) -> tuple[list[InboxRow], list[Submission]]:
    """The mutations that this program knows how to run. The clients of others are added to `lost`."""
    rows: list[InboxRow] = []
    submissions: list[Submission] = []
    for row in state.waiting:
        if row.client in lost:
            continue
        submission = _submission(row, texts)
        if need := newer_need(context, state.version, row, submission.mutation, now):
            lost[row.client] = Newer(
                f"the mutation {row.name!r} needs {need}, which this program does not know",
                operation="process",
                hint="Deploy the program that knows it.",
            )
            continue
        rows.append(row)
        submissions.append(submission)
    return rows, submissions


def _first_of(state: HeadState, client: str) -> InboxRow:
    return next(row for row in state.waiting if row.client == client)


def _submission(row: InboxRow, texts: Mapping[bytes, bytes]) -> Submission:
    arguments = row.arguments or texts[row.arguments_blob or b""].decode()
    return Submission(Mutation(row.name, arguments), row.client, row.id, row.principal)


def _read_or_fault(contents: Contents, content: Content) -> bytes | Corrupt:
    try:
        return contents.read(content)
    except Corrupt as fault:
        return fault


async def _stored_references(
    port: Port,
    context: Context[Any],
    contents: Contents,
    submissions: Sequence[Submission],
    hashes: Mapping[str, Mapping[str, bytes]],
) -> set[Content]:
    """The contents that arguments refer to and the store has. Those of the newest version always exist."""
    refs = {ref for submission in submissions for ref in refs_in(submission.mutation.arguments)}
    if not refs:
        return set()
    folders = {name: model.folder for name, model in context.model.collections.items()}
    reached = refs & {Content(folders[name], digest) for name, own in hashes.items() for digest in own.values()}
    wanted = sorted(refs - reached, key=lambda content: (content.folder, content.digest))
    if not wanted:
        return reached
    # A store is not taken for empty that held this document's contents: it may not be mounted.
    is_there = contents.is_stored if any(hashes.values()) else contents.has
    there = await port.call_all([partial(is_there, content) for content in wanted])
    return reached | {content for content, stored in zip(wanted, there, strict=True) if stored}


# --- afterwards -------------------------------------------------------------------------------------------------------
def _rows_of(state: HeadState, ended: Sequence[EndedMutation]) -> list[InboxRow]:
    places = {(e.submission.client, e.submission.id) for e in ended}
    return [row for row in state.waiting if (row.client, row.id) in places]


def _outcomes(state: HeadState, ended: Sequence[EndedMutation]) -> list[Outcome]:
    number = state.version.number + 1
    return [
        Outcome(
            e.submission.client,
            e.submission.id,
            e.submission.mutation.name,
            "applied" if e.error is None else "rejected",
            number,
            e.error,
        )
        for e in ended
    ]


def _check_refusal(context: Context[Any], lost: ReasonedCancellation) -> None:
    """Raises InvalidRequest for any cancellation reason other than a lost race."""
    wrong = {reason.code for reason in lost.reasons} - _SETTLED
    if wrong:
        raise InvalidRequest(
            f"DynamoDB refused the commit: {', '.join(sorted(wrong))}",
            table=context.model.table.name,
            operation="process",
        ) from lost


def _tell_rejected(port: Port, context: Context[Any], document_id: str, ended: Sequence[EndedMutation]) -> None:
    """Once they are committed. A client may send any text as a name: one that is not declared is not told."""
    for mutation in ended:
        if mutation.error is not None:
            name = known_name(context, mutation.submission.mutation.name)
            fields = context.event_fields(port.events, document_id)
            port.events.emit(MutationRejected(**fields, mutation=name, error=mutation.raised))


def _tell_waiting(port: Port, context: Context[Any], document_id: str, why: str, *, is_retried: bool = False) -> None:
    fields = context.event_fields(port.events, document_id)
    port.events.emit(MutationsWaiting(**fields, why=why, is_retried=is_retried))
