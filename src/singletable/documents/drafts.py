"""Drafts: mutations change them, one after the other, before anything is written.

A batch works on the newest version. Each mutation has its own draft over it. An assigned value is encoded as canonical
JSON at once, and joins the batch only when the mutation succeeds.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from singletable.documents.bounded_calls import FunctionWatch, Overrun
from singletable.documents.canonical_json import digest_of
from singletable.documents.contents import Content, Contents, check_size, content_of
from singletable.documents.context import Context
from singletable.documents.document import CollectionModel, Items
from singletable.documents.mutations import Bounds, Ref, Submission
from singletable.documents.snapshots import SIDE_BY_SIDE, stored_scalars
from singletable.errors import Corrupt, InvalidRequest, InvalidValue, SingletableError, TooLarge, Unavailable
from singletable.events import Listeners
from singletable.flow import call_in_threads
from singletable.values import UNDECLARED, AttributeValue, item_size, texts_size

T = TypeVar("T")

MAX_SCALAR_BYTES = 1536
MAX_READ_BYTES = 64 * 1024 * 1024
"""The most bytes of contents that a batch caches for later mutations."""
ENTRY_BYTES = 33
"""The bytes of a map's entry without its id: the hash, and one byte."""

Changes = dict[str, bytes | None]
"""The new hash by item id; None for a deleted item."""


def entries_size(ids: Collection[str]) -> int:
    """The bytes of a map's entries with these ids."""
    return texts_size(ids) + len(ids) * ENTRY_BYTES


Savepoint = tuple[Mapping[str, AttributeValue], dict[Content, bytes], set[Content], dict[str, Changes]]


@dataclass
class WorkingVersion:
    """The version being made: the newest version with the changes of the mutations so far."""

    context: Context[Any]
    contents: Contents
    parent: str
    document_id: str
    scalars: Mapping[str, AttributeValue]
    hashes: dict[str, dict[str, bytes]]
    present: frozenset[Content] = frozenset()
    """The contents that arguments refer to and the store has."""
    fresh: dict[Content, bytes] = field(default_factory=dict[Content, bytes])
    """The contents that were assigned, as canonical JSON."""
    referred: set[Content] = field(default_factory=set[Content])
    """The contents that were referred to. They are in the store already."""
    changed: dict[str, Changes] = field(default_factory=dict[str, Changes])
    """The changes since the version with which the batch began."""
    read: dict[Content, bytes] = field(default_factory=dict[Content, bytes])
    events: Listeners = field(default_factory=Listeners)
    _read_bytes: int = 0
    _bytes: dict[str, int] = field(default_factory=dict[str, int])

    def bytes_of(self, name: str) -> int:
        """The bytes of a collection's entries in the version with which the batch began."""
        if name not in self._bytes:
            self._bytes[name] = entries_size(self.hashes[name])
        return self._bytes[name]

    def cached(self, content: Content) -> bytes | None:
        """A content of the batch itself, or one that was read before; else None."""
        return self.fresh.get(content) or self.read.get(content)

    def fetch(self, content: Content) -> bytes:
        """Read a content from the store, and cache it."""
        data = self.contents.read(content)
        self._read_bytes += len(data)
        if self._read_bytes > MAX_READ_BYTES:
            self.read.clear()
            self._read_bytes = len(data)
        self.read[content] = data
        return data

    def hash_of(self, name: str, id: str) -> bytes | None:
        changes = self.changed.get(name, {})
        return changes[id] if id in changes else self.hashes[name].get(id)

    def hashes_now(self, name: str) -> dict[str, bytes]:
        """The hashes of a collection, with the changes."""
        hashes = dict(self.hashes[name])
        for id, digest in self.changed.get(name, {}).items():
            if digest is not None:
                hashes[id] = digest
            else:
                hashes.pop(id, None)
        return hashes

    def needed(self) -> dict[Content, bytes | None]:
        """The contents that this version reaches and the one before did not; None for those in the store already."""
        data_of: dict[Content, bytes | None] = {}
        for name, changes in self.changed.items():
            folder, before = self.context.model.collections[name].folder, set(self.hashes[name].values())
            for digest in changes.values():
                if digest is not None and digest not in before:
                    content = Content(folder, digest)
                    data_of[content] = self.fresh.get(content)
        return data_of

    def savepoint(self) -> Savepoint:
        """A savepoint, to roll back a mutation that doesn't fit."""
        changed = {name: dict(changes) for name, changes in self.changed.items()}
        return self.scalars, dict(self.fresh), set(self.referred), changed

    def roll_back_to(self, savepoint: Savepoint) -> None:
        self.scalars, self.fresh, self.referred, self.changed = savepoint

    def merge(self, attempt: Attempt) -> None:
        """Merge the changes of a successful mutation into the batch."""
        self.scalars = attempt.scalars
        self.fresh |= attempt.fresh
        self.referred |= attempt.referred
        for name, changes in attempt.changes.items():
            own = self.changed.setdefault(name, {})
            for id, digest in changes.items():
                own[id] = digest
                if self.hashes[name].get(id) == digest:
                    del own[id]
            if not own:
                del self.changed[name]


class Undecided(Exception):
    """The mutation has no outcome yet, because something that it needs could not be read or called."""

    def __init__(self, error: SingletableError) -> None:
        super().__init__(error.what)
        self.error = error


@dataclass
class Attempt:
    """One run of a mutation on its draft."""

    working: WorkingVersion
    watch: FunctionWatch
    bounds: Bounds
    changes: dict[str, Changes] = field(default_factory=dict[str, Changes])
    fresh: dict[Content, bytes] = field(default_factory=dict[Content, bytes])
    referred: set[Content] = field(default_factory=set[Content])
    scalars: Mapping[str, AttributeValue] = field(default_factory=dict[str, AttributeValue])
    fault: SingletableError | None = None
    """A content could not be read for the mutation: it has no outcome, however the function handled the error."""
    exceeded: TooLarge | None = None
    """The mutation exceeded a bound: it is rejected, however the function handled the error."""
    is_open: bool = True
    _changed: int = 0
    _result_bytes: int = 0

    def hash_of(self, name: str, id: str) -> bytes | None:
        changes = self.changes.get(name, {})
        return changes[id] if id in changes else self.working.hash_of(name, id)

    def value(self, model: CollectionModel[T], content: Content) -> T:
        """A content, decoded as a value of its collection."""
        try:
            return model.codec.decode(self._content(content))
        except Corrupt as fault:
            self.fault = fault
            raise

    def _content(self, content: Content) -> bytes:
        cached = self.fresh.get(content) or self.working.cached(content)
        if cached is not None:
            return cached
        try:
            with self.watch.paused():
                return self.working.fetch(content)
        except SingletableError as fault:
            self.fault = fault
            raise
        except Exception as error:
            # A store may raise anything, or this process may lack memory or threads. The mutation is not at fault.
            self.fault = Unavailable(
                f"a content could not be read: {type(error).__name__}",
                operation="blob get",
                hint="Look at the blob store and at this process's memory, then process the document again.",
            )
            raise self.fault from error

    def assign(self, name: str, id: str, content: Content, data: bytes) -> None:
        self._result_bytes += len(data)
        if self._result_bytes > self.bounds.result_bytes:
            self._exceed("result_bytes", f"it assigns contents of over {self.bounds.result_bytes} bytes")
        self.change(name, id, content.digest)
        self.fresh[content] = data

    def change(self, name: str, id: str, digest: bytes | None) -> None:
        if not self.is_open:
            raise InvalidRequest("a mutation's draft ends with the mutation", operation="mutation")
        self._changed += 1
        if self._changed > self.bounds.changes:
            self._exceed("changes", f"it changes items over {self.bounds.changes} times")
        self.changes.setdefault(name, {})[id] = digest

    def _exceed(self, bound: str, what: str) -> None:
        self.exceeded = TooLarge(
            f"a mutation has bounds, and {what}", hint=f"Make several of it, or raise Bounds({bound}=)."
        )
        raise self.exceeded


def run_on_draft(
    working: WorkingVersion, submission: Submission, watch: FunctionWatch, bounds: Bounds, mutate: Callable[[Any], None]
) -> Attempt:
    """Run one mutation on its own draft. Its errors are raised; its changes are not merged yet.

    Raises Undecided if a content could not be read, TooLarge if a bound was exceeded, however the function handled it.
    """
    attempt = Attempt(working, watch, bounds)
    context = working.context
    draft: Any = object.__new__(context.kind)
    draft.__dict__.update(vars(context.model.scalars.load(working.scalars)))
    draft.__dict__.update({name: DraftItems(model, attempt) for name, model in context.model.collections.items()})
    draft.__dict__.update(
        id=working.document_id, parent=working.parent, principal=submission.principal, mutation=submission
    )
    draft.__dict__.update(_open=True, _events=working.events)
    try:
        mutate(draft)
    except (KeyboardInterrupt, Overrun):
        raise
    except BaseException:
        _raise_overriding(attempt)
        raise
    finally:
        attempt.is_open = draft.__dict__["_open"] = False
    _raise_overriding(attempt)
    attempt.scalars = checked_scalars(context, draft.__dict__)
    return attempt


def _raise_overriding(attempt: Attempt) -> None:
    if attempt.fault is not None:
        raise Undecided(attempt.fault) from None
    if attempt.exceeded is not None:
        raise attempt.exceeded from None


def checked_scalars(context: Context[Any], values: Mapping[str, Any]) -> Mapping[str, AttributeValue]:
    """Scalars in their stored form. Raises InvalidValue; TooLarge over 1,536 bytes, which names the largest."""
    codec = context.model.scalars
    stored = stored_scalars(context.model, _Scalars(values, [*codec.by_name, UNDECLARED]))
    size = item_size(stored)
    if size > MAX_SCALAR_BYTES:
        sizes = sorted(((item_size({name: value}), name) for name, value in stored.items()), reverse=True)
        named = ", ".join(f"{name} ({bytes_} bytes)" for bytes_, name in sizes[:3])
        raise TooLarge(
            f"scalars of {size} bytes; together they have at most {MAX_SCALAR_BYTES}. The largest: {named}",
            hint="Keep large content in a collection.",
        )
    return stored


class _Scalars:
    """The scalars of a dictionary of values, as attributes."""

    def __init__(self, values: Mapping[str, Any], names: Iterable[str]) -> None:
        self.__dict__.update({name: values[name] for name in names if name in values})


class DraftItems(Items[T]):
    """A collection of a draft: the version before, with the batch's changes and the mutation's own."""

    def __init__(self, model: CollectionModel[T], attempt: Attempt) -> None:
        self._model, self._attempt = model, attempt

    def __repr__(self) -> str:
        return f"<{self._model!r} of a draft>"

    def __getitem__(self, id: str) -> T:
        return self._attempt.value(self._model, Content(self._model.folder, self._digest_of(id)))

    def __setitem__(self, id: str, value: T) -> None:
        id, data = self._model.check_id(id), self._model.codec.encode(value)
        check_size(data, self._attempt.working.context.most)
        self._attempt.assign(self._model.name, id, Content(self._model.folder, digest_of(data)), data)

    def __delitem__(self, id: str) -> None:
        self._digest_of(id)
        self._attempt.change(self._model.name, id, None)

    def __contains__(self, id: object) -> bool:
        return isinstance(id, str) and self._attempt.hash_of(self._model.name, id) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(sorted(self._hashes()))

    def __len__(self) -> int:
        return len(self._hashes())

    def all(self) -> dict[str, T]:
        ids = list(self)
        calls: list[Callable[[], Any]] = [_getter(self, id) for id in ids]
        return dict(zip(ids, call_in_threads(calls, SIDE_BY_SIDE) if calls else [], strict=True))

    def hash_of(self, id: str) -> str:
        return self._digest_of(id).hex()

    def refer(self, id: str, content: Ref[T]) -> None:
        folder, _, sha256 = content.blob.partition("/")
        referred = content_of(folder, sha256)
        if referred is None or folder != self._model.folder:
            raise InvalidValue(f"a content of {self._model!r} is wanted", attribute=self._model.name)
        if referred not in self._attempt.working.present:
            raise InvalidValue("the content that is referred to is not in the blob store", attribute=self._model.name)
        self._attempt.change(self._model.name, self._model.check_id(id), referred.digest)
        self._attempt.referred.add(referred)

    def _digest_of(self, id: str) -> bytes:
        digest = self._attempt.hash_of(self._model.name, id)
        if digest is None:
            raise KeyError(id)
        return digest

    def _hashes(self) -> dict[str, bytes]:
        name = self._model.name
        both: dict[str, bytes | None] = {
            **self._attempt.working.hashes_now(name),
            **self._attempt.changes.get(name, {}),
        }
        return {id: digest for id, digest in both.items() if digest is not None}


def _getter(items: DraftItems[Any], id: str) -> Callable[[], Any]:
    return lambda: items[id]
