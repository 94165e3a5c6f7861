"""The supervisor: a small process between an engine and all who use it, without threads or libraries.

Theory of operation. The supervisor listens on two Unix sockets in a directory that only its user may enter. A process
that connects to `holders.sock` holds the engine until that connection closes. The kernel closes it however the holder
ends, by `kill -9` too. When no holder is left, the supervisor ends the engine and itself. A process that connects to
`engine.sock` receives a connection to the engine, as a descriptor. The supervisor takes no part in that connection, so
a request over it costs what it costs over TCP. `isolation` says what keeps other users from the engine.

When an engine has ended by itself, the next request for a connection starts it again on the same data. Each start has
a name, its epoch, which is sent with each connection: an engine that was started again has lost what it kept in memory.

`attachment` spawns it, and says what its arguments are.
"""

from __future__ import annotations

import _socket as sockets  # importing `socket` takes as long again as starting the interpreter
import os
import resource
import select
import struct

from singletable_local.engine_process import KILL, EngineEnded, Process
from singletable_local.expiry_upkeep import ExpiryUpkeep
from singletable_local.isolation import Isolation, isolations_named
from singletable_local.socket_names import ENGINE_SOCKET, HOLDERS_SOCKET

TYPE_CHECKING = False  # importing `typing` would take too long, too
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_POLL_MILLISECONDS = 1
_BACKLOG = 4096
_LONGEST_MESSAGE_BYTES = 8000
_MOST_DESCRIPTORS = 65536


def main(arguments: Sequence[str]) -> None:
    """Ends the process."""
    directory, data, binary, isolations, port, ready, grace, sweep = arguments
    os.umask(0o077)
    _allow_many_descriptors()
    process = Process(binary, data, f"{directory}/log", ready_seconds=float(ready))
    starter = sockets.socket(fileno=0)
    supervisor = Supervisor(directory, process, starter, grace_seconds=float(grace), sweep_seconds=float(sweep))
    supervisor.serve(isolations_named(isolations.split(","), port=int(port)))
    os.killpg(0, KILL)  # its own session, which is empty except for what an engine may have left


class ShutDown(Exception):
    """No holder is left, or one asked for the end."""


class Supervisor:
    """One engine, its sockets and its holders. The process that started it is the first holder."""

    def __init__(
        self,
        directory: str,
        process: Process,
        starter: sockets.socket,
        *,
        grace_seconds: float,
        sweep_seconds: float,
    ) -> None:
        self._directory = directory
        self._process = process
        self._starter = starter
        self._grace_seconds = grace_seconds
        self._isolation: Isolation
        self._keeps_running = False
        self._expiry = ExpiryUpkeep(self._connect, sweep_seconds)
        self._holders: dict[int, sockets.socket] = {}
        self._from_holders, self._from_all = select.poll(), select.poll()
        """Holders are read while the engine starts, too."""
        self._hold(starter)

    def serve(self, isolations: Iterable[Isolation]) -> None:
        """Returns when no holder is left and the engine has ended."""
        try:
            self._start_isolated(isolations)
            clients, holders = self._listen(ENGINE_SOCKET), self._listen(HOLDERS_SOCKET)
            self._greet(self._starter)
            while True:
                for descriptor, _ in self._from_all.poll(self._expiry.pause_milliseconds()):
                    if descriptor == clients.fileno():
                        self._hand_out_connection(clients)
                    elif descriptor == holders.fileno():
                        self._add_holder(holders)
                    else:
                        self._read_holder(descriptor)
                self._expiry.step()
        except EngineEnded as error:
            self._send(self._starter, f"failed {error}")
        except ShutDown:
            return
        finally:
            self._clean_up()

    def _start_isolated(self, isolations: Iterable[Isolation]) -> None:
        """Start the engine under the first isolation that this system offers."""
        for isolation in isolations:
            try:
                self._start_under(isolation)
            except OSError:
                self._process.stop(self._grace_seconds)
                continue  # this system doesn't offer it
            return
        raise EngineEnded("broken", "this system doesn't offer the requested kinds of isolation")

    def _start_under(self, isolation: Isolation) -> None:
        for host, port in isolation.addresses():
            self._process.start(host, port, pause=self._pause)
            if self._process.runs and isolation.isolate(self._process.pid, host, port):
                self._isolation = isolation
                return
            self._process.stop(self._grace_seconds)
        raise EngineEnded("broken", "every port that was tried was taken by another program meanwhile")

    def _hand_out_connection(self, listener: sockets.socket) -> None:
        """Send a client a connection to the engine, or the reason why it gets none."""
        client = _accepted(listener)
        if client is None:
            return
        try:
            connection = self._connect()
        except (EngineEnded, OSError) as error:
            self._send(client, f"failed {error}")
        else:
            connection.setblocking(True)
            self._pass_descriptor(client, connection)
            connection.close()
        client.close()

    def _pass_descriptor(self, client: sockets.socket, connection: sockets.socket) -> None:
        descriptor = (sockets.SOL_SOCKET, sockets.SCM_RIGHTS, struct.pack("i", connection.fileno()))
        try:
            client.sendmsg([self._process.epoch.encode()], [descriptor])
        except OSError:
            return  # the client has gone

    def _connect(self) -> sockets.socket:
        if self._process.still_runs():
            try:
                return self._isolation.connect()
            except ConnectionRefusedError:  # the engine is about to end
                self._process.stop(self._grace_seconds)
        self._start_under(self._isolation)
        return self._isolation.connect()

    def _add_holder(self, listener: sockets.socket) -> None:
        holder = _accepted(listener)
        if holder is not None:
            self._hold(holder)
            self._greet(holder)

    def _hold(self, holder: sockets.socket) -> None:
        self._holders[holder.fileno()] = holder
        for poll in (self._from_holders, self._from_all):
            poll.register(holder, select.POLLIN)

    def _greet(self, holder: sockets.socket) -> None:
        self._send(holder, f"ready {self._process.pid} {self._isolation.name} {self._isolation.url or '-'}\n")

    def _pause(self) -> None:
        for descriptor, _ in self._from_holders.poll(_POLL_MILLISECONDS):
            self._read_holder(descriptor)

    def _read_holder(self, descriptor: int) -> None:
        """Raises `ShutDown`."""
        holder = self._holders.get(descriptor)
        if holder is None:
            return  # it left while another was served
        try:
            message = holder.recv(64, sockets.MSG_DONTWAIT)
        except BlockingIOError:
            return  # the holder that had this descriptor before has left
        except OSError:
            message = b""
        if message.endswith(b"end"):
            raise ShutDown
        if message == b"release":
            self._keeps_running = True
        if message:
            return
        if len(self._holders) == 1 and not self._keeps_running:
            raise ShutDown  # with the connection open: the last holder sees its end when the engine has ended
        self._send(holder, "held")
        for poll in (self._from_holders, self._from_all):
            poll.unregister(holder)
        del self._holders[holder.fileno()]
        holder.close()

    def _send(self, to: sockets.socket, message: str) -> None:
        try:
            to.sendall(message.encode(errors="replace")[:_LONGEST_MESSAGE_BYTES])
        except OSError:
            return  # it has gone; a holder's connection reports that by itself

    def _listen(self, name: str) -> sockets.socket:
        os.chdir(self._directory)  # its path may be longer than the address of a socket
        listener = sockets.socket(sockets.AF_UNIX)
        listener.bind(name)
        os.chmod(name, 0o600)
        listener.listen(_BACKLOG)
        listener.setblocking(False)
        os.chdir("/")
        self._from_all.register(listener, select.POLLIN)
        return listener

    def _clean_up(self) -> None:
        self._process.stop(self._grace_seconds)
        for name in os.listdir(self._directory):
            os.unlink(f"{self._directory}/{name}")
        os.rmdir(self._directory)


def _accepted(listener: sockets.socket) -> sockets.socket | None:
    """The next connection; None if the client has gone."""
    untyped: Any = listener
    try:
        descriptor, _ = untyped._accept()  # noqa: SLF001  (what `accept` is made of)
    except OSError:
        return None
    accepted = sockets.socket(fileno=descriptor)
    accepted.setblocking(True)
    return accepted


def _allow_many_descriptors() -> None:
    """The most that the system allows this user: each holder takes one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MOST_DESCRIPTORS if most == resource.RLIM_INFINITY else min(most, _MOST_DESCRIPTORS)
    resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))
