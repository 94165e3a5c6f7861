"""What a push and a pull say: taken as Replicache writes it, refused or set aside otherwise."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from singletable.errors import InvalidRequest
from singletable.sync.cookies import Cookie
from singletable.sync.limits import Limits
from singletable.sync.protocol import (
    CLIENT_STATE_NOT_FOUND,
    WHOLE_BYTES,
    Clear,
    Delete,
    OtherVersion,
    Pull,
    Pulled,
    Push,
    Pushed,
    Put,
    Refusal,
    read_pull,
    read_push,
)

LIMITS = Limits()


def push(*mutations: Any, **more: Any) -> bytes:
    said = {
        "pushVersion": 1,
        "clientGroupID": "g1",
        "profileID": "p",
        "schemaVersion": "1",
        "mutations": list(mutations),
    }
    return json.dumps({**said, **more}).encode()


def mutation(**said: Any) -> dict[str, Any]:
    return {"clientID": "c1", "id": 1, "name": "rename", "args": {"name": "x"}, "timestamp": 100.49, **said}


def pull(**more: Any) -> bytes:
    said = {"pullVersion": 1, "clientGroupID": "g1", "profileID": "p", "schemaVersion": "1", "cookie": None}
    return json.dumps({**said, **more}).encode()


def test_a_push_as_the_client_writes_it() -> None:
    body = push(mutation(), mutation(id=2, args=None), mutation(id=3, args=[1, "é"]), future=True)
    assert read_push(body, LIMITS) == Push(
        "g1",
        "1",
        [
            Pushed("c1", 1, "rename", {"name": "x"}),
            Pushed("c1", 2, "rename", {}),
            Pushed("c1", 3, "rename", [1, "é"]),
        ],
    )


def test_arguments_that_are_left_out_are_none() -> None:
    """In both parsers: a large body is read in pieces."""
    absent = {name: value for name, value in mutation(id=2).items() if name != "args"}
    for more in ({}, {"unknown": "x" * WHOLE_BYTES}):
        body = push(mutation(args=None), absent, mutation(id=3, args={"name": None}), mutation(id=4, args=0), **more)
        assert [each.args for each in read_push(body, LIMITS).mutations] == [{}, {}, {"name": None}, 0]


def test_a_pull_as_the_client_writes_it() -> None:
    assert read_pull(pull(cookie=7, future={"a": 1})) == Pull("g1", "1", 7)


@pytest.mark.parametrize(
    "body",
    [
        b"[]",
        b"null",
        b'{"pushVersion": 1, "pushVersion": 1}',
        push(clientGroupID=""),
        push(clientGroupID=7),
        push(clientGroupID="g" * 129),
        push(clientGroupID="g\u0000"),
        push(clientGroupID="gé"),
        push(mutations={}),
        push(schemaVersion=1),
        push("rename"),
        push(mutation(id=0)),
        push(mutation(id=-1)),
        push(mutation(id=1.0)),
        push(mutation(id=True)),
        push(mutation(id="1")),
        push(mutation(id=2**53)),
        push(mutation(clientID=None)),
        push(mutation(clientID="c\n")),
        push(pushVersion="1"),
        push(pushVersion=None),
    ],
)
def test_what_no_client_sends_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidRequest):
        read_push(body, LIMITS)


@pytest.mark.parametrize("version", [0, 2, 99])
def test_another_version_is_recognised(version: int) -> None:
    with pytest.raises(OtherVersion) as pushed:
        read_push(json.dumps({"pushVersion": version, "clientID": "c", "mutations": []}).encode(), LIMITS)
    with pytest.raises(OtherVersion) as pulled:
        read_pull(json.dumps({"pullVersion": version, "clientID": "c", "lastMutationID": 0}).encode())
    assert (pushed.value.version_type, pulled.value.version_type) == ("push", "pull")


@pytest.mark.parametrize(
    "bad",
    [
        b'"args": {"name": "a", "name": "b"}',
        b'"args": {"name": NaN}',
        b'"args": {"name": "\\ud800"}',
        b'"args": ' + b"[" * 65 + b"]" * 65,
        b'"args": "' + b"x" * (LIMITS.args_bytes + 1) + b'"',
        b'"name": 7, "args": {}',
        b'"name": "\\ud800", "args": {}',
        b'"name": "' + b"n" * 201 + b'", "args": {}',
        b'"name": "", "args": {}',
    ],
)
def test_a_bad_mutation_is_rejected_alone(bad: bytes) -> None:
    name = b"" if b'"name"' in bad.partition(b":")[0] else b'"name": "rename", '
    body = push(mutation(), "HERE", mutation(id=3))
    body = body.replace(b'"HERE"', b'{"clientID": "c1", "id": 2, ' + name + bad + b"}")
    first, second, third = read_push(body, LIMITS).mutations
    assert (first.flaw, third.flaw) == ("", "")
    assert (second.client, second.id, second.args) == ("c1", 2, None)
    assert second.flaw


def test_no_more_mutations_than_one_push_may_have() -> None:
    found = read_push(push(*(mutation(id=n) for n in range(1, 11))), Limits(mutations=4))
    assert [each.id for each in found.mutations] == [1, 2, 3, 4]


def test_answers_as_the_client_reads_them() -> None:
    answer = Pulled(
        Cookie(3, 3, "i", "g"), {"c1": 7}, [Clear(), Put("shapes/a", msgspec.Raw(b'{"x":1}')), Delete("comments/b")]
    )
    assert json.loads(msgspec.json.encode(answer)) == {
        "cookie": {"order": 3, "version": 3, "id": "i", "group": "g"},
        "lastMutationIDChanges": {"c1": 7},
        "patch": [
            {"op": "clear"},
            {"op": "put", "key": "shapes/a", "value": {"x": 1}},
            {"op": "del", "key": "comments/b"},
        ],
    }
    assert json.loads(msgspec.json.encode(CLIENT_STATE_NOT_FOUND)) == {"error": "ClientStateNotFound"}
    refusal = msgspec.json.encode(Refusal("VersionNotSupported", "push"))
    assert json.loads(refusal) == {"error": "VersionNotSupported", "versionType": "push"}
