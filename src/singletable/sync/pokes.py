"""Pokes: who listens to which project, and telling them that there is something to pull.

A poke holds no data but the version that is there now, so a listener that is slow misses nothing by getting only the
last of several. Commits of this process are told at once. Those of others are found by reading the head while somebody
listens, one read for all listeners of a project, or told by whoever wires `changes` to `told`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager, suppress

from singletable.errors import Unavailable
from singletable.sync.event_wait import Bell
from singletable.sync.limits import Limits

Head = Callable[[str], Awaitable[int]]
"""The version that a project is at; 0 before the first."""


class Full(Exception):
    """One listener too many. `of_user` says whether it is the user's own number or that of the whole process."""

    def __init__(self, *, of_user: bool) -> None:
        super().__init__("too many listeners")
        self.of_user = of_user


class Listener:
    """One stream of pokes."""

    def __init__(self, user: str, bell: Bell) -> None:
        self.user = user
        self.bell = bell
        self.told = -1
        """The version it was told last."""
        self.ended = False


class Room:
    """The listeners of one project."""

    def __init__(self) -> None:
        self.listeners: set[Listener] = set()
        self.version = 0
        self.read_at = float("-inf")

    def tell(self, version: int) -> None:
        if version > self.version:
            self.version = version
            for listener in self.listeners:
                listener.bell.ring()


class Pokes:
    """All listeners of a process."""

    def __init__(self, limits: Limits, poll_seconds: float, monotonic: Callable[[], float]) -> None:
        self._limits = limits
        self._poll_seconds = poll_seconds
        self._now = monotonic
        self._rooms: dict[str, Room] = {}
        self._users: Counter[str] = Counter()
        self._closed = False

    @property
    def listeners(self) -> int:
        return self._users.total()

    def told(self, project: str, version: int) -> None:
        """A version of a project was committed; its listeners are poked if it is news to them."""
        room = self._rooms.get(project)
        if room is not None:
            room.tell(version)

    def close(self) -> None:
        """End all streams, and those that come: the server is going down. May be called by a signal's handler."""
        self._closed = True
        for room in self._rooms.values():
            for listener in room.listeners:
                listener.ended = True
                listener.bell.ring()

    @contextmanager
    def joined(self, project: str, user: str) -> Generator[Listener, None, None]:
        """A new listener of a project, until the block ends. Full."""
        if self._users[user] >= self._limits.listeners_per_user:
            raise Full(of_user=True)
        if self.listeners >= self._limits.listeners:
            raise Full(of_user=False)
        room = self._rooms.setdefault(project, Room())
        listener = Listener(user, Bell())
        listener.ended = self._closed  # an event source comes back to a stream that ends, and gives up at an error
        room.listeners.add(listener)
        self._users[user] += 1
        try:
            yield listener
        finally:
            room.listeners.discard(listener)
            if not room.listeners:
                self._rooms.pop(project, None)
            self._users[user] -= 1
            if not self._users[user]:
                del self._users[user]

    async def news(self, project: str, listener: Listener, head: Head, patience: float) -> int | None:
        """The version to tell a listener, when there is one it was not told; None when `patience` is over, or it ended.

        Whichever listener finds that the head was not read for `poll_seconds` reads it, for all in the room.
        """
        room = self._rooms[project]
        until = self._now() + patience
        while not listener.ended:
            if self._now() - room.read_at >= self._poll_seconds:
                room.read_at = self._now()
                with suppress(Unavailable):  # read again when it is time
                    room.tell(await head(project))
            if room.version > listener.told:
                listener.told = room.version
                return room.version
            left = until - self._now()
            if left <= 0:
                return None
            await listener.bell.wait(min(left, max(0.0, room.read_at + self._poll_seconds - self._now())))
        return None
