"""The keeper: a small process between an engine and all who use it, with no thread and no library.

Theory of operation. The keeper listens on two Unix sockets in a directory that only its user may enter. Whoever
connects to `line` holds the engine for as long as the connection lasts: the kernel closes it however the holder ends,
by `kill -9` too, and when nobody holds the engine any more the keeper ends it and itself. Whoever connects to `door` is
handed a connection to the engine, as a descriptor: from then on the keeper has no part in it, so that a request costs
what it costs without a door. What keeps everybody else from the engine is told in `walls`.

An engine that ended by itself is started again when the next one comes to the door, on the same data. Each start has a
name, its epoch, which the door tells along: an engine that was started again has forgotten what it kept in memory.

It is spawned by `holding`, which says what its arguments are.
"""

from __future__ import annotations

import _socket as sockets  # what `socket` adds to it takes as long to import as an interpreter takes to start
import os
import resource
import select
import struct

from singletable.local.engine_process import KILL, EngineEnded, Process
from singletable.local.isolation import Wall, walls_named

TYPE_CHECKING = False  # nor is there time for `typing`
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_POLL_MILLISECONDS = 1
_BACKLOG = 4096
_LONGEST_WORD_BYTES = 8000
_MOST_DESCRIPTORS = 65536


def main(arguments: Sequence[str]) -> None:
    """Ends the process."""
    directory, data, binary, walls, port, ready, grace = arguments
    os.umask(0o077)
    _allow_many_descriptors()
    process = Process(binary, data, f"{directory}/log", ready_seconds=float(ready))
    keeper = Keeper(directory, process, sockets.socket(fileno=0), grace_seconds=float(grace))
    keeper.serve(walls_named(walls.split(","), port=int(port)))
    os.killpg(0, KILL)  # its own session, which is empty but for what an engine may have left


class Leaving(Exception):
    """Nobody holds the engine any more, or a holder said that it is to end."""


class Keeper:
    """One engine's doors and holders; the first holder is who started it."""

    def __init__(self, directory: str, process: Process, starter: sockets.socket, *, grace_seconds: float) -> None:
        self._directory = directory
        self._process = process
        self._starter = starter
        self._grace_seconds = grace_seconds
        self._wall: Wall
        self._released = False
        self._holders: dict[int, sockets.socket] = {}
        self._lines, self._everything = select.poll(), select.poll()
        """Holders are heard while the engine starts, too."""
        self._hold(starter)

    def serve(self, walls: Iterable[Wall]) -> None:
        """Returns when nobody holds the engine any more, and it has ended."""
        try:
            self._start_behind_any(walls)
            door, line = self._open("door"), self._open("line")
            self._greet(self._starter)
            while True:
                for descriptor, _ in self._everything.poll():
                    if descriptor == door.fileno():
                        self._let_in(door)
                    elif descriptor == line.fileno():
                        self._take_on(line)
                    else:
                        self._listen(descriptor)
        except EngineEnded as error:
            self._say(self._starter, f"failed {error}")
        except Leaving:
            return
        finally:
            self._clear_up()

    def _start_behind_any(self, walls: Iterable[Wall]) -> None:
        for wall in walls:
            try:
                wall.raise_up()
                self._start_behind(wall)
            except OSError:
                self._process.stop(self._grace_seconds)
                continue  # this system has no such wall
            return
        raise EngineEnded("broken", "none of the walls that were asked for can be had on this system")

    def _start_behind(self, wall: Wall) -> None:
        for host, port in wall.addresses():
            self._process.start(host, port, pause=self._pause)
            if self._process.runs and wall.stand(self._process.pid, host, port):
                self._wall = wall
                return
            self._process.stop(self._grace_seconds)
        raise EngineEnded("broken", "no port was left: each that was free a moment before was taken")

    def _let_in(self, door: sockets.socket) -> None:
        """Hand a connection to the engine over, or say why there is none."""
        guest = _accepted(door)
        if guest is None:
            return
        try:
            connection = self._connect()
        except (EngineEnded, OSError) as error:
            self._say(guest, f"failed {error}")
        else:
            connection.setblocking(True)
            self._hand_over(guest, connection)
            connection.close()
        guest.close()

    def _hand_over(self, guest: sockets.socket, connection: sockets.socket) -> None:
        descriptor = (sockets.SOL_SOCKET, sockets.SCM_RIGHTS, struct.pack("i", connection.fileno()))
        try:
            guest.sendmsg([self._process.epoch.encode()], [descriptor])
        except OSError:
            return  # it has gone again

    def _connect(self) -> sockets.socket:
        if self._process.still_runs():
            try:
                return self._wall.connect()
            except ConnectionRefusedError:  # it is about to end
                self._process.stop(self._grace_seconds)
        self._start_behind(self._wall)
        return self._wall.connect()

    def _take_on(self, line: sockets.socket) -> None:
        holder = _accepted(line)
        if holder is not None:
            self._hold(holder)
            self._greet(holder)

    def _hold(self, holder: sockets.socket) -> None:
        self._holders[holder.fileno()] = holder
        for poll in (self._lines, self._everything):
            poll.register(holder, select.POLLIN)

    def _greet(self, holder: sockets.socket) -> None:
        self._say(holder, f"ready {self._process.pid} {self._wall.name} {self._wall.url or '-'}\n")

    def _pause(self) -> None:
        for descriptor, _ in self._lines.poll(_POLL_MILLISECONDS):
            self._listen(descriptor)

    def _listen(self, descriptor: int) -> None:
        """Raises `Leaving`."""
        holder = self._holders.get(descriptor)
        if holder is None:
            return  # it left while another was served
        try:
            word = holder.recv(64, sockets.MSG_DONTWAIT)
        except BlockingIOError:
            return  # so did the one that had this descriptor before
        except OSError:
            word = b""
        if word.endswith(b"end"):
            raise Leaving
        if word == b"release":
            self._released = True
        if word:
            return
        if len(self._holders) == 1 and not self._released:
            raise Leaving  # with the connection open: its end tells the last holder that all is over
        self._say(holder, "held")
        for poll in (self._lines, self._everything):
            poll.unregister(holder)
        del self._holders[holder.fileno()]
        holder.close()

    def _say(self, to: sockets.socket, word: str) -> None:
        try:
            to.sendall(word.encode(errors="replace")[:_LONGEST_WORD_BYTES])
        except OSError:
            return  # it has gone, of which its line tells

    def _open(self, name: str) -> sockets.socket:
        os.chdir(self._directory)  # its path may be longer than an address
        listener = sockets.socket(sockets.AF_UNIX)
        listener.bind(name)
        os.chmod(name, 0o600)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        os.chdir("/")
        self._everything.register(listener, select.POLLIN)
        return listener

    def _clear_up(self) -> None:
        self._process.stop(self._grace_seconds)
        for name in os.listdir(self._directory):
            os.unlink(f"{self._directory}/{name}")
        os.rmdir(self._directory)


def _accepted(listener: sockets.socket) -> sockets.socket | None:
    untyped: Any = listener
    try:
        descriptor, _ = untyped._accept()  # noqa: SLF001  (what `accept` is made of)
    except OSError:
        return None  # who came has gone again
    accepted = sockets.socket(fileno=descriptor)
    accepted.setblocking(True)
    return accepted


def _allow_many_descriptors() -> None:
    """As many as the system allows this user: each holder takes one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, _MOST_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
