"""Presence: who is at a document now, and what they say of themselves, as where their cursor is.

An entry is kept in the memory of this process and nowhere else. It ends when the client leaves, when the client's last
stream of pokes ends, or `present_seconds` after it was last set. Each stream that names its client is sent the entries
of the others: first all of them, then what changed since the last event. So a slow stream skips what it missed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec

from singletable.errors import InvalidRequest
from singletable.sync.event_loop import Signal
from singletable.sync.limits import Limits, TooMany
from singletable.sync.protocol import read_id, read_object
from singletable.sync.strict_json import flaw_in, is_object

Who = tuple[str, str]
"""A user, and one of their clients, by an id that the client chose."""


class Present(msgspec.Struct, frozen=True):
    """One entry, as the others see it. The id is this server's own: a client's id is never revealed."""

    id: int
    user: str
    state: msgspec.Raw


class PresenceChange(msgspec.Struct, frozen=True, omit_defaults=True, rename={"gone": "del"}):
    """An event for a stream. `clear`: forget all entries that came before."""

    clear: bool = False
    put: Sequence[Present] = ()
    gone: Sequence[int] = ()


class PresencePost(msgspec.Struct, frozen=True):
    """The body of `POST /presence`. Without a state the client leaves."""

    client: str
    state: bytes | None


def read_presence(body: bytes, limits: Limits) -> PresencePost:
    """Parse `{client, state}`, where the state is a JSON object or null. Raises InvalidRequest."""
    fields = read_object(body)
    state: Any = fields.get("state")
    if state is not None and (not is_object(state) or flaw_in(state, limits.depth)):
        raise InvalidRequest("state is not a plain JSON object", attribute="state", hint="Send an object, or null.")
    return PresencePost(read_id(fields, "client"), None if state is None else msgspec.json.encode(state))


@dataclass
class _Entry:
    shown: Present
    until: float


@dataclass(eq=False)
class PresenceWatch:
    """The changes that one stream has not been sent yet."""

    who: Who
    signal: Signal
    changed: set[int] = field(default_factory=set[int])
    is_first: bool = True
    sent_at: float = float("-inf")


class _Room:
    """The entries of one document, and the streams that receive them."""

    def __init__(self) -> None:
        self.entries: dict[Who, _Entry] = {}
        self.watches: set[PresenceWatch] = set()

    def changed(self, who: Who, id: int) -> None:
        for watch in self.watches:
            if watch.who != who:
                watch.changed.add(id)
                watch.signal.set()


class PresenceRooms:
    """All entries of a process."""

    def __init__(self, limits: Limits, monotonic: Callable[[], float]) -> None:
        self._limits, self._now = limits, monotonic
        self._rooms: dict[str, _Room] = {}
        self._users: Counter[str] = Counter()
        self._ids = count(1)

    @property
    def entries(self) -> int:
        return self._users.total()

    def post(self, document_id: str, user: str, post: PresencePost) -> int | None:
        """Set the entry of a client, or end it. Returns the entry's id. Raises TooMany."""
        room, who = self._rooms.setdefault(document_id, _Room()), (user, post.client)
        try:
            self._expire(room)
            if post.state is not None:
                return self._put(room, who, post.state)
            self._remove(room, who)
            return None
        finally:
            self._drop_if_empty(document_id, room)

    @contextmanager
    def watch(self, document_id: str, user: str, client: str, signal: Signal) -> Generator[PresenceWatch, None, None]:
        """The changes for a client's stream, until the block ends. The client's entry ends with its last stream."""
        room, watch = self._rooms.setdefault(document_id, _Room()), PresenceWatch((user, client), signal)
        room.watches.add(watch)
        try:
            yield watch
        finally:
            room.watches.discard(watch)
            if all(other.who != watch.who for other in room.watches):
                self._remove(room, watch.who)
            self._drop_if_empty(document_id, room)

    def take(self, document_id: str, watch: PresenceWatch) -> PresenceChange | None:
        """Take the event to send to the stream now; None if nothing changed, or its last event was too recent."""
        room = self._rooms[document_id]
        self._expire(room)
        if self.due_in(watch) > 0:
            return None
        shown = {entry.shown.id: entry.shown for who, entry in room.entries.items() if who != watch.who}
        ids = sorted(shown if watch.is_first else watch.changed)
        change = PresenceChange(
            clear=watch.is_first,
            put=tuple(shown[id] for id in ids if id in shown),
            gone=tuple(id for id in ids if id not in shown),
        )
        watch.changed, watch.is_first, watch.sent_at = set(), False, self._now()
        return change

    def due_in(self, watch: PresenceWatch) -> float:
        """Seconds until the stream's next event; infinite where nothing waits to be sent."""
        if not (watch.changed or watch.is_first):
            return float("inf")
        return max(0.0, watch.sent_at + self._limits.presence_interval_seconds - self._now())

    def _put(self, room: _Room, who: Who, state: bytes) -> int:
        entry = room.entries.get(who)
        if entry is None:
            self._check_limits(room, who[0])
            self._users[who[0]] += 1
        id = next(self._ids) if entry is None else entry.shown.id
        until = self._now() + self._limits.present_seconds
        room.entries[who] = _Entry(Present(id, who[0], msgspec.Raw(state)), until)
        room.changed(who, id)
        return id

    def _check_limits(self, room: _Room, user: str) -> None:
        """Raises TooMany. Entries of documents that nobody looks at any more expire here at the latest."""
        if self._is_full(room, user):
            for document_id, other in list(self._rooms.items()):
                self._expire(other)
                if other is not room:
                    self._drop_if_empty(document_id, other)
        if self._is_full(room, user):
            raise TooMany(of_user=self._users[user] >= self._limits.listeners_per_user)

    def _is_full(self, room: _Room, user: str) -> bool:
        limits = self._limits
        is_full = len(room.entries) >= limits.present or self.entries >= limits.listeners
        return is_full or self._users[user] >= limits.listeners_per_user

    def _expire(self, room: _Room) -> None:
        now = self._now()
        for who in [who for who, entry in room.entries.items() if entry.until <= now]:
            self._remove(room, who)

    def _remove(self, room: _Room, who: Who) -> None:
        entry = room.entries.pop(who, None)
        if entry is None:
            return
        self._users[who[0]] -= 1
        if not self._users[who[0]]:
            del self._users[who[0]]
        room.changed(who, entry.shown.id)

    def _drop_if_empty(self, document_id: str, room: _Room) -> None:
        if not room.entries and not room.watches and self._rooms.get(document_id) is room:
            del self._rooms[document_id]
