"""Pokes: notifying the listeners of a document that there is a new version to pull.

A poke holds the current version and no other data, so a slow listener needs only the last of several. A commit of this
process pokes at once. Commits of other processes are found by reading the head while the document has listeners, one
read for all of them; or the application calls `notify` from a handler of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import ExitStack, contextmanager, suppress

from singletable.errors import NotFound, Unavailable
from singletable.sync.event_loop import Signal
from singletable.sync.limits import Limits, TooMany
from singletable.sync.presence import PresenceChange, PresenceRooms, PresenceWatch

Head = Callable[[str], Awaitable[int]]
"""Returns the newest version of a document; 0 before the first."""


class Listener:
    """One stream of pokes."""

    def __init__(self, user: str, signal: Signal) -> None:
        self.user = user
        self.signal = signal
        self.notified = -1
        """The last version that it was sent."""
        self.ended = False
        self.watch: PresenceWatch | None = None
        """The presence to send to it, if it named its client."""


class Channel:
    """The listeners of one document."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self.version = 0
        self.read_at = float("-inf")

    def end(self) -> None:
        for listener in self.listeners:
            listener.ended = True
            listener.signal.set()

    def notify(self, version: int) -> None:
        if version > self.version:
            self.set(version)

    def set(self, version: int) -> None:
        self.version = version
        for listener in self.listeners:
            listener.signal.set()


class Pokes:
    """All listeners of a process."""

    def __init__(
        self, limits: Limits, poll_seconds: float, monotonic: Callable[[], float], presence: PresenceRooms
    ) -> None:
        self._limits = limits
        self._presence = presence
        self._poll_seconds = poll_seconds
        self._now = monotonic
        self._channels: dict[str, Channel] = {}
        self._users: Counter[str] = Counter()
        self._closed = False

    @property
    def listeners(self) -> int:
        return self._users.total()

    def notify(self, document_id: str, version: int) -> None:
        """Poke the document's listeners, unless they have been sent this version or a later one."""
        channel = self._channels.get(document_id)
        if channel is not None:
            channel.notify(version)

    def close(self) -> None:
        """End all streams, and new ones at once: the server shuts down. A signal handler may call it."""
        self._closed = True
        for channel in self._channels.values():
            channel.end()

    @contextmanager
    def listen(self, document_id: str, user: str, client: str = "") -> Generator[Listener, None, None]:
        """A new listener of a document, until the block ends. Raises TooMany.

        One that names its client is sent the presence of the others, too.
        """
        if self._users[user] >= self._limits.listeners_per_user:
            raise TooMany(of_user=True)
        if self.listeners >= self._limits.listeners:
            raise TooMany(of_user=False)
        channel = self._channels.setdefault(document_id, Channel())
        listener = Listener(user, Signal())
        listener.ended = self._closed  # an event source reconnects after a stream ends, and gives up after an error
        channel.listeners.add(listener)
        self._users[user] += 1
        try:
            with ExitStack() as watching:
                if client:
                    watch = self._presence.watch(document_id, user, client, listener.signal)
                    listener.watch = watching.enter_context(watch)
                yield listener
        finally:
            channel.listeners.discard(listener)
            if not channel.listeners:
                self._channels.pop(document_id, None)
            self._users[user] -= 1
            if not self._users[user]:
                del self._users[user]

    async def next_event(
        self, document_id: str, listener: Listener, head: Head, timeout: float
    ) -> int | PresenceChange | None:
        """Wait for a version that the listener has not been sent, or a change of presence.

        None after `timeout`, or when the listener has ended. A listener that finds that the head was not read for
        `poll_seconds` reads it for all listeners of the document.
        """
        channel = self._channels[document_id]
        until = self._now() + timeout
        while not listener.ended:
            if self._now() - channel.read_at >= self._poll_seconds and not await self._read_head(
                document_id, channel, head
            ):
                return None
            if channel.version != listener.notified:
                listener.notified = channel.version
                return channel.version
            change = self._presence.take(document_id, listener.watch) if listener.watch is not None else None
            if change is not None:
                return change
            left = until - self._now()
            if left <= 0:
                return None
            await listener.signal.wait(min(left, self._wakes_in(channel, listener)))
        return None

    async def _read_head(self, document_id: str, channel: Channel, head: Head) -> bool:
        """Whether the document is still there. Where the head can't be read, it is read again after `poll_seconds`."""
        channel.read_at, before = self._now(), channel.version
        try:
            with suppress(Unavailable):
                version = await head(document_id)
                if version > channel.version or version < before == channel.version:  # lower: the table was restored
                    channel.set(version)
        except NotFound:  # it was deleted
            channel.end()
            return False
        return True

    def _wakes_in(self, channel: Channel, listener: Listener) -> float:
        """Seconds until a listener has something to do by itself."""
        poll = max(0.0, channel.read_at + self._poll_seconds - self._now())
        return poll if listener.watch is None else min(poll, self._presence.due_in(listener.watch))
