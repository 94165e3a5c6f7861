"""Ours beside what no client in Python does without, in one process, by turns.

The floor sends a request that was made and signed beforehand over an open socket, and reads the answer to its end. The
floor with decode also makes the JSON of a write, and decodes the answer into the types that our codec decodes it into:
what is left of ours is keys, expressions, signature, head, retries, checks, objects.
"""

from __future__ import annotations

import asyncio  # noqa: TID251 one of the two
import gc
import re
import socket
import threading  # noqa: TID251 a relay
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any, Final, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Raw

from benchmarks import bars
from benchmarks.bare import Recorder
from benchmarks.libraries import OURS, OURS_ASYNC, Call
from benchmarks.libraries.awaiting import open_client
from benchmarks.libraries.blocking import client_of
from benchmarks.measure import Bench, Effort, Samples, Say
from benchmarks.replay import length_of
from benchmarks.report import Ratio, ratio
from singletable import connect
from singletable.operations.answers import GetAnswer, ItemsAnswer, WriteAnswer, decoder

ALONE: Final = "floor"
WITH_DECODE: Final = bars.FLOOR
_LOOPS_A_ROUND: Final = 2
"""Of each: a slow moment of the machine meets all of them."""
_LENGTH: Final = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
_PIECE_BYTES: Final = 65536
_encode: Final = msgspec.json.Encoder().encode

Floors = Mapping[str, Mapping[str, Mapping[str, Samples]]]
"""By our shell, operation, and what was measured: microseconds of CPU, a figure each round."""


@dataclass(frozen=True)
class Exchange:
    """An operation, its request as bytes, what a client does to make it, and what it does with the answer's body."""

    operation: Any
    message: bytes
    encode: Callable[[], object]
    decode: Callable[[bytes], object]


def run(bench: Bench, effort: Effort, say: Say) -> Floors:
    """Wants the answers that were recorded for ours."""
    samples: dict[str, dict[str, dict[str, Samples]]] = {OURS: {}, OURS_ASYNC: {}}
    awaiting = open_client(bench.server.url)
    assert awaiting.run
    with connect(bench.server.url) as db, db.meter():
        calls = client_of(db).calls
        for operation in bars.FLOORS:
            say(f"{operation}, beside its floors")
            bench.server.replay(f"{OURS}/{operation}")
            exchange = exchange_of(bench.server.url, operation)
            ways = {**blocking_floors(bench.server.url, exchange), OURS: calls[operation]}
            samples[OURS][operation] = in_turns({name: partial(repeat, call) for name, call in ways.items()}, effort)
            bench.server.replay(f"{OURS_ASYNC}/{operation}")
            ways = {**awaiting.run(_awaiting(bench.server.url, exchange)), OURS_ASYNC: awaiting.calls[operation]}
            loops = {name: partial(_repeat_awaiting, awaiting.run, call) for name, call in ways.items()}
            samples[OURS_ASYNC][operation] = in_turns(loops, effort)
    awaiting.close()
    return samples


def ratios(floors: Floors, shell: str) -> dict[str, Ratio]:
    """Ours divided by the floor with decode, by operation."""
    return {operation: ratio(found[shell].cpu, found[WITH_DECODE].cpu) for operation, found in floors[shell].items()}


def rows(floors: Floors, shell: str) -> dict[str, dict[str, str]]:
    """Of a page: operation, microseconds of each, and ours divided by the floor with decode."""
    return {
        operation: {name: f"{median(samples.cpu):,.0f}" for name, samples in found.items()}
        | {"divided by the floor with decode": str(ratios(floors, shell)[operation])}
        for operation, found in floors[shell].items()
    }


# --- what is sent -----------------------------------------------------------------------------------------------------
def exchange_of(url: str, operation: str) -> Exchange:
    """As ours sends it, and decodes its answer."""
    with _relay(url) as (address, messages), connect(address) as db:
        recorder = Recorder(db)
        call = client_of(db).calls[operation]
        with recorder.recording():
            call()
    asked, message = recorder.rounds[-1][0], messages[-1]
    if operation == "get":
        return Exchange(asked, message, _nothing, decoder(GetAnswer, asked.reader.wire))
    if operation == "query1000":
        return Exchange(asked, message, _nothing, decoder(ItemsAnswer, asked.reader.wire))
    body = msgspec.json.decode(asked.request().body)
    if operation == "transact4":
        return Exchange(asked, message, partial(_encode, body), _unread)
    wire = asked.reader.wire if operation == "update" else Raw
    return Exchange(asked, message, partial(_encode, body), decoder(WriteAnswer, wire))


def _nothing() -> None:
    """What a read encodes is a key: too little to count."""


def _unread(body: bytes) -> None:
    """The answer to a transaction has only what it used."""


@contextmanager
def _relay(url: str) -> Iterator[tuple[str, list[bytes]]]:
    """An address at which one connection is passed on, and the requests that came by it."""
    messages: list[bytes] = []

    def pass_on() -> None:
        client, _ = listener.accept()
        with client, _connected(url) as server:
            while message := _whole(client):
                messages.append(message)
                server.sendall(message)
                client.sendall(_whole(server))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=pass_on, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", messages
    thread.join()


def _whole(connection: socket.socket) -> bytes:
    """A message, head and body; nothing at the end of the connection."""
    message = b""
    while not message or len(message) < length_of(message):
        piece = connection.recv(_PIECE_BYTES)
        if not piece:
            return b""
        message += piece
    return message


def _place(url: str) -> tuple[str, int]:
    place = urlsplit(url)
    assert place.hostname
    assert place.port
    return place.hostname, place.port


def _connected(url: str) -> socket.socket:
    connection = socket.create_connection(_place(url))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


# --- the floors -------------------------------------------------------------------------------------------------------
def blocking_floors(url: str, exchange: Exchange) -> dict[str, Call]:
    connection = _connected(url)
    receive = connection.recv

    def floor() -> bytes:
        connection.sendall(exchange.message)
        data = receive(_PIECE_BYTES)
        start, needed = _extent(data)
        pieces, held = [data[start:]], len(data)
        while held < needed:
            piece = receive(_PIECE_BYTES)
            pieces.append(piece)
            held += len(piece)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def with_decode() -> None:
        exchange.encode()
        exchange.decode(floor())

    return {ALONE: floor, WITH_DECODE: with_decode}


async def _awaiting(url: str, exchange: Exchange) -> dict[str, Call]:
    _, connection = await asyncio.get_running_loop().create_connection(_Connection, *_place(url))

    async def floor() -> None:
        await connection.ask(exchange.message)

    async def with_decode() -> None:
        exchange.encode()
        exchange.decode(await connection.ask(exchange.message))

    return {ALONE: floor, WITH_DECODE: with_decode}


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._loop = asyncio.get_running_loop()

    def ask(self, message: bytes) -> Awaitable[bytes]:
        self._answer: asyncio.Future[bytes] = self._loop.create_future()
        self._pieces: list[bytes] = []
        self._transport.write(message)
        return self._answer

    def data_received(self, data: bytes) -> None:
        if not self._pieces:
            start, self._needed = _extent(data)
            self._held = 0
            self._pieces.append(data[start:])
        else:
            self._pieces.append(data)
        self._held += len(data)
        if self._held >= self._needed:
            self._answer.set_result(self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces))


def _extent(data: bytes) -> tuple[int, int]:
    """Where an answer's body begins, and how long head and body are. The server sends the head in one piece."""
    start = data.find(b"\r\n\r\n") + 4
    length = _LENGTH.search(data, 0, start)
    assert length
    return start, start + int(length[1])


# --- measuring --------------------------------------------------------------------------------------------------------
def in_turns(ways: Mapping[str, Callable[[int], object]], effort: Effort) -> dict[str, Samples]:
    """Short loops of each by turns; another begins in each round."""
    slowest = max(min(_seconds(loop, 10) / 10 for _ in range(3)) for loop in ways.values())
    times = max(2, round(effort.loop_seconds / _LOOPS_A_ROUND / slowest))
    samples = {name: Samples() for name in ways}
    names = list(ways)
    for number in range(effort.rounds):
        turn = number % len(names)
        spent = dict.fromkeys(ways, 0.0)
        for _ in range(_LOOPS_A_ROUND):
            for name in (*names[turn:], *names[:turn]):
                spent[name] += _seconds(ways[name], times)
        for name, seconds in spent.items():
            samples[name].cpu.append(seconds / _LOOPS_A_ROUND / times * 1e6)
    return samples


def _seconds(loop: Callable[[int], object], times: int) -> float:
    """Of CPU, without what collecting garbage adds to one and not to the other."""
    gc.collect()
    began = time.process_time()
    loop(times)
    return time.process_time() - began


def repeat(call: Call, times: int) -> None:
    for _ in range(times):
        call()


def _repeat_awaiting(run: Callable[[Awaitable[Any]], Any], call: Call, times: int) -> None:
    async def loop() -> None:
        for _ in range(times):
            await call()

    run(loop())
