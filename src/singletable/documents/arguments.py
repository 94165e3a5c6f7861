"""The arguments of mutations, in their row or in a blob: the contents they refer to, and those that are refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import msgspec
from msgspec import Struct

from singletable.documents.canonical_json import is_array, is_object
from singletable.documents.contents import ARGUMENTS, Content, Contents, content_of
from singletable.documents.mutations import Mutation
from singletable.documents.rows import InboxRow, MutationRecord
from singletable.errors import InvalidValue
from singletable.flow import Port

Row = InboxRow | MutationRecord


class _Flaw(Struct, frozen=True):
    """The only argument of a flawed mutation; no mutator has a parameter of this name."""

    reason: str = msgspec.field(name="$flaw")


_FLAW = msgspec.json.Decoder(_Flaw)


def flawed(name: str, reason: str) -> Mutation:
    """A mutation that is rejected when it is run. What a client sent for it is not stored: its reason is."""
    return Mutation.of(name, _Flaw(reason))


def refuse_flawed(mutation: Mutation) -> None:
    """Raise InvalidValue, with the reason, for a mutation that was stored as flawed."""
    if mutation.arguments.startswith('{"$flaw":"'):
        raise InvalidValue(
            f"it was refused when it was pushed: {_FLAW.decode(mutation.arguments).reason}",
            operation=mutation.name,
            hint="docs/how-to/sync.md has what a mutation may be, under Limits and Attachments.",
        )


async def texts_of(port: Port, contents: Contents, rows: Sequence[Row]) -> list[str]:
    """The arguments of some mutations, as JSON. Those that are stored in blobs are read concurrently."""
    blobs = [Content(ARGUMENTS, row.arguments_blob or b"") for row in rows if row.arguments is None]
    calls: list[Callable[[], bytes]] = [partial(contents.read, content) for content in blobs]
    read = iter(await port.call_all(calls) if calls else [])
    return [row.arguments if row.arguments is not None else next(read).decode() for row in rows]


async def contents_of_mutations(port: Port, contents: Contents, rows: Sequence[Row]) -> set[Content]:
    """The blobs of arguments, and the contents that arguments refer to."""
    blobs = {Content(ARGUMENTS, row.arguments_blob) for row in rows if row.arguments_blob is not None}
    texts = await texts_of(port, contents, [row for row in rows if row.arguments is not None or row.refers])
    return blobs | {ref for text in texts for ref in refs_in(text)}


def refs_in(arguments: str) -> set[Content]:
    """The contents that arguments refer to."""
    if '"$blob"' not in arguments:
        return set()
    return {content for blob in _refs(msgspec.json.decode(arguments)) if (content := _named(blob)) is not None}


def _named(blob: str) -> Content | None:
    folder, _, sha256 = blob.partition("/")
    return content_of(folder, sha256)


def _refs(value: Any) -> Iterator[str]:
    """Without recursion, so that the allowed depth of arguments doesn't depend on the caller's stack."""
    rest = [value]
    while rest:
        each = rest.pop()
        if is_object(each):
            if list(each) == ["$blob"] and isinstance(each["$blob"], str):
                yield each["$blob"]
            rest += each.values()
        elif is_array(each):
            rest += each
