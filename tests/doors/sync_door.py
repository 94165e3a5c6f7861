"""The door of sync: a document whose items hold a value of any type that has a JSON, served by a process of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, make_dataclass
from typing import Any, Optional, cast

import msgspec
import uvicorn

from singletable import Table, connect_async
from singletable.documents import Document, Items, LocalBlobs
from singletable.documents.canonical_json import JsonCodec
from singletable.errors import DeclarationError, InvalidValue
from tests.doors.doors import mutator_of
from tests.doors.things import NAMES, type_of
from tests.sync.world import World


def _has_json(attribute: str) -> bool:
    try:
        mutator_of(type_of(attribute), attribute)(number=1, value=None)
    except InvalidValue:
        return True
    except DeclarationError:
        return False
    return True


HELD = {attribute: cast("Any", Optional)[type_of(attribute)] for attribute in NAMES if _has_json(attribute)}
"""The attributes of an item: one for each type with a JSON."""
Holding: Any = make_dataclass("Holding", [(name, kind, field(default=None)) for name, kind in HELD.items()])
held_boards = Table("held-boards", indexes=["gsi1"])


class HeldBoard(Document, table=held_boards, index="gsi1"):
    notes: Items[Holding]


CODEC: JsonCodec[Any] = JsonCodec(Holding, "HeldBoard.notes")


def _putting(attribute: str) -> Callable[..., None]:
    def put(draft: Any, *, id: str, value: Any) -> None:
        draft.notes[id] = Holding(**{attribute: value})

    put.__annotations__ = {"id": str, "value": type_of(attribute)}
    return put


PUTS = {attribute: HeldBoard.mutation(name=f"put_{attribute}")(_putting(attribute)) for attribute in HELD}
"""The mutations that put an item with a value."""


def serve(target: str, blobs: str, port: str) -> None:
    """The process of the server."""
    world = World(connect_async(target), LocalBlobs(blobs), kind=HeldBoard)
    uvicorn.run(world.app, host="127.0.0.1", port=int(port), log_level="error", timeout_graceful_shutdown=2)


class _Operation(msgspec.Struct):
    op: str
    key: str = ""
    value: msgspec.Raw = msgspec.Raw(b"null")


class _Answer(msgspec.Struct, rename={"last_ids": "lastMutationIDChanges"}):
    cookie: Any
    last_ids: dict[str, int]
    patch: list[_Operation]


def last_id(body: bytes) -> int:
    """The last mutation of the client that an answer to a pull knows."""
    return max(msgspec.json.decode(body, type=_Answer).last_ids.values(), default=0)


def pulled(body: bytes) -> Iterator[tuple[str, Any]]:
    """The items in an answer to a pull, by their ids, as a client with these types reads them."""
    for each in msgspec.json.decode(body, type=_Answer).patch:
        if each.op == "put" and each.key.startswith("notes/"):
            yield each.key.removeprefix("notes/"), CODEC.decode(bytes(each.value))


def push_of(mutations: list[tuple[int, str, str]]) -> bytes:
    """The body of a push of numbered mutations, each with the text of its arguments."""
    made = [
        {"clientID": "c1", "id": number, "name": name, "args": msgspec.Raw(arguments.encode()), "timestamp": 1}
        for number, name, arguments in mutations
    ]
    return msgspec.json.encode({"pushVersion": 1, **_WHO, "mutations": made})


def pull_of(cookie: Any = None) -> bytes:
    """The body of a pull."""
    return msgspec.json.encode({"pullVersion": 1, **_WHO, "cookie": cookie})


_WHO = {"clientGroupID": "g1", "profileID": "p1", "schemaVersion": "1"}
