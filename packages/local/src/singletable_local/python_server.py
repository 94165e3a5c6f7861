"""The process of the engine in Python: ministack's DynamoDB, behind an HTTP server on a port of 127.0.0.1.

It is started as a script, without this package and without site-packages: `python_server.py FOLDER`, where FOLDER holds
the package `ministack`. It prints its port and serves until its standard input ends, as it does when the process that
started it ends, however that ends. Everything is in memory.

Requests are handled by one thread, one after the other: so an update is never lost to another one, and a transaction is
isolated. The emulator's own thread, which deletes what has expired, waits until a request is done. What the emulator
does otherwise than DynamoDB, and what can be put right in a request, is put right here.
"""

from __future__ import annotations

import asyncio  # noqa: TID251  (it is a server of its own, and runs no flow)
import json
import os
import signal
import sys
import threading  # noqa: TID251  (standard input can be read by an event loop on POSIX only)
import traceback
from collections.abc import Awaitable, Callable
from email.utils import formatdate
from importlib import import_module
from pathlib import Path
from typing import Any

Headers = dict[str, str]
Answer = tuple[int, Headers, bytes]
Handler = Callable[[str, str, Headers, bytes, dict[str, str]], Awaitable[Answer]]

_HOST = "127.0.0.1"
_LONGEST_HEAD_BYTES = 1 << 16
_LONGEST_BODY_BYTES = 1 << 25
"""Twice the longest request of DynamoDB."""
_SEQUENCE_NUMBER_DIGITS = 30
_one_at_a_time = threading.RLock()
"""Held by a request, and by the emulator while it deletes what has expired. Some of its handlers take it again."""
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 413: "Content Too Large", 500: "Internal Server Error"}


def main(folder: str) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program, which ends this process
    threading.Thread(target=_end_with_input, daemon=True).start()
    sys.path.insert(0, folder)
    asyncio.run(_serve(_handlers()))


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(0)


def _handlers() -> dict[str, Handler]:
    """By the prefix of the operation's name in the request."""
    dynamodb: Any = import_module("ministack.services.dynamodb")  # found by the folder
    # It deletes under its lock, which its requests don't take: one that met a deletion would change half an item.
    dynamodb._lock = _one_at_a_time  # noqa: SLF001
    streams = import_module("ministack.services.dynamodb_streams")
    return {"DynamoDB_20120810": dynamodb.handle_request, "DynamoDBStreams_20120810": streams.handle_request}


async def _serve(handlers: dict[str, Handler]) -> None:
    server = await asyncio.start_server(
        lambda reader, writer: _converse(handlers, reader, writer), _HOST, 0, limit=_LONGEST_HEAD_BYTES
    )
    port = server.sockets[0].getsockname()[1]
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.serve_forever()


async def _converse(handlers: dict[str, Handler], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The requests of one connection, until the client closes it."""
    try:
        while True:
            headers = _headers_of(await reader.readuntil(b"\r\n\r\n"))
            length = int(headers.get("content-length", "0"))
            if refused := _unreadable(headers, length):
                writer.write(_response(refused))
                break
            body = await reader.readexactly(length)
            writer.write(_response(_refused(headers) or await _handled(handlers, headers, body)))
            await writer.drain()
    except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
        return  # the client has gone, or does not speak HTTP
    finally:
        writer.close()


def _headers_of(head: bytes) -> Headers:
    lines = (line.partition(":") for line in head.decode("latin-1").split("\r\n")[1:])
    return {name.strip().lower(): value.strip() for name, _, value in lines if name}


def _unreadable(headers: Headers, length: int) -> Answer | None:
    """The refusal of a request whose body is left unread: its connection ends."""
    if "transfer-encoding" in headers:
        return _refusal(400, "a request in chunks is not understood: send its length")
    return _refusal(413, f"a request of {length} bytes is too large") if length > _LONGEST_BODY_BYTES else None


def _refused(headers: Headers) -> Answer | None:
    """The refusal of a web page's request: it names its origin, or the host that led a browser here."""
    if "origin" in headers or headers.get("host", "").partition(":")[0] not in (_HOST, "localhost"):
        return _refusal(403, "a web page may not use the local engine")
    return None


async def _handled(handlers: dict[str, Handler], headers: Headers, body: bytes) -> Answer:
    service, _, operation = headers.get("x-amz-target", "").partition(".")
    handler = handlers.get(service)
    if handler is None:
        return _refusal(400, "the request names no operation of DynamoDB")
    try:
        if operation == "GetShardIterator":
            body = _with_padded_number(body)
        with _one_at_a_time:
            return await handler("POST", "/", headers, body, {})
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]  # without the error's text, which may quote an item
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return _refusal(500, f"the engine in Python failed in {operation}: {type(error).__name__} ({where})")


def _with_padded_number(body: bytes) -> bytes:
    """The emulator compares sequence numbers as texts with zeros in front, which numbers don't have."""
    request: dict[str, Any] = json.loads(body)
    if "SequenceNumber" in request:
        request["SequenceNumber"] = request["SequenceNumber"].zfill(_SEQUENCE_NUMBER_DIGITS)
    return json.dumps(request).encode()


def _refusal(status: int, message: str) -> Answer:
    code = "InternalServerError" if status == 500 else "ValidationException"
    return status, {}, json.dumps({"__type": code, "message": message}).encode()


def _response(answer: Answer) -> bytes:
    status, headers, body = answer
    own = {"Content-Type": "application/x-amz-json-1.0", "Date": formatdate(usegmt=True)}
    fields = {**own, **headers, "Content-Length": str(len(body))}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    return f"HTTP/1.1 {status} {_REASONS.get(status, 'Answer')}\r\n{head}\r\n".encode("latin-1") + body


if __name__ == "__main__":
    main(sys.argv[1])
