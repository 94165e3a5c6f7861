"""Time travel that writes: restore a version, replay mutations onto another state."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from singletable.documents.arguments import refs_in, texts_of
from singletable.documents.changes import Diff, diff_of
from singletable.documents.commit import apply, apply_next
from singletable.documents.contents import Content, Contents
from singletable.documents.context import Context
from singletable.documents.mutations import Mutation, Outcome, Submission
from singletable.documents.own_mutations import digest_of_version, restoration
from singletable.documents.read import (
    hashes_of_all,
    last_ids,
    newest,
    outcome_of,
    record_rows,
    version_rows,
    versions_since,
)
from singletable.documents.rows import MutationRecord, Version
from singletable.documents.snapshots import check_known
from singletable.errors import InvalidRequest, NotFound
from singletable.flow import Port

AT_ONCE = 40
"""The number of mutations that a replay submits together."""
VERSIONS_AT_ONCE = 100
COPIES = 5
"""The number of times contents are copied if garbage collection deletes them before they are submitted."""


@dataclass(frozen=True)
class Replayed:
    """A mutation of the source document, and its outcome in the other."""

    original: Outcome
    outcome: Outcome


@dataclass(frozen=True)
class Replay:
    """The result of a replay: every mutation that was applied in the source document, with its outcome in the other."""

    onto: str = field(repr=False)
    before: int
    after: int
    mutations: tuple[Replayed, ...]
    skipped: int
    """Mutations that were already rejected in the source document."""
    diff: Diff
    """The differences between the version before the replay and the one after it."""

    @property
    def rejected(self) -> tuple[Replayed, ...]:
        """The mutations that the other document rejected."""
        return tuple(replayed for replayed in self.mutations if replayed.outcome.status != "applied")


async def restore(
    port: Port,
    context: Context[Any],
    document_id: str,
    version: int,
    client: str,
    principal: str | None = None,
    over: int | None = None,
) -> Outcome:
    """Restore a document to a version, as the client's next mutation; returns its outcome.

    Its arguments refer to every item's content, in a blob of about 45 bytes for each item. No content is written. With
    `over` it is rejected unless the document is still as it was in that version.
    """
    numbers = (version,) if over is None else (version, over)
    sources = await version_rows(port, context, document_id, numbers)
    check_known(context.model, "restore", *sources)
    names = tuple(context.model.collections)
    hashes = await hashes_of_all(port, context, [(row, names) for row in sources])
    replaced = "" if over is None else digest_of_version(context.model, sources[-1], hashes[-1])
    mutation = restoration(context.model, sources[0], hashes[0], replaced)
    return await apply_next(port, context, document_id, client, mutation, principal)


async def replay(
    port: Port,
    context: Context[Any],
    document_id: str,
    since: int,
    onto: str,
    until: int | None = None,
    client: str | None = None,
) -> Replay:
    """Apply to another document the mutations of a document's versions after `since`, in the same order.

    They are submitted under a client of the replay's own, numbered by position. So a second call, after a crash or
    when there are more versions, continues where the first stopped. Contents that arguments refer to are copied.
    """
    if onto == document_id:
        raise InvalidRequest("a replay goes onto another document", operation="replay", hint="branch() it first.")
    last = (await newest(port, context, document_id)).number if until is None else until
    source = context.contents_of(await newest(port, context, document_id))
    begun = await newest(port, context, onto)
    target = context.contents_of(begun)
    name = client or f"replay-{document_id}-{since}"
    records, skipped = await _records(port, context, document_id, since, last)
    (done,) = (await last_ids(port, context, onto, [name])).values()
    results: list[Outcome] = []
    for i in range(0, len(records), AT_ONCE):
        part = records[i : i + AT_ONCE]
        texts = await texts_of(port, source, part)
        mutations = [Mutation(record.name, text) for record, text in zip(part, texts, strict=True)]
        rest = mutations if i + len(part) > done else []
        refs = {ref for mutation in rest for ref in refs_in(mutation.arguments)}
        numbered = [each.by(name, i + k, principal=part[k - 1].principal) for k, each in enumerate(mutations, 1)]
        results += await _applied(port, context, onto, numbered, partial(copy, port, source, target, refs))
    pairs = tuple(Replayed(outcome_of(record), own) for record, own in zip(records, results, strict=True))
    return await _report(port, context, onto, begun, pairs, skipped)


async def _applied(
    port: Port,
    context: Context[Any],
    onto: str,
    numbered: Sequence[Submission],
    copy_contents: Callable[[], Awaitable[None]],
) -> list[Outcome]:
    """Copy contents and submit mutations. If a garbage collection deletes the copies first, do both again."""
    for _ in range(COPIES - 1):
        await copy_contents()
        try:
            return await apply(port, context, onto, numbered, own=True)
        except NotFound:
            continue
    await copy_contents()
    return await apply(port, context, onto, numbered, own=True)


async def _report(
    port: Port, context: Context[Any], onto: str, begun: Version, pairs: tuple[Replayed, ...], skipped: int
) -> Replay:
    ended = await newest(port, context, onto)
    return Replay(onto, begun.number, ended.number, pairs, skipped, await diff_of(port, context, begun, ended))


async def _records(
    port: Port, context: Context[Any], document_id: str, since: int, last: int
) -> tuple[list[MutationRecord], int]:
    """The records of the mutations applied in some versions, in order, and the number rejected."""
    records: list[MutationRecord] = []
    skipped = 0
    for first in range(since, last, VERSIONS_AT_ONCE):
        versions = await versions_since(port, context, document_id, first, min(last, first + VERSIONS_AT_ONCE))
        applied = [mutation for version in versions for mutation in version.mutations]
        wanted = [(mutation.client, mutation.id) for mutation in applied if not mutation.rejected]
        skipped += len(applied) - len(wanted)
        records += await record_rows(port, context, document_id, wanted)
    return records, skipped


async def copy(port: Port, source: Contents, target: Contents, contents: set[Content]) -> None:
    """Copy blobs between two documents, concurrently. Existing blobs stay. No copies within a family."""
    calls: list[Callable[[], None]] = [partial(_copy, source, target, content) for content in contents]
    if calls and source.prefix != target.prefix:
        await port.call_all(calls)


def _copy(source: Contents, target: Contents, content: Content) -> None:
    if not target.has(content):
        target.write(content, source.read(content))
