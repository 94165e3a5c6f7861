"""A batch: the mutations of one version, run one after the other on a draft of it.

A mutation is rejected if it raises any error, runs too long, has wrong arguments, or produces a result over a limit.
The batch then continues without its changes, and the reason is stored. If the blob store or `authorise` is unavailable,
the batch ends. A content that this program can't read delays only the client that needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from singletable.documents.arguments import refuse_flawed
from singletable.documents.bounded_calls import FunctionWatch, Overrun, Runner, TimeLimitExceeded
from singletable.documents.drafts import ENTRY_BYTES, Attempt, Undecided, WorkingVersion, run_on_draft
from singletable.documents.mutations import UNBOUNDED, Bounds, Mutation, Submission
from singletable.documents.own_mutations import MERGE, RESTORE, merge_draft, restore_draft
from singletable.documents.rows import InboxRow
from singletable.errors import (
    Corrupt,
    Denied,
    InvalidRequest,
    OutcomeUnknown,
    SingletableError,
    TooLarge,
    Unavailable,
)
from singletable.events import MutationStuck
from singletable.failure_text import error_text
from singletable.flow import refuse_awaitable
from singletable.operations import MAX_ACTIONS
from singletable.values import MAX_TRANSACTION_BYTES, item_size, text_size

MAX_MUTATIONS = 40
"""In one version. Each takes a record and a client; the collections' parts, the version and a check come on top."""
SPILL_BYTES = 400_000
"""The most bytes of entries in one part of a collection. DynamoDB's limit for an item is 409,600."""
ROW_BYTES = 1024
"""The most bytes of an item without its entries, arguments and scalars."""
MAX_FRESH_BYTES = 64 * 1024 * 1024
"""The most bytes of contents that a batch keeps in memory until it is committed."""
_SECONDS_HINT = "Make several of it, or raise Bounds(seconds=)."
_ARGUMENTS_HINT = "Store large contents first and refer to them, or raise Bounds(argument_bytes=)."
_OWN = {RESTORE: restore_draft, MERGE: merge_draft}
"""The library's own mutations, which only it submits."""
_FAULTS = (Unavailable, OutcomeUnknown, Denied)


@dataclass(frozen=True)
class Rejected:
    """The reason why a mutation is rejected, as it is stored; and the error that said so, for listeners."""

    reason: str
    error: BaseException | None = None

    @classmethod
    def by(cls, error: BaseException) -> Rejected:
        return cls(reason_of(error), error)


@dataclass(frozen=True)
class EndedMutation:
    """A mutation that was run. `error` is the reason why it was rejected; None if it was applied. `raised` is the error
    behind it."""

    submission: Submission
    error: str | None
    arguments_blob: bytes | None = None
    refers: bool | None = None
    raised: BaseException | None = None


@dataclass
class Batch:
    """Runs submissions until the version is full."""

    working: WorkingVersion
    ended: list[EndedMutation] = field(default_factory=list[EndedMutation])
    held: dict[str, Corrupt] = field(default_factory=dict[str, Corrupt])
    """Clients whose next mutation needs a content that can't be read here. That mutation has no outcome yet."""
    _bytes: int = 4 * ROW_BYTES

    def run(self, rows: Sequence[InboxRow], submissions: Sequence[Submission]) -> None:
        """Run the mutations that fit into one version. The first always fits: one that is too large is rejected."""
        with Runner() as runner:
            self._run_all(runner, list(zip(rows, submissions, strict=True))[:MAX_MUTATIONS])

    def _run_all(self, runner: Runner, given: Sequence[tuple[InboxRow, Submission]]) -> None:
        for row, submission in given:
            if submission.client in self.held:
                continue
            savepoint = self.working.savepoint()
            try:
                rejected = self._attempt(runner, row, submission)
            except Corrupt as fault:
                self.held[submission.client] = fault
                continue
            error, raised = (None, None) if rejected is None else (rejected.reason, rejected.error)
            record = record_bytes(row, error)
            if error is None and not self.fits(record):
                self.working.roll_back_to(savepoint)
                if self.ended:
                    return
                error = too_large()
                record = record_bytes(row, error)
            elif self.ended and not self.fits(record):
                return
            self._bytes += record
            self.ended.append(EndedMutation(submission, error, row.arguments_blob, row.refers, raised))

    def _attempt(self, runner: Runner, row: InboxRow, submission: Submission) -> Rejected | None:
        """Run a mutation. Returns why it was rejected; None if its changes are in the batch."""
        bounds = self.working.context.model.bounds if row.own is None else UNBOUNDED
        try:
            outcome = runner.run(partial(self._outcome, row, submission, bounds), bounds.seconds)
        except TimeLimitExceeded as exceeded:
            if exceeded.is_stuck:
                kind = self.working.context.kind.__name__
                self.working.events.emit(MutationStuck(document=kind, mutation=submission.mutation.name))
            return Rejected.by(TooLarge(f"it ran for over {bounds.seconds:g} seconds", hint=_SECONDS_HINT))
        if isinstance(outcome, Rejected):
            return outcome
        self.working.merge(outcome)
        return None

    def _outcome(
        self, row: InboxRow, submission: Submission, bounds: Bounds, watch: FunctionWatch
    ) -> Attempt | Rejected:
        """Runs in the runner's thread, so that an error's own code, which makes its text, is limited in time too."""
        try:
            return run_on_draft(
                self.working, submission, watch, bounds, partial(self._mutate, row, submission, bounds, watch)
            )
        except Undecided as undecided:
            if isinstance(undecided.error, (*_FAULTS, Corrupt)):
                raise undecided.error from None
            return Rejected.by(undecided.error)
        except (KeyboardInterrupt, Overrun):
            raise
        except BaseException as error:
            return Rejected.by(error)

    def _mutate(self, row: InboxRow, submission: Submission, bounds: Bounds, watch: FunctionWatch, draft: Any) -> None:
        context, mutation = self.working.context, submission.mutation
        if len(mutation.arguments.encode()) > bounds.argument_bytes:
            raise TooLarge(f"its arguments are over {bounds.argument_bytes} bytes", hint=_ARGUMENTS_HINT)
        if context.authorise is not None:
            try:
                with watch.paused():
                    refuse_awaitable(context.authorise(submission, draft), "authorise")
            except (*_FAULTS, Corrupt) as fault:
                raise Undecided(fault) from None
        refuse_flawed(mutation)
        own = _OWN.get(mutation.name) if row.own else None
        if own is not None:
            own(context.model, draft, mutation.arguments)
        else:
            mutator_named(context.model, mutation).run(draft, mutation.arguments)

    def fits(self, more: int = 0) -> bool:
        """Whether the writes are within the limits of a transaction, and the contents within that of memory."""
        working = self.working
        maps = {name: map_bytes(working, name) for name in working.changed}
        parts = sum(spills_of(size) for size in maps.values())
        actions = 2 + parts + 2 * (len(self.ended) + 1)
        size = self._bytes + more + sum(maps.values()) + parts * ROW_BYTES
        fresh = sum(map(len, working.fresh.values()))
        return size <= MAX_TRANSACTION_BYTES and actions <= MAX_ACTIONS and (fresh <= MAX_FRESH_BYTES or not self.ended)


def leave_what_does_not_fit(working: WorkingVersion) -> bool:
    """Leave collections for further versions until the rest fits into a transaction. Returns whether it is all."""
    batch, all_of_it = Batch(working), len(working.changed)
    scalars = item_size(working.scalars)
    while len(working.changed) > 1 and not batch.fits(scalars):
        working.changed.popitem()
    return len(working.changed) == all_of_it


def record_bytes(row: InboxRow, error: str | None) -> int:
    """The most bytes that a mutation adds to a transaction: its record, its client, its entry in the version."""
    names = 4 * text_size(row.document_id) + 5 * text_size(row.client) + 2 * text_size(row.name)
    return ROW_BYTES + names + sum(map(text_size, (row.principal or "", row.arguments or "", error or "")))


def mutator_named(model: Any, mutation: Mutation) -> Any:
    mutator = model.mutators.get(mutation.name)
    if mutator is None:
        raise InvalidRequest("no mutation has that name", operation="mutation")
    return mutator


def map_bytes(working: WorkingVersion, name: str) -> int:
    """The bytes of a collection's entries, after the changes."""
    size = working.bytes_of(name)
    for id, digest in working.changed.get(name, {}).items():
        entry = text_size(id) + ENTRY_BYTES
        size += entry if digest is not None and id not in working.hashes[name] else 0
        size -= entry if digest is None and id in working.hashes[name] else 0
    return size


def spills_of(size: int) -> int:
    """The most parts that a collection of this size is stored in."""
    return 1 + size // (SPILL_BYTES - 2 * ROW_BYTES)


def too_large() -> str:
    error = TooLarge(
        "the collections would no longer fit into one transaction of 4 MB",
        hint="A document holds near 30,000 items, fewer with long ids.",
    )
    return reason_of(error)


def reason_of(error: BaseException) -> str:
    """The text of an error, for the stored rejected mutation."""
    return error_text(error, name=error.code if isinstance(error, SingletableError) else "")
