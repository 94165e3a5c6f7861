"""Replicache's wire protocol, version 1: what a push and a pull say, and what is answered.

    push  {pushVersion: 1, clientGroupID, profileID, schemaVersion, mutations: [{clientID, id, name, args, timestamp}]}
          -> {}
    pull  {pullVersion: 1, clientGroupID, profileID, schemaVersion, cookie}
          -> {cookie, lastMutationIDChanges: {clientID: id}, patch: [{op: put | del | clear, key, value}]}

or {error: "ClientStateNotFound"}: the client begins anew under another group; or {error: "VersionNotSupported",
versionType}: its code is too old or too new. Fields that are not named here are passed over. Texts of the client's
choosing become parts of keys, so they are held to what a key takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeGuard

import msgspec

from singletable.documents.mutations import MAX_ID
from singletable.errors import InvalidRequest
from singletable.sync.body_parts import elements, members, values_in
from singletable.sync.limits import Limits
from singletable.sync.strict_json import Flaw, flaw_in, is_list, is_object, read_json

VERSION = 1
MOST_ID_CHARACTERS = 128
"""Of a client's or a group's id; Replicache's own ids have 18 to 36."""
MOST_NAME_BYTES = 200
"""Of a mutation's name."""
WHOLE_BYTES = 1 << 16
"""A larger body is read in pieces."""
_MOST_ESCAPED = 6
"""Bytes in which JSON may write one: `\\u00e9`."""
_FIELDS = frozenset({"pushVersion", "clientGroupID", "schemaVersion"})
_WHO = frozenset({"clientID", "id", "name"})

VersionType = Literal["push", "pull", "schema"]


class OtherVersion(Exception):
    """The client speaks another version of the protocol. It is answered so, and may load newer code."""

    def __init__(self, version_type: VersionType) -> None:
        super().__init__(f"the client's {version_type} version is not supported")
        self.version_type: VersionType = version_type


@dataclass(frozen=True, slots=True)
class Pushed:
    """One mutation of a push. `flaw` says what is wrong with its name or arguments; it is rejected, not refused."""

    client: str
    id: int
    name: str
    args: Any
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Push:
    """A push, with as many of its mutations as one may have."""

    group: str
    schema: str
    mutations: Sequence[Pushed]


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull. The cookie is as it came: whether it is one of ours is found out against the project."""

    group: str
    schema: str
    cookie: Any


class Put(msgspec.Struct, frozen=True, tag_field="op", tag="put"):
    """A key of the client view has this value; it is JSON text already."""

    key: str
    value: msgspec.Raw


class Delete(msgspec.Struct, frozen=True, tag_field="op", tag="del"):
    key: str


class Clear(msgspec.Struct, frozen=True, tag_field="op", tag="clear"):
    """Forget all that was known; what follows is everything."""


Operation = Put | Delete | Clear


class Pulled(msgspec.Struct, frozen=True, rename={"last_ids": "lastMutationIDChanges"}):
    """The answer to a pull."""

    cookie: int
    last_ids: Mapping[str, int]
    patch: Sequence[Operation]


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True, rename={"version_type": "versionType"}):
    """The answer that tells a client to begin anew, or to load newer code."""

    error: Literal["ClientStateNotFound", "VersionNotSupported"]
    version_type: VersionType | None = None


CLIENT_STATE_NOT_FOUND = Refusal("ClientStateNotFound")


def read_push(body: bytes, limits: Limits) -> Push:
    """The push in a request's body. InvalidRequest for what no client sends; OtherVersion."""
    if len(body) > WHOLE_BYTES:
        return _read_large(body, limits)
    said = _envelope(body)
    _check_version(said)
    mutations = said.get("mutations")
    if not is_list(mutations):
        raise _malformed("mutations", "a list")
    return _push(said, [_mutation(each, limits) for each in mutations[: limits.mutations]])


def _read_large(body: bytes, limits: Limits) -> Push:
    """In pieces: only what is wanted of it is read strictly."""
    pieces = members(body)
    small = {name: read_json(text) for name, text in pieces.items() if name in _FIELDS and len(text) < WHOLE_BYTES}
    _check_version(small)
    if not pieces.get("mutations", b"").startswith(b"["):
        raise _malformed("mutations", "a list")
    pushed: list[Pushed] = []
    values = 0
    for text in elements(pieces["mutations"], limits.mutations):
        own = values_in(text, limits.values)
        if own > limits.values or len(text) > _MOST_ESCAPED * limits.args_bytes + WHOLE_BYTES:
            pushed.append(_large_mutation(text, limits))
            continue
        values += own
        if values > limits.values and values != own:
            break
        pushed.append(_mutation(read_json(text), limits))
    return _push(small, pushed)


def _large_mutation(text: bytes, limits: Limits) -> Pushed:
    """One over the limits: who and which number it is, and nothing else of it."""
    said = {
        name: read_json(piece) for name, piece in members(text).items() if name in _WHO and len(piece) < WHOLE_BYTES
    }
    return _mutation({**said, "args": Flaw(f"over {limits.args_bytes} bytes or {limits.values} values")}, limits)


def _push(said: Mapping[str, Any], pushed: Sequence[Pushed]) -> Push:
    return Push(_id(said, "clientGroupID"), _schema(said), pushed)


def _check_version(said: Mapping[str, Any]) -> None:
    if said.get("pushVersion") != VERSION:
        raise _other_version(said.get("pushVersion"), "push")


def read_pull(body: bytes) -> Pull:
    """The pull in a request's body. InvalidRequest for what no client sends; OtherVersion."""
    said = _envelope(body)
    if said.get("pullVersion") != VERSION:
        raise _other_version(said.get("pullVersion"), "pull")
    return Pull(_id(said, "clientGroupID"), _schema(said), said.get("cookie"))


def _envelope(body: bytes) -> dict[str, Any]:
    said = read_json(body)
    if isinstance(said, Flaw):
        raise InvalidRequest(f"the body is {said.what}", hint="Send one JSON object.")
    if not is_object(said):
        raise InvalidRequest("the body is not a JSON object", hint="Send what Replicache sends.")
    return said


def _other_version(said: Any, version_type: VersionType) -> Exception:
    if isinstance(said, int):
        return OtherVersion(version_type)
    return _malformed(f"{version_type}Version", "a number")


def _mutation(said: Any, limits: Limits) -> Pushed:
    """Who and which number must be sound, as all else hangs on them; the rest may be flawed."""
    if not is_object(said):
        raise _malformed("mutations", "a list of objects")
    number = said.get("id")
    if not _is_id(number):
        raise _malformed("mutations[].id", "a whole number from 1")
    client, name, args = _id(said, "clientID"), said.get("name"), said.get("args")
    if not isinstance(name, str) or flaw_in(name, 0) or not 0 < len(name.encode()) <= MOST_NAME_BYTES:
        return Pushed(client, number, "", None, f"its name is no text of 1 to {MOST_NAME_BYTES} bytes")
    flaw = flaw_in(args, limits.depth)
    if not flaw and len(msgspec.json.encode(args)) > limits.args_bytes:
        flaw = f"over {limits.args_bytes} bytes"
    return (
        Pushed(client, number, name, None, f"its arguments are refused: {flaw}")
        if flaw
        else Pushed(client, number, name, args)
    )


def _id(said: Mapping[str, Any], name: str) -> str:
    """An id of the client's choosing: printable ASCII, so that it stands in a key, a log and an event as it is."""
    value = said.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MOST_ID_CHARACTERS:
        raise _malformed(name, f"a text of 1 to {MOST_ID_CHARACTERS} characters")
    if not (value.isascii() and value.isprintable()):
        raise _malformed(name, "printable ASCII")
    return value


def _schema(said: Mapping[str, Any]) -> str:
    value = said.get("schemaVersion", "")
    if not isinstance(value, str):
        raise _malformed("schemaVersion", "a text")
    return value


def _malformed(name: str, wanted: str) -> InvalidRequest:
    return InvalidRequest(f"{name} is not {wanted}", attribute=name, hint="Send what Replicache sends.")


def _is_id(value: Any) -> TypeGuard[int]:
    return value.__class__ is int and 1 <= value <= MAX_ID
