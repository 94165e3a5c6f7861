"""Replicache's wire protocol, version 1: the messages of push and pull.

    push  {pushVersion: 1, clientGroupID, profileID, schemaVersion, mutations: [{clientID, id, name, args, timestamp}]}
          -> {}
             args is an object; null, or missing, for a mutator that is called without any
    pull  {pullVersion: 1, clientGroupID, profileID, schemaVersion, cookie}
          -> {cookie, lastMutationIDChanges: {clientID: id}, patch: [{op: put | del | clear, key, value}]}
             the cookie is {order, version, id, group, view}: see `cookies`

or {error: "ClientStateNotFound"}: the client starts again with a new group; or {error: "VersionNotSupported",
versionType}: its code is too old or too new. Other fields are ignored. Ids that the client chooses become parts of
keys, so they must be valid in a key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeGuard

import msgspec

from singletable.documents.inspect import MAX_ID
from singletable.errors import InvalidRequest
from singletable.sync.cookies import Cookie
from singletable.sync.limits import Limits
from singletable.sync.strict_json import Flaw, elements, flaw_in, is_list, is_object, members, read_json, values_in

VERSION = 1
MOST_ID_CHARACTERS = 128
"""Longest id of a client or a group; Replicache's own ids have 18 to 36 characters."""
MOST_NAME_BYTES = 200
"""Longest name of a mutation."""
WHOLE_BYTES = 1 << 16
"""A larger body is parsed in pieces."""
_MOST_ESCAPED = 6
"""Bytes that JSON may use for one byte: `\\u00e9`."""
_FIELDS = frozenset({"pushVersion", "clientGroupID", "schemaVersion"})
_WHO = frozenset({"clientID", "id", "name"})

VersionType = Literal["push", "pull", "schema"]


class OtherVersion(Exception):
    """The client uses another version of the protocol. The answer says so, and the client may load newer code."""

    def __init__(self, version_type: VersionType) -> None:
        super().__init__(f"the client's {version_type} version is not supported")
        self.version_type: VersionType = version_type


@dataclass(frozen=True, slots=True)
class Pushed:
    """One mutation of a push. `flaw` says what is wrong with its name or arguments: it is rejected, not the push."""

    client: str
    id: int
    name: str
    args: Any = field(repr=False)
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class Push:
    """A push. Its mutations don't exceed the limit."""

    group: str
    schema: str
    mutations: Sequence[Pushed]


@dataclass(frozen=True, slots=True)
class Pull:
    """A pull. The cookie is not validated here: the document's versions decide whether it is valid."""

    group: str
    schema: str
    cookie: Any


class Put(msgspec.Struct, frozen=True, tag_field="op", tag="put"):
    """Set a key of the client view; the value is JSON text already."""

    key: str
    value: msgspec.Raw


class Delete(msgspec.Struct, frozen=True, tag_field="op", tag="del"):
    key: str


class Clear(msgspec.Struct, frozen=True, tag_field="op", tag="clear"):
    """Delete all keys; the whole view follows."""


Operation = Put | Delete | Clear


class Pulled(msgspec.Struct, frozen=True, rename={"last_ids": "lastMutationIDChanges"}):
    """The answer to a pull."""

    cookie: Cookie
    last_ids: Mapping[str, int]
    patch: Sequence[Operation]


class Refusal(msgspec.Struct, frozen=True, omit_defaults=True, rename={"version_type": "versionType"}):
    """The answer that makes a client start again, or load newer code."""

    error: Literal["ClientStateNotFound", "VersionNotSupported"]
    version_type: VersionType | None = None


CLIENT_STATE_NOT_FOUND = Refusal("ClientStateNotFound")


def read_push(body: bytes, limits: Limits) -> Push:
    """Parse a push. Raises InvalidRequest for a malformed body, and OtherVersion."""
    if len(body) > WHOLE_BYTES:
        return _read_large(body, limits)
    fields = read_object(body)
    _check_version(fields)
    mutations = fields.get("mutations")
    if not is_list(mutations):
        raise _malformed("mutations", "a list")
    return _push(fields, [_mutation(mutation, limits) for mutation in mutations[: limits.mutations]])


def _read_large(body: bytes, limits: Limits) -> Push:
    """Parse in pieces: only the needed pieces are parsed strictly."""
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
    """A mutation over the limits: its client, id and name only."""
    fields = {
        name: read_json(piece) for name, piece in members(text).items() if name in _WHO and len(piece) < WHOLE_BYTES
    }
    return _mutation({**fields, "args": Flaw(f"over {limits.args_bytes} bytes or {limits.values} values")}, limits)


def _push(fields: Mapping[str, Any], pushed: Sequence[Pushed]) -> Push:
    return Push(read_id(fields, "clientGroupID"), _schema(fields), pushed)


def _check_version(fields: Mapping[str, Any]) -> None:
    if fields.get("pushVersion") != VERSION:
        raise _other_version(fields.get("pushVersion"), "push")


def read_pull(body: bytes) -> Pull:
    """Parse a pull. Raises InvalidRequest for a malformed body, and OtherVersion."""
    fields = read_object(body)
    if fields.get("pullVersion") != VERSION:
        raise _other_version(fields.get("pullVersion"), "pull")
    return Pull(read_id(fields, "clientGroupID"), _schema(fields), fields.get("cookie"))


def read_object(body: bytes) -> dict[str, Any]:
    """The fields of a body that is one JSON object; each value may be a `Flaw`. Raises InvalidRequest."""
    fields = read_json(body)
    if isinstance(fields, Flaw):
        raise InvalidRequest(f"the body is {fields.what}", hint="Send one JSON object.")
    if not is_object(fields):
        raise InvalidRequest("the body is not a JSON object", hint="Send what Replicache sends.")
    return fields


def _other_version(fields: Any, version_type: VersionType) -> Exception:
    if isinstance(fields, int):
        return OtherVersion(version_type)
    return _malformed(f"{version_type}Version", "a number")


def _mutation(fields: Any, limits: Limits) -> Pushed:
    """One mutation. Its client and id must be valid; a flaw of the rest rejects only this mutation."""
    if not is_object(fields):
        raise _malformed("mutations", "a list of objects")
    number = fields.get("id")
    if not _is_id(number):
        raise _malformed("mutations[].id", "a whole number from 1")
    client, name, args = read_id(fields, "clientID"), fields.get("name"), fields.get("args")
    args = dict[str, Any]() if args is None else args
    if not isinstance(name, str) or flaw_in(name, 0) or not 0 < len(name.encode()) <= MOST_NAME_BYTES:
        return Pushed(client, number, "", None, f"its name is not a text of 1 to {MOST_NAME_BYTES} bytes")
    flaw = flaw_in(args, limits.depth)
    if not flaw and len(msgspec.json.encode(args)) > limits.args_bytes:
        flaw = f"over {limits.args_bytes} bytes"
    return (
        Pushed(client, number, name, None, f"its arguments are refused: {flaw}")
        if flaw
        else Pushed(client, number, name, args)
    )


def read_id(fields: Mapping[str, Any], name: str) -> str:
    """An id that the client chose: printable ASCII, which is valid in keys, logs and events unchanged."""
    value = fields.get(name)
    if not isinstance(value, str) or not 0 < len(value) <= MOST_ID_CHARACTERS:
        raise _malformed(name, f"a text of 1 to {MOST_ID_CHARACTERS} characters")
    if not (value.isascii() and value.isprintable()):
        raise _malformed(name, "printable ASCII")
    return value


def _schema(fields: Mapping[str, Any]) -> str:
    value = fields.get("schemaVersion", "")
    if not isinstance(value, str):
        raise _malformed("schemaVersion", "a text")
    return value


def _malformed(name: str, wanted: str) -> InvalidRequest:
    return InvalidRequest(f"{name} is not {wanted}", attribute=name, hint="Send what Replicache sends.")


def _is_id(value: Any) -> TypeGuard[int]:
    return value.__class__ is int and 1 <= value <= MAX_ID
